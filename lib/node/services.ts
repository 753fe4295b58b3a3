// What this node is made of, put together once a process: everything else receives its parts.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Config, config } from '../config'
import { type Notifications, openNotifications } from '../db/notifications'
import { paced } from '../db/paced'
import { openPool, openStore, type Store } from '../db/store'
import { problem } from '../http/problem'
import type { Boundary } from '../idempotency/boundary'
import type { AnyOperation } from '../idempotency/operation'
import { persisted } from '../idempotency/persist'
import { openBatches } from '../idempotency/store/batches'
import { ANY_DUE } from '../idempotency/store/reschedule'
import { openWaiting } from '../idempotency/waiting'
import { reaper } from '../maintenance/reaper'
import { openRunner, type Runner } from '../maintenance/runner'
import type { Scheduled } from '../maintenance/schedule'
import { sweeper } from '../maintenance/sweeper'
import { collectProcessMetrics, type Exposition, openExposition } from '../metrics/exposition'
import { type Metrics, openMetrics } from '../metrics/metrics'
import { type MisuseLog, openMisuseLog } from '../metrics/misuse'
import { placeOrder } from '../orders/place-order'
import { refundOrder } from '../orders/refund-order'
import type { Gateway } from '../payments/gateway'
import { createSandbox } from '../payments/sandbox'
import { storedWebhookSecret } from '../payments/sandbox-webhooks-outbox'
import { createStripe } from '../payments/stripe'
import { processWide } from '../process-wide'
import { bulkActions } from '../reconciliation/bulk-actions'
import { ledgerComparison } from '../reconciliation/ledger-comparison'
import { type Fence, openFence } from '../reconciliation/lost-effects'
import type { Reconciliation } from '../reconciliation/reconcile'
import { reconciler } from '../reconciliation/reconciler'
import { type Authenticator, openAuthenticator } from '../tenants/authenticate'
import { type Limits, openLimits } from '../tenants/limits'
import { handedStepHook } from './step-hook'

/** Requests mostly wait for the provider, not for a connection; PostgreSQL likes few and busy ones. */
const POOL_SIZE = 16
const SANDBOX_POOL_SIZE = 8
/** What operators ask has connections of its own, and exports have one: orders wait for neither. */
const CONSOLE_POOL_SIZE = 4
const FALLBACK_RECONCILE_MS = 30_000

export interface Services {
  config: Config
  /** For clients' requests and the work that goes on by itself. */
  store: Store
  /** For what operators read and do, and for their sessions. */
  consoleStore: Store
  exportStore: Pick<Store, 'query'>
  notifications: Notifications
  boundary: Boundary
  gateway: Gateway
  authenticator: Authenticator
  limits: Limits
  metrics: Metrics
  exposition: Exposition
  misuse: MisuseLog
  placeOrder: ReturnType<typeof placeOrder>
  refundOrder: ReturnType<typeof refundOrder>
  operations: ReadonlyMap<string, AnyOperation>
  reconciliation: Reconciliation
  daemons: readonly Scheduled[]
  /** Where the database was restored. */
  fence: Fence | null
  /** What people run by hand, on this node. */
  runner: Runner
  /** The sandbox provider's own connections: the other side of the network. */
  sandboxPool: ReturnType<typeof openPool>
  /** What the sandbox's webhooks are signed with, at both ends. */
  sandboxWebhookSecret(): Promise<string>
  close(): Promise<void>
}

export const services = (): Services => processWide('services', openServices)

