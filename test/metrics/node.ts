// A node inside the test's own process: the very routes that Next serves, on services made from the environment.
// Nothing moves a record on but what a test does.
import { randomUUID } from 'node:crypto'
import { type Services, services } from '../../lib/node/services'
import type { OrderRequest } from '../../lib/orders/schema'

export const METRICS_TOKEN = 'metrics-token-of-the-metrics-tests'

const ENVIRONMENT = {
  METRICS_TOKEN,
  GATEWAY_TIMEOUT_MS: '300',
  LEASE_SECONDS: '30',
  SETTLE_SECONDS: '0',
  RECONCILE_MAX_ATTEMPTS: '2',
  SWEEP_INTERVAL_SECONDS: '0',
  REAP_INTERVAL_SECONDS: '0',
  RECONCILE_INTERVAL_SECONDS: '0',
  LEDGER_INTERVAL_SECONDS: '0',
  LOG_LEVEL: 'silent',
}

/** Before anything asks for the configuration: it is read once a process. */
export function openNode(databaseUrl: string, environment: Record<string, string> = {}): Services {
  Object.assign(process.env, ENVIRONMENT, { DATABASE_URL: databaseUrl, DIRECT_DATABASE_URL: databaseUrl }, environment)
  return services()
}

export const orderOf = (paymentMethod = 'pm_ok', changes: Partial<OrderRequest> = {}): OrderRequest => ({
  customerId: `cus_${randomUUID()}`,
  currency: 'USD',
  items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
  paymentMethod,
  ...changes,
})

export interface Sent {
  apiKey: string
  key?: string
  body?: unknown
  prefer?: string
  params?: Record<string, string>
}

type Handler = (request: Request, context: { params: Promise<Record<string, string>> }) => Promise<Response>

export async function send(handler: Handler, { apiKey, key = randomUUID(), body, prefer, params = {} }: Sent) {
  const headers = new Headers({
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    'idempotency-key': key,
  })
  if (prefer) headers.set('prefer', prefer)
  const request = new Request('http://localhost/api', { method: 'POST', headers, body: JSON.stringify(body) })
  return handler(request, { params: Promise.resolve(params) })
}
