// What a tenant can ask about somebody else's things: for each operation of the client API, every request that names
// one. The same list is asked about things that nobody has.
import { freshKey, ORDERS, type OrderRequest, orderBody, REFUNDS, type Sending } from '../../support/client'

/** Names of things, either another tenant's or nobody's. */
export interface Named {
  order: string
  unknownOrder: string
  refund: string
  cursor: string
  /** Keys whose requests ended in an order, a refund, in nobody knows what, asynchronously, and long ago. */
  key: string
  refundKey: string
  unknownKey: string
  asyncKey: string
  expiredKey: string
}

/** The request that the other tenant sent with its keys: the right fingerprint must not help either. */
export interface Sent {
  order: OrderRequest
  refund: { amountCents: number; reason: string }
}

export interface Asked extends Sending {
  path: string
}

const post = (path: string, key: string, body: unknown, prefer?: string): Asked => ({
  path,
  method: 'POST',
  body,
  headers: { 'idempotency-key': key, 'content-type': 'application/json', prefer },
})
const lookUp = (key: string, endpoint: string): Asked => ({
  path: `/api/idempotency-keys/${key}?endpoint=${encodeURIComponent(endpoint)}`,
})

const KEYS = ['key', 'unknownKey', 'asyncKey', 'expiredKey'] as const

/** By method and path of the OpenAPI document. */
export const CASES: Record<string, (named: Named, sent: Sent) => Asked[]> = {
  'GET /api/orders': ({ cursor }) => [
    { path: '/api/orders' },
    { path: '/api/orders?limit=100' },
    { path: `/api/orders?cursor=${cursor}` },
    { path: `/api/orders?limit=1&cursor=${cursor}` },
  ],
  'GET /api/orders/{id}': ({ order, unknownOrder }) => [
    { path: `/api/orders/${order}` },
    { path: `/api/orders/${unknownOrder}` },
    { path: `/api/orders/${order}`, method: 'HEAD' },
  ],
  'GET /api/orders/{id}/refunds/{refundId}': ({ order, refund }) => [
    { path: `/api/orders/${order}/refunds/${refund}` },
    { path: `/api/orders/ord_none/refunds/${refund}` },
  ],
  'GET /api/idempotency-keys/{key}': (named) => [
    ...KEYS.map((name) => lookUp(named[name], ORDERS)),
    lookUp(named.refundKey, REFUNDS),
    lookUp(named.key, REFUNDS),
  ],
  'POST /api/orders/{id}/refunds': ({ order, unknownOrder, refundKey }, sent) => [
    post(`/api/orders/${order}/refunds`, freshKey(), {}),
    post(`/api/orders/${order}/refunds`, freshKey(), { amountCents: 1 }, 'respond-async'),
    post(`/api/orders/${unknownOrder}/refunds`, freshKey(), {}),
    post(`/api/orders/${order}/refunds`, refundKey, sent.refund, 'wait=1'),
    post(`/api/orders/${order}/refunds`, refundKey, sent.refund),
  ],
  'POST /api/orders': (named, sent) => [
    ...KEYS.map((name) => post('/api/orders', named[name], sent.order)),
    ...KEYS.map((name) => post('/api/orders', named[name], sent.order, 'wait=1')),
    ...KEYS.map((name) => post('/api/orders', named[name], orderBody({ currency: 'EUR' }))),
    post('/api/orders', named.refundKey, orderBody(), 'wait=1, respond-async'),
  ],
}
