// What every contender has in common with ours (lib/node/services.ts), so that a ratio compares designs and not settings.
export const POOL_SIZE = 16
export const SANDBOX_POOL_SIZE = 8
export const PROVIDER_TIME_LIMIT_MS = 10_000
