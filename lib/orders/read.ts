// Orders and refunds as they are now. Every read is scoped to the tenant in the statement itself.
import sql, { raw } from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Order, OrderStatus, Refund } from './schema'

interface OrderRow {
  id: string
  status: OrderStatus
  customer_id: string
  currency: string
  amount_cents: string
  refunded_cents: string
  items: Order['items']
  note: string | null
  payment: Order['payment']
  created_at: Date
}

const ORDER_COLUMNS = raw(`
  o.id, o.status, o.customer_id, o.currency, o.amount_cents, o.refunded_cents, o.items, o.note, o.created_at,
  (SELECT json_build_object('id', l.id, 'providerRef', l.provider_ref, 'status', l.status)
   FROM ledger_entries l WHERE l.order_id = o.id AND l.kind = 'charge' AND l.reversal_of IS NULL LIMIT 1) AS payment`)

const toOrder = (row: OrderRow): Order => ({
  id: row.id,
  status: row.status,
  customerId: row.customer_id,
  currency: row.currency,
  amountCents: Number(row.amount_cents),
  refundedCents: Number(row.refunded_cents),
  items: row.items,
  note: row.note,
  payment: row.payment,
  createdAt: row.created_at.toISOString(),
})

export async function findOrder(store: Store, tenantId: string, orderId: string): Promise<Order | null> {
  const [row] = await store.query<OrderRow>(sql`
    SELECT ${ORDER_COLUMNS} FROM orders o WHERE o.id = ${orderId} AND o.tenant_id = ${tenantId}`)
  return row ? toOrder(row) : null
}

/** Where a page begins: after this order, newest first. */
export interface OrderCursor {
  createdAt: string
  id: string
}

export async function listOrders(
  store: Store,
  tenantId: string,
  page: { limit: number; after: OrderCursor | null },
): Promise<{ items: Order[]; next: OrderCursor | null }> {
  const after = page.after
    ? sql`AND (o.created_at, o.id) < (${page.after.createdAt}::timestamptz, ${page.after.id})`
    : sql``
  const rows = await store.query<OrderRow>(sql`
    SELECT ${ORDER_COLUMNS} FROM orders o WHERE o.tenant_id = ${tenantId} ${after}
    ORDER BY o.created_at DESC, o.id DESC LIMIT ${page.limit + 1}::int`)
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  return {
    items: shown.map(toOrder),
    next: rows.length > page.limit && last ? { createdAt: last.created_at.toISOString(), id: last.id } : null,
  }
}

export async function findRefund(
  store: Store,
  tenantId: string,
  at: { orderId: string; refundId: string },
): Promise<Refund | null> {
  const [row] = await store.query<
    Omit<Refund, 'amountCents' | 'createdAt'> & { amountCents: string; createdAt: Date }
  >(sql`
    SELECT r.id, r.order_id AS "orderId", r.amount_cents AS "amountCents", r.status, r.reason, r.created_at AS "createdAt",
      -- nodes of the first release wrote it into the ledger only
      coalesce(r.provider_ref, (
        SELECT l.provider_ref FROM ledger_entries l WHERE l.record_id = r.record_id AND l.reversal_of IS NULL)) AS "providerRef"
    FROM refunds r WHERE r.id = ${at.refundId} AND r.order_id = ${at.orderId} AND r.tenant_id = ${tenantId}`)
  return row
    ? {
        id: row.id,
        orderId: row.orderId,
        amountCents: Number(row.amountCents),
        status: row.status,
        providerRef: row.providerRef,
        reason: row.reason,
        createdAt: row.createdAt.toISOString(),
      }
    : null
}
