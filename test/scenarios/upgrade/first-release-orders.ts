// What a node of the first release sends about orders, refunds and to the sandbox provider, word for word: effects that
// join a statement about the record, and the answers that it stores. Data of the upgrade tests, like the records'.
import sql, { type Sql } from 'sql-template-tag'
import type { OrderRequest } from '../../support/client'
import type { Answer } from './first-release-records'

export const amountOf = ({ items }: OrderRequest) => items.reduce((sum, i) => sum + i.quantity * i.unitPriceCents, 0)

export const placed = (orderId: string, order: OrderRequest): Sql => sql`placed AS (
    INSERT INTO orders (id, tenant_id, record_id, customer_id, currency, amount_cents, items, note, payment_method, created_at)
    SELECT ${orderId}, m.tenant_id, m.id, ${order.customerId}, ${order.currency}, ${amountOf(order)}::bigint,
      ${JSON.stringify(order.items)}::json, ${order.note ?? null}, ${order.paymentMethod}, m.created_at
    FROM moved m
  )`

export const marked = (orderId: string, status: 'paid' | 'declined'): Sql => sql`marked AS (
    UPDATE orders SET status = ${status}::order_status FROM moved WHERE orders.id = ${orderId}
  )`

export const bookedCharge = (
  paymentId: string,
  orderId: string,
  order: OrderRequest,
  charge: { ref: string; status: 'succeeded' | 'failed' },
): Sql => sql`booked AS (
    INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, record_id, amount_cents, currency, provider_ref)
    SELECT ${paymentId}, 'charge', ${charge.status}::ledger_status, m.tenant_id, ${orderId}, m.id,
      ${amountOf(order)}::bigint, ${order.currency}, ${charge.ref}
    FROM moved m
  )`

export const DECLINED: Answer = {
  status: 402,
  headers: { 'content-type': 'application/problem+json' },
  body: '{"type":"/docs/problems/payment_declined","title":"The payment was declined","status":402,"detail":"The provider declined the payment. Nothing was charged.","code":"payment_declined","retry":{"sameKey":false,"newKey":true,"afterSeconds":null}}',
}

export const paid = (
  orderId: string,
  order: OrderRequest,
  payment: { id: string; ref: string },
  createdAt: Date,
): Answer => ({
  status: 201,
  headers: { 'content-type': 'application/json', location: `/api/orders/${orderId}` },
  body: JSON.stringify({
    id: orderId,
    status: 'paid',
    customerId: order.customerId,
    currency: order.currency,
    amountCents: amountOf(order),
    refundedCents: 0,
    items: order.items,
    note: order.note ?? null,
    payment: { id: payment.id, providerRef: payment.ref, status: 'succeeded' },
    createdAt: createdAt.toISOString(),
  }),
})

/** The order's row lock, what is left of it, the hold and the refund: all of what joins a refund's reservation. */
export function held(refundId: string, orderId: string, tenantId: string, amountCents: number | null): Sql[] {
  return [
    sql`subject AS (
      SELECT o.* FROM orders o
      WHERE o.id = ${orderId} AND o.tenant_id = ${tenantId} AND EXISTS (SELECT 1 FROM moved)
      FOR UPDATE OF o
    )`,
    sql`earlier AS (SELECT * FROM refunds WHERE id = ${refundId} AND EXISTS (SELECT 1 FROM moved))`,
    sql`fitting AS (
      SELECT o.id, wanted.cents
      FROM subject o LEFT JOIN earlier e ON true,
        LATERAL (SELECT coalesce(e.amount_cents, ${amountCents}::bigint, o.amount_cents - o.refunded_cents - o.held_cents) AS cents) wanted
      WHERE o.status IN ('paid', 'partially_refunded') AND e.status IS DISTINCT FROM 'pending'
        AND wanted.cents BETWEEN 1 AND o.amount_cents - o.refunded_cents - o.held_cents
    )`,
    sql`held AS (UPDATE orders o SET held_cents = o.held_cents + f.cents FROM fitting f WHERE o.id = f.id)`,
    sql`noted AS (
      INSERT INTO refunds (id, order_id, tenant_id, record_id, amount_cents, reason, created_at)
      SELECT ${refundId}, f.id, m.tenant_id, m.id, f.cents, ${null}, m.created_at FROM fitting f, moved m
      ON CONFLICT (id) DO UPDATE SET status = 'pending'
    )`,
  ]
}

