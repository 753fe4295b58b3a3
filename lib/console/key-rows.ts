// Keys as rows of a table: each with its tenant by name, and the order and amount that it is about. Those are looked up
// by the ids of one page at a time; no list is ever joined.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import type { State } from '../idempotency/states'
import type { KeyFilter } from './keys-filter'
import { type KeyPage, someKeys } from './keys-order'
import { listKeys, type PlacedKey } from './list-keys'
import { findOperatorRecords, type OperatorRecord } from './record-view'

export interface KeyFacts {
  tenant: string
  /** Of a refund: the order that it gives back. Null where there was none to be made. */
  orderId: string | null
  amountCents: number | null
  currency: string | null
}

export interface KeyRow extends KeyFacts {
  id: string
  key: string
  state: State
  endpoint: string
  createdAt: string
  lastErrorCode: string | null
  lockedUntil: string | null
  reconcileAfter: string | null
  deadLetteredAt: string | null
  replayCount: number
}

export interface KeyRows {
  rows: KeyRow[]
  next: PlacedKey | null
  previous: PlacedKey | null
  /** By the database's clock, before anything was read. */
  at: string
}

export async function readKeyRows(
  store: Pick<Store, 'query'>,
  asked: KeyPage & { filter: KeyFilter },
): Promise<KeyRows> {
  const [clock] = await store.query<{ at: Date }>(sql`SELECT clock_timestamp() AS at`)
  const { items, next, previous } = await listKeys(store, asked)
  return { rows: await toKeyRows(store, items), next, previous, at: clock!.at.toISOString() }
}

/** Above what is shown, and not further than anybody would count. */
const MOST_NEW = 1000

export interface Watched {
  filter: KeyFilter
  /** What was created behind this is new. */
  since: { createdAt: string; id: string }
  /** The rows that are shown. */
  ids: readonly string[]
}

/** How many came in since, and how those that are shown stand now. */
export async function watchKeys(
  store: Pick<Store, 'query'>,
  { filter, since, ids }: Watched,
): Promise<{ fresh: number; rows: KeyRow[] }> {
  const newer = someKeys(filter, MOST_NEW, { ...since, value: null })
  const [[counted], records] = await Promise.all([
    store.query<{ count: number }>(sql`SELECT count(*)::int AS count FROM (${newer}) k`),
    findOperatorRecords(store, ids),
  ])
  return { fresh: counted!.count, rows: await toKeyRows(store, records) }
}

async function toKeyRows(store: Pick<Store, 'query'>, records: readonly OperatorRecord[]): Promise<KeyRow[]> {
  const facts = await readKeyFacts(store, records)
  return records.map((record) => ({
    ...facts.get(record.id)!,
    id: record.id,
    key: record.key,
    state: record.state,
    endpoint: record.endpoint,
    createdAt: record.createdAt,
    lastErrorCode: record.lastErrorCode,
    lockedUntil: record.lockedUntil,
    reconcileAfter: record.reconcileAfter,
    deadLetteredAt: record.deadLetteredAt,
    replayCount: record.replayCount,
  }))
}

/** Of each of these records. LIMIT 1 keeps it a look-up for each, whatever is estimated. */
export async function readKeyFacts(
  store: Pick<Store, 'query'>,
  records: readonly Pick<OperatorRecord, 'id' | 'tenantId'>[],
): Promise<Map<string, KeyFacts>> {
  if (records.length === 0) return new Map()
  const rows = await store.query<KeyFacts & { id: string }>(sql`
    SELECT k.id, coalesce(t.name, k.tenant_id) AS tenant, coalesce(o.id, f.order_id) AS "orderId",
      coalesce(o.amount_cents, f.amount_cents)::float8 AS "amountCents", coalesce(o.currency, f.currency) AS currency
    FROM unnest(${records.map(({ id }) => id)}::text[], ${records.map(({ tenantId }) => tenantId)}::text[])
        k (id, tenant_id)
      LEFT JOIN LATERAL (SELECT name FROM tenants WHERE id = k.tenant_id LIMIT 1) t ON true
      LEFT JOIN LATERAL (SELECT id, amount_cents, currency FROM orders WHERE record_id = k.id LIMIT 1) o ON true
      LEFT JOIN LATERAL (
        SELECT r.order_id, r.amount_cents, (SELECT currency FROM orders WHERE id = r.order_id) AS currency
        FROM refunds r WHERE r.record_id = k.id LIMIT 1) f ON true`)
  return new Map(rows.map(({ id, ...facts }) => [id, facts]))
}
