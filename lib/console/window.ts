// How far back the console looks. By itself, since browsers know it too.

export const WINDOWS = ['1h', '24h', '7d', '30d'] as const
export type Window = (typeof WINDOWS)[number]
