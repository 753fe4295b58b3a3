// What this node is made of, put together once a process: everything else receives its parts.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Config, config } from '../config'
import { openPool, openStore, type Store } from '../db/store'
import { problem } from '../http/problem'
import type { Boundary } from '../idempotency/boundary'
import type { AnyOperation } from '../idempotency/operation'
import { persisted } from '../idempotency/persist'
import { openWaiting } from '../idempotency/waiting'
import { placeOrder } from '../orders/place-order'
import { refundOrder } from '../orders/refund-order'
import type { Gateway } from '../payments/gateway'
import { createSandbox } from '../payments/sandbox'
import { processWide } from '../process-wide'
import { type Authenticator, openAuthenticator } from '../tenants/authenticate'
import { type Limits, openLimits } from '../tenants/limits'

/** Requests mostly wait for the provider, not for a connection; PostgreSQL likes few and busy ones. */
const POOL_SIZE = 16
const SANDBOX_POOL_SIZE = 8

export interface Services {
  config: Config
  store: Store
  boundary: Boundary
  gateway: Gateway
  authenticator: Authenticator
  limits: Limits
  placeOrder: ReturnType<typeof placeOrder>
  refundOrder: ReturnType<typeof refundOrder>
  operations: ReadonlyMap<string, AnyOperation>
  /** The sandbox provider's own connections: the other side of the network. */
  sandboxPool: ReturnType<typeof openPool>
  close(): Promise<void>
}

export const services = (): Services => processWide('services', openServices)

function openServices(): Services {
  const settings = config()
  const url = settings.databaseUrl
  if (!url) throw new Error('Configuration: DATABASE_URL: not set; start with `npm start` for the embedded database')
  const store = openStore(url, { max: POOL_SIZE, applicationName: 'onceover' })
  const sandboxPool = openPool(url, { max: SANDBOX_POOL_SIZE, applicationName: 'onceover-sandbox' })
  const gateway = createSandbox({
    pool: sandboxPool,
    idempotent: settings.sandboxIdempotent,
    timeLimitMs: settings.gatewayTimeLimitMs,
  })
  const boundary: Boundary = {
    store,
    waiting: openWaiting(settings.directDatabaseUrl ?? url),
    nodeId: `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`,
    leaseMs: settings.leaseMs,
    settleMs: settings.settleMs,
    defaultRetentionHours: settings.keyTtlHours,
  }
  const place = placeOrder(gateway, problem)
  const refund = refundOrder(store, gateway, problem)
  const limits = openLimits(store)
  return {
    config: settings,
    store,
    boundary,
    gateway,
    authenticator: openAuthenticator(store),
    limits,
    placeOrder: place,
    refundOrder: refund,
    operations: new Map<string, AnyOperation>([
      [place.endpoint, place],
      [refund.endpoint, refund],
    ]),
    sandboxPool,
    async close() {
      await persisted()
      await limits.close()
      await boundary.waiting.close()
      await Promise.allSettled([store.close(), sandboxPool.end()])
    },
  }
}
