// What an outcome would do to the order or the refund behind a key, for whoever has to decide before it is done. It
// says what `conclude` and `release` of the operations write; a test holds them together.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Resource } from '../idempotency/operation'
import type { OrderStatus } from './schema'

export interface Affected {
  type: 'order' | 'refund'
  id: string
  /** Its status now and then. */
  from: string
  to: string
  /** Of what a refund holds of its order: so much is free again. */
  givesBackCents?: number
}

export type ConcludedAs = 'succeeded' | 'declined' | 'not_executed'

export async function affectedBy(
  store: Pick<Store, 'query'>,
  resource: Resource,
  outcome: ConcludedAs,
): Promise<Affected[]> {
  return resource.type === 'order' ? orderAs(store, resource.id, outcome) : refundAs(store, resource.id, outcome)
}

async function orderAs(store: Pick<Store, 'query'>, id: string, outcome: ConcludedAs): Promise<Affected[]> {
  const [order] = await store.query<{ status: OrderStatus }>(sql`SELECT status FROM orders WHERE id = ${id}`)
  if (!order) return []
  const to = { succeeded: 'paid', declined: 'declined', not_executed: order.status }[outcome]
  return [{ type: 'order', id, from: order.status, to }]
}

interface RefundRow {
  status: string
  amount: string
  order_id: string
  order_status: OrderStatus
  order_amount: string
  refunded: string
}

async function refundAs(store: Pick<Store, 'query'>, id: string, outcome: ConcludedAs): Promise<Affected[]> {
  const [refund] = await store.query<RefundRow>(sql`
    SELECT r.status, r.amount_cents AS amount, o.id AS order_id, o.status AS order_status,
      o.amount_cents AS order_amount, o.refunded_cents AS refunded
    FROM refunds r JOIN orders o ON o.id = r.order_id WHERE r.id = ${id}`)
  if (!refund) return []
  const { status: from, amount, order_id: orderId, order_status: paid } = refund
  const order = { type: 'order', id: orderId, from: paid } as const
  if (outcome === 'succeeded') {
    const all = Number(refund.refunded) + Number(amount) >= Number(refund.order_amount)
    const to = all ? 'refunded' : 'partially_refunded'
    return [
      { type: 'refund', id, from, to: 'succeeded' },
      { ...order, to },
    ]
  }
  const to = outcome === 'declined' ? 'declined' : 'released'
  return [
    { type: 'refund', id, from, to },
    { ...order, to: paid, givesBackCents: Number(amount) },
  ]
}