export const heldReport: Sql = sql`(SELECT json_build_object(
  'status', o.status, 'customerId', o.customer_id, 'currency', o.currency, 'paymentMethod', o.payment_method,
  'chargeRef', (SELECT l.provider_ref FROM ledger_entries l WHERE l.order_id = o.id AND l.kind = 'charge' AND l.status = 'succeeded'),
  'amountCents', coalesce((SELECT cents FROM fitting), (SELECT amount_cents FROM earlier WHERE status = 'pending'))) FROM subject o)`

export const givenBack = (refundId: string): Sql[] => [
  sql`given_back AS (
      UPDATE refunds r SET status = ${'released'}::refund_status FROM moved
      WHERE r.id = ${refundId} AND r.status = 'pending' RETURNING r.order_id, r.amount_cents
    )`,
  sql`unheld AS (
      UPDATE orders o SET held_cents = o.held_cents - g.amount_cents FROM given_back g WHERE o.id = g.order_id
    )`,
]

export const refunded = (paymentId: string, refundId: string, orderId: string, amountCents: number, ref: string) => [
  sql`done AS (
      UPDATE refunds r SET status = 'succeeded' FROM moved, (SELECT id, status FROM refunds WHERE id = ${refundId}) old
      WHERE r.id = old.id RETURNING r.order_id, r.amount_cents, old.status = 'pending' AS was_held
    )`,
  sql`refunded AS (
      UPDATE orders o SET
        refunded_cents = o.refunded_cents + d.amount_cents,
        held_cents = o.held_cents - CASE WHEN d.was_held THEN d.amount_cents ELSE 0 END,
        status = CASE WHEN o.refunded_cents + d.amount_cents >= o.amount_cents THEN 'refunded' ELSE 'partially_refunded' END::order_status
      FROM done d WHERE o.id = d.order_id
    )`,
  sql`booked AS (
    INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, record_id, amount_cents, currency, provider_ref)
    SELECT ${paymentId}, 'refund', ${'succeeded'}::ledger_status, m.tenant_id,
      ${orderId}, m.id, ${amountCents}::bigint, ${'USD'}, ${ref}
    FROM moved m
  )`,
]

export const refundAnswer = (
  refundId: string,
  orderId: string,
  amountCents: number,
  ref: string,
  createdAt: Date,
): Answer => ({
  status: 201,
  headers: { 'content-type': 'application/json', location: `/api/orders/${orderId}/refunds/${refundId}` },
  body: JSON.stringify({
    id: refundId,
    orderId,
    amountCents,
    status: 'succeeded',
    providerRef: ref,
    reason: null,
    createdAt: createdAt.toISOString(),
  }),
})

export interface Entry {
  ref: string
  providerKey: string
  kind: 'charge' | 'refund'
  status: 'succeeded' | 'failed'
  orderId: string
  customerId: string
  amountCents: number
}

/** A provider without idempotency keys: whoever calls twice charges twice. */
export const bookAgain = (e: Entry): Sql => sql`
    INSERT INTO sandbox.charges
      (ref, provider_key, kind, status, order_id, customer_id, amount_cents, currency, booked_at)
    VALUES (${e.ref}, ${e.providerKey}, ${e.kind}, ${e.status}, ${e.orderId}, ${e.customerId},
    ${e.amountCents}, ${'USD'},
    date_trunc('milliseconds', clock_timestamp() + ${0}::float8 * interval '1 millisecond'))
    RETURNING ref, status`

export const findEntry = (providerKey: string, kind: 'charge' | 'refund'): Sql => sql`
    SELECT ref, status, amount_cents, currency FROM sandbox.charges
    WHERE provider_key = ${providerKey} AND kind = ${kind} AND booked_at <= clock_timestamp()
    ORDER BY status = 'succeeded' DESC, booked_at, ref LIMIT 1`
