// The environment, parsed once. A bad value stops the start with one line that names it; nothing else in the
// project reads process.env.
import { z } from 'zod'
import { processWide } from './process-wide'

/** Longer is a slip of the hand, and more than the timers and intervals behind it can count. */
const A_MONTH = 30 * 86_400
const seconds = (fallback: number) => z.coerce.number().positive().max(A_MONTH).default(fallback)
const interval = (fallback: number) => z.coerce.number().nonnegative().max(A_MONTH).default(fallback)
const hours = (fallback: number) =>
  z.coerce
    .number()
    .positive()
    .max(24 * 366)
    .default(fallback)
/** What can be sent as a bearer token, and is too long to be guessed. */
const token = z.string().regex(/^[\x21-\x7e]{32,512}$/, 'must be 32 to 512 visible ASCII characters without spaces')
/** A trailing newline from a file is not part of a secret. */
const secret = z.string().trim().min(1)
/** Too long to be guessed. */
const longSecret = secret.min(32, 'must have at least 32 characters')
const postgresUrl = z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgresql:// URL')
function isOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`
}
const onOff = (fallback: 'on' | 'off') => z.enum(['on', 'off']).default(fallback)

const Environment = z
  .object({
    DATABASE_URL: postgresUrl.optional(),
    DIRECT_DATABASE_URL: postgresUrl.optional(),
    PUBLIC_URL: z
      .string()
      .refine(isOrigin, 'must be an http:// or https:// URL without path, query and user')
      .transform((url) => new URL(url).origin)
      .optional(),
    PORT: z.coerce.number().int().min(0).max(65535).optional(),
    LEASE_SECONDS: seconds(60),
    GATEWAY_TIMEOUT_MS: z.coerce.number().int().positive().default(10_000),
    KEY_TTL_HOURS: hours(24),
    TOMBSTONE_HOURS: hours(168),
    SETTLE_SECONDS: interval(120),
    SWEEP_INTERVAL_SECONDS: interval(60),
    REAP_INTERVAL_SECONDS: interval(3600),
    RECONCILE_INTERVAL_SECONDS: interval(30),
    LEDGER_INTERVAL_SECONDS: interval(86_400),
    RECONCILE_MAX_ATTEMPTS: z.coerce.number().int().positive().default(12),
    FAST_PATH: onOff('on'),
    MAX_REQUEST_AGE_SECONDS: z.coerce.number().positive().optional(),
    RESTORED_FROM: z.iso
      .datetime({ offset: true, error: 'must be an instant such as 2026-11-17T09:30:00Z' })
      .transform((at) => new Date(at))
      .refine((at) => at.getTime() <= Date.now(), 'must not lie in the future')
      .optional(),
    WORKER: onOff('on'),
    GATEWAY: z.enum(['sandbox', 'stripe']).default('sandbox'),
    STRIPE_SECRET_KEY: secret.optional(),
    STRIPE_WEBHOOK_SECRET: secret.optional(),
    STRIPE_API_URL: z.url({ protocol: /^https?$/ }).default('https://api.stripe.com'),
    SANDBOX_IDEMPOTENT: z.enum(['true', 'false']).default('true'),
    SANDBOX_WEBHOOK_DELAY_MS: z.coerce.number().int().min(0).max(86_400_000).optional(),
    SANDBOX_WEBHOOK_SECRET: secret.optional(),
    AUTH_SECRET: longSecret.optional(),
    ADMIN_EMAIL: z.email().optional(),
    ADMIN_PASSWORD: z.string().min(12, 'must have at least 12 characters').max(128).optional(),
    DEMO_API_KEY: token.optional(),
    ADMIN_TOKEN: token.optional(),
    METRICS_TOKEN: token.optional(),
    LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('warn'),
  })
  .superRefine((env, ctx) => {
    // A re-claimed attempt asks the provider and then calls it: both must fit into one lease.
    if (env.LEASE_SECONDS * 1000 <= 2 * env.GATEWAY_TIMEOUT_MS)
      ctx.addIssue({
        code: 'custom',
        path: ['LEASE_SECONDS'],
        message: `${env.LEASE_SECONDS} must exceed twice GATEWAY_TIMEOUT_MS (${env.GATEWAY_TIMEOUT_MS} ms)`,
      })
    if (env.GATEWAY === 'stripe')
      for (const name of ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'] as const)
        if (!env[name]) ctx.addIssue({ code: 'custom', path: [name], message: 'is required with GATEWAY=stripe' })
  })

export type Config = ReturnType<typeof parseConfig>

/** Where a URL leads, however it is spelled; what cannot be read as one leads where it says. */
function placeOf(url: string | undefined): string | undefined {
  if (!url || !URL.canParse(url)) return url
  const { hostname, port, pathname } = new URL(url)
  return `${hostname}:${port || 5432}${pathname}`
}

export function parseConfig(environment: Record<string, string | undefined>) {
  // An empty variable is an unset one: that is how shells and compose files switch a setting off.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const parsed = Environment.safeParse(given)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new Error(`Configuration: ${issue?.path.join('.')}: ${issue?.message}`)
  }
  const env = parsed.data
  const directDatabaseUrl = env.DIRECT_DATABASE_URL ?? env.DATABASE_URL
  return {
    databaseUrl: env.DATABASE_URL,
    directDatabaseUrl,
    /** A transaction pooler stands before the database: whoever names a way around it says so. */
    databasePooled: placeOf(env.DATABASE_URL) !== placeOf(directDatabaseUrl),
    publicUrl: env.PUBLIC_URL ?? null,
    port: env.PORT ?? 3000,
    /** Nobody asked for this port: where it is taken, another one will do. */
    portIsAny: env.PORT === undefined,
    leaseMs: env.LEASE_SECONDS * 1000,
    fastPath: env.FAST_PATH === 'on',
    gatewayTimeLimitMs: env.GATEWAY_TIMEOUT_MS,
    keyTtlHours: env.KEY_TTL_HOURS,
    settleMs: env.SETTLE_SECONDS * 1000,
    maxRequestAgeMs: env.MAX_REQUEST_AGE_SECONDS === undefined ? null : env.MAX_REQUEST_AGE_SECONDS * 1000,
    tombstoneHours: env.TOMBSTONE_HOURS,
    sweepIntervalMs: env.SWEEP_INTERVAL_SECONDS * 1000,
    reapIntervalMs: env.REAP_INTERVAL_SECONDS * 1000,
    reconcileIntervalMs: env.RECONCILE_INTERVAL_SECONDS * 1000,
    ledgerIntervalMs: env.LEDGER_INTERVAL_SECONDS * 1000,
    reconcileMaxAttempts: env.RECONCILE_MAX_ATTEMPTS,
    restoredFrom: env.RESTORED_FROM ?? null,
    worker: env.WORKER === 'on',
    gateway: env.GATEWAY,
    stripeSecretKey: env.STRIPE_SECRET_KEY,
    stripeWebhookSecret: env.STRIPE_WEBHOOK_SECRET,
    stripeApiUrl: env.STRIPE_API_URL,
    sandboxIdempotent: env.SANDBOX_IDEMPOTENT === 'true',
    sandboxWebhookDelayMs: env.SANDBOX_WEBHOOK_DELAY_MS ?? null,
    sandboxWebhookSecret: env.SANDBOX_WEBHOOK_SECRET,
    authSecret: env.AUTH_SECRET,
    adminEmail: env.ADMIN_EMAIL,
    adminPassword: env.ADMIN_PASSWORD,
    demoApiKey: env.DEMO_API_KEY,
    adminToken: env.ADMIN_TOKEN,
    metricsToken: env.METRICS_TOKEN,
    logLevel: env.LOG_LEVEL,
  }
}

/** What a node does where its environment says nothing. */
export const DEFAULTS: Readonly<Config> = parseConfig({})

/** Where this node really listens: whoever serves writes it down once it knows, since the wanted port may be taken. */
export const servedPort = (): number => Number(process.env.PORT || config().port)

export const config = (): Config => processWide('config', () => parseConfig(process.env))
