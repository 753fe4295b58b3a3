// Erasing what a customer left with us: how they paid and what was written in somebody's own words, in orders, refunds and
// in the requests and answers of their keys. Amounts, items, ids and the ledger stay. An answer is replayed byte for byte
// or not at all, so a key that holds such text expires instead of being rewritten. What may still be executed needs its
// request: such a key stays, with its order, until it is final, and is named.
import sql, { type Sql } from 'sql-template-tag'
import { appendAudit, audited } from '../audit/append'
import type { Db, Store } from '../db/store'
import type { Boundary } from '../idempotency/boundary'
import type { Operations } from '../idempotency/operation'
import type { State } from '../idempotency/states'
import { EXPIRABLE, expire } from '../idempotency/store/expire'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'

/** Orders have no index by customer, which each order would pay for: they are read in slices instead. */
const SLICE = 50_000
const BATCH = 500
const MOST_NAMED = 100
/** A payment method is never null. */
const ERASED = 'erased'

interface Erasing {
  store: Db
  observe?: Boundary['observe']
  operations: Operations
}

export interface Erasure {
  id: string
  reason: string
  /** Needed where several tenants have a customer of this id. */
  tenantId?: string
}

export interface Erased {
  customerId: string
  tenantId: string
  /** What this call erased. */
  orders: number
  refunds: number
  keys: number
  /** Keys that are not final yet, at most a hundred: nothing of theirs is erased. */
  open: { id: string; state: State }[]
}

export async function eraseCustomer(erasing: Erasing, call: Call, asked: Erasure): Promise<Erased | Refused> {
  const found = await ordersOf(erasing.store, asked)
  const tenants = [...found.keys()]
  const [tenantId] = tenants
  if (tenantId === undefined) return refuse('not_found', { detail: 'There is no order of this customer.' })
  if (tenants.length > 1)
    return refuse('invalid_request', {
      issues: [{ path: 'tenantId', message: 'is required: several tenants have a customer of this id' }],
    })
  const orderIds = found.get(tenantId)!
  const entry = { ...call, action: 'customer.erase', target: asked.id, reason: asked.reason }
  const erased: Erased = { customerId: asked.id, tenantId, orders: 0, refunds: 0, keys: 0, open: [] }
  const endKeys = async (which: Sql): Promise<void> => {
    erased.keys += await expireKeys(erasing, call, which, { entry, tenantId })
    erased.open.push(...(await openKeys(erasing.store, which)))
  }
  for (let at = 0; at < orderIds.length; at += BATCH) {
    const ids = orderIds.slice(at, at + BATCH)
    await endKeys(sql`
      SELECT record_id FROM orders WHERE id = ANY(${ids}::text[])
      UNION SELECT record_id FROM refunds WHERE order_id = ANY(${ids}::text[]) AND reason IS NOT NULL`)
    const [rows] = await eraseRows(erasing.store, ids, { entry, tenantId })
    erased.orders += rows!.orders
    erased.refunds += rows!.refunds
  }
  // A refund that was refused made no row: only its request names the order.
  await endKeys(sql`
    SELECT id FROM idempotency_records WHERE tenant_id = ${tenantId} AND request IS NOT NULL
      AND endpoint LIKE 'POST /api/orders/{id}/%' AND request::json -> 'params' ->> 'id' = ANY(${orderIds}::text[])
      AND NOT EXISTS (SELECT FROM refunds f WHERE f.record_id = idempotency_records.id)`)
  return { ...erased, open: erased.open.slice(0, MOST_NAMED) }
}

/** By tenant. */
async function ordersOf(
  store: Pick<Store, 'query'>,
  { id, tenantId }: Pick<Erasure, 'id' | 'tenantId'>,
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>()
  for (let after: string | null = ''; after !== null; ) {
    const [slice]: { last: string | null; found: { id: string; tenantId: string }[] | null }[] = await store.query(sql`
      SELECT max(id) AS last, json_agg(json_build_object('id', id, 'tenantId', tenant_id) ORDER BY id)
        FILTER (WHERE customer_id = ${id} AND tenant_id = coalesce(${tenantId ?? null}, tenant_id)) AS found
      FROM (SELECT id, tenant_id, customer_id FROM orders WHERE id > ${after} ORDER BY id LIMIT ${SLICE}::int) o`)
    for (const order of slice!.found ?? []) {
      const ids = found.get(order.tenantId) ?? []
      found.set(order.tenantId, ids)
      ids.push(order.id)
    }
    after = slice!.last
  }
  return found
}

interface Audit {
  entry: Parameters<typeof audited>[0]
  tenantId: string
}

async function expireKeys(
  { store, observe, operations }: Erasing,
  { actor }: Call,
  which: Sql,
  { entry, tenantId }: Audit,
): Promise<number> {
  let count = 0
  for (;;) {
    const due = sql`SELECT r.id, r.state FROM idempotency_records r
      WHERE r.id IN (${which}) AND ${EXPIRABLE} ORDER BY r.id LIMIT ${BATCH}::int FOR UPDATE`
    const expired = await expire(
      { store, observe },
      {
        due,
        by: `operator:${actor.id}`,
        operations,
        also: (tx, keys) => appendAudit(tx, { ...entry, after: { tenantId, keys: keys.length } }),
      },
    )
    count += expired.length
    if (expired.length < BATCH) return count
  }
}

const openKeys = (store: Pick<Store, 'query'>, which: Sql): Promise<Erased['open']> =>
  store.query(sql`
    SELECT r.id, r.state FROM idempotency_records r
    WHERE r.id IN (${which}) AND r.state <> 'expired' ORDER BY r.id LIMIT ${MOST_NAMED}::int`)

/** Of orders and refunds whose own key has expired or is gone. */
const eraseRows = (
  store: Pick<Store, 'query'>,
  ids: readonly string[],
  { entry, tenantId }: Audit,
): Promise<{ orders: number; refunds: number }[]> =>
  store.query(sql`
    WITH o AS (
      UPDATE orders o SET note = NULL, payment_method = ${ERASED}
      WHERE o.id = ANY(${[...ids]}::text[]) AND (o.note IS NOT NULL OR o.payment_method <> ${ERASED})
        AND NOT EXISTS (SELECT FROM idempotency_records r WHERE r.id = o.record_id AND r.state <> 'expired')
      RETURNING o.id
    ), f AS (
      UPDATE refunds f SET reason = NULL
      WHERE f.order_id = ANY(${[...ids]}::text[]) AND f.reason IS NOT NULL
        AND NOT EXISTS (SELECT FROM idempotency_records r WHERE r.id = f.record_id AND r.state <> 'expired')
      RETURNING f.id
    ), counted AS (
      SELECT (SELECT count(*)::int FROM o) AS orders, (SELECT count(*)::int FROM f) AS refunds
    ), ${audited(
      entry,
      sql`(SELECT * FROM counted WHERE orders + refunds > 0) c`,
      sql`jsonb_build_object('tenantId', ${tenantId}::text, 'orders', c.orders, 'refunds', c.refunds)`,
    )}
    SELECT orders, refunds FROM counted`)