function openServices(): Services {
  const settings = config()
  const url = settings.databaseUrl
  if (!url) throw new Error('Configuration: DATABASE_URL: not set; start with `npm start` for the embedded database')
  const pooled = settings.databasePooled
  const store = openStore(url, { max: POOL_SIZE, applicationName: 'onceover', pooled })
  const consoleStore = openStore(url, { max: CONSOLE_POOL_SIZE, applicationName: 'onceover-console', pooled })
  const exportStore = openStore(url, { max: 1, applicationName: 'onceover-exports', pooled })
  const sandboxPool = openPool(url, { max: SANDBOX_POOL_SIZE, applicationName: 'onceover-sandbox', pooled })
  const gateway = openGateway(settings, sandboxPool)
  const metrics = openMetrics(store)
  collectProcessMetrics(metrics.registry)
  const notifications = openNotifications(settings.directDatabaseUrl ?? url)
  const fence = settings.restoredFrom
    ? openFence(store, {
        restoredFrom: settings.restoredFrom,
        hours: settings.keyTtlHours + settings.tombstoneHours,
      })
    : null
  const boundary: Boundary = {
    store,
    batches: openBatches(store),
    lostEffects: fence ?? undefined,
    waiting: openWaiting(notifications),
    nodeId: `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`,
    leaseMs: settings.leaseMs,
    settleMs: settings.settleMs,
    defaultRetentionHours: settings.keyTtlHours,
    requestExpired: problem('request_expired'),
    observe: metrics.observe,
    step: handedStepHook(),
  }
  const place = placeOrder(gateway, problem)
  const refund = refundOrder(store, gateway, problem)
  const operations = new Map<string, AnyOperation>([
    [place.endpoint, place],
    [refund.endpoint, refund],
  ])
  const reconciliation: Reconciliation = {
    boundary,
    operations,
    // switched off, the reconciler still runs when a person asks
    intervalMs: settings.reconcileIntervalMs || FALLBACK_RECONCILE_MS,
    maxAttempts: settings.reconcileMaxAttempts,
  }
  const daemons: Scheduled[] = [
    { daemon: sweeper(boundary, operations), intervalMs: settings.sweepIntervalMs },
    {
      daemon: reaper(store, { tombstoneHours: settings.tombstoneHours, operations, observe: metrics.observe }),
      intervalMs: settings.reapIntervalMs,
    },
    {
      daemon: reconciler({ ...reconciliation, lookUpLimitMs: gateway.timeLimitMs }),
      intervalMs: settings.reconcileIntervalMs,
      due: ANY_DUE,
    },
    { daemon: ledgerComparison({ boundary, operations, gateway }), intervalMs: settings.ledgerIntervalMs },
  ]
  const limits = openLimits(store)
  return {
    config: settings,
    store,
    consoleStore,
    exportStore: paced(exportStore),
    notifications,
    boundary,
    gateway,
    authenticator: openAuthenticator(store),
    limits,
    metrics,
    exposition: openExposition(metrics.registry, store),
    misuse: openMisuseLog(store),
    placeOrder: place,
    refundOrder: refund,
    operations,
    reconciliation,
    daemons,
    fence,
    runner: openRunner({
      store,
      nodeId: boundary.nodeId,
      daemons: daemons.map(({ daemon }) => daemon),
      bulk: bulkActions(reconciliation),
    }),
    sandboxPool,
    sandboxWebhookSecret: openSecret(settings, sandboxPool),
    async close() {
      await persisted()
      await limits.close()
      await metrics.close()
      await notifications.close()
      await Promise.allSettled([store.close(), consoleStore.close(), exportStore.close(), sandboxPool.end()])
    },
  }
}

function openGateway(settings: Config, sandboxPool: Services['sandboxPool']): Gateway {
  const timeLimitMs = settings.gatewayTimeLimitMs
  if (settings.gateway === 'sandbox')
    return createSandbox({
      pool: sandboxPool,
      idempotent: settings.sandboxIdempotent,
      timeLimitMs,
      webhookDelayMs: settings.sandboxWebhookDelayMs,
    })
  const { protocol, hostname: host, port } = new URL(settings.stripeApiUrl)
  const https = protocol === 'https:'
  const api = { protocol: https ? 'https' : 'http', host, port: Number(port || (https ? 443 : 80)) } as const
  return createStripe({ secretKey: settings.stripeSecretKey!, timeLimitMs, api })
}

/** Asked of the database once; a question that failed is asked again. */
function openSecret(settings: Config, sandboxPool: Services['sandboxPool']): () => Promise<string> {
  const given = settings.sandboxWebhookSecret
  let asked: Promise<string> | null = given ? Promise.resolve(given) : null
  return () => {
    asked ??= storedWebhookSecret(sandboxPool).catch((error) => {
      asked = null
      throw error
    })
    return asked
  }
}
