// What the sandbox remembers: its own schema, its own statements (one each, so never open between two round trips),
// the database's clock. An entry exists, for every reader, from its booked_at on.

import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import { ulid } from 'ulid'
import type { CreatedPage, CreatedWindow, EffectKind, EffectRequest, LookUpRequest, ProviderEntry } from './gateway'

export type EntryStatus = 'succeeded' | 'failed'

/** An entry as the sandbox's own list shows it. */
export interface SandboxChargeView {
  ref: string
  customerId: string
  orderId: string
  amountCents: number
  status: EntryStatus
  kind: EffectKind
  createdAt: string
}

const REF_PREFIX: Record<EffectKind, string> = { charge: 'sbx_ch_', refund: 'sbx_re_' }

export const LIST_MAX = 1000

/** Over restarts and nodes: exactly one of many attempts at once is the first. */
export function countAttempt(providerKey: string): Sql {
  return sql`
    INSERT INTO sandbox.attempts AS a (provider_key, count) VALUES (${providerKey}, 1)
    ON CONFLICT (provider_key) DO UPDATE SET count = a.count + 1
    RETURNING count`
}

export interface CountRow {
  count: number
}

export interface EntryRow {
  ref: string
  kind: EffectKind
  status: EntryStatus
  order_id: string
  amount_cents: string
  currency: string
  booked_at: Date
}

const ENTRY_COLUMNS = raw('ref, kind, status, order_id, amount_cents, currency, booked_at')

const LIST_COLUMNS = sql`${ENTRY_COLUMNS}, customer_id, provider_key, key_digest, fingerprint`
const WRITTEN_COLUMNS = sql`
  provider_key, kind, status, order_id, customer_id, amount_cents, currency, key_digest, fingerprint, booked_at`

/** A provider without keys: every attempt that arrives is a new entry. */
export function bookAgain(request: EffectRequest, status: EntryStatus, lateMs: number): Sql {
  const ref = REF_PREFIX[request.kind] + ulid().toLowerCase()
  return sql`
    INSERT INTO sandbox.charges
      (ref, ${WRITTEN_COLUMNS})
    VALUES (${ref}, ${entryValues(request, status, lateMs)})
    RETURNING ${ENTRY_COLUMNS}`
}

/**
 * A provider with keys: the first entry of a key is the answer to all. Its ref is made from the key, so the primary
 * key decides between two at once, without a lock that a stopped process could keep. A rival that committed after
 * this statement's snapshot is still the row that the conflict returns. The sub-select is for entries from a time
 * without keys, whose refs are random.
 */
export function bookOnce(request: EffectRequest, status: EntryStatus, lateMs: number): Sql {
  return sql`
    INSERT INTO sandbox.charges AS c
      (ref, ${WRITTEN_COLUMNS})
    VALUES (
      coalesce((
        SELECT ref FROM sandbox.charges WHERE provider_key = ${request.providerKey} AND kind = ${request.kind}
        ORDER BY status = 'succeeded' DESC, booked_at, ref LIMIT 1
      ), ${refOfKey(request.kind, request.providerKey)}),
      ${entryValues(request, status, lateMs)})
    -- an entry still on its way is booked by the attempt that arrives before it; one that is there stays as it is
    ON CONFLICT (ref) DO UPDATE SET booked_at = least(c.booked_at, excluded.booked_at)
    RETURNING ${ENTRY_COLUMNS}`
}

// Cut to the column's milliseconds: rounded up, a charge would be invisible to a look-up right after its answer.
function entryValues(request: EffectRequest, status: EntryStatus, lateMs: number): Sql {
  return sql`${request.providerKey}, ${request.kind}, ${status}, ${request.orderId}, ${request.customerId},
    ${request.amountCents}, ${request.currency}, ${request.keyDigest}, ${request.fingerprint},
    date_trunc('milliseconds', clock_timestamp() + ${lateMs}::float8 * interval '1 millisecond')`
}

/** A ULID in form; both its parts come from the key, and its time says nothing. */
function refOfKey(kind: EffectKind, providerKey: string): string {
  const digest = createHash('sha256').update(`${kind}:${providerKey}`).digest()
  let byte = 6
  return REF_PREFIX[kind] + ulid(digest.readUIntBE(0, 6), () => (digest[byte++] ?? 0) / 256).toLowerCase()
}

/** Many entries of a key are possible without idempotency: money that moved outranks a decline. */
export function findEntry(request: LookUpRequest): Sql {
  return sql`
    SELECT ${ENTRY_COLUMNS} FROM sandbox.charges
    WHERE provider_key = ${request.providerKey} AND kind = ${request.kind} AND booked_at <= clock_timestamp()
    ORDER BY status = 'succeeded' DESC, booked_at, ref LIMIT 1`
}

/** Whatever key it carries. */
export const findEntryByRef = (kind: EffectKind, ref: string): Sql => sql`
  SELECT ${LIST_COLUMNS} FROM sandbox.charges
  WHERE ref = ${ref} AND kind = ${kind} AND booked_at <= clock_timestamp()`

export interface ListRow extends EntryRow {
  customer_id: string
  provider_key: string
  key_digest: string | null
  fingerprint: string | null
}

export const entryOf = (row: ListRow): ProviderEntry => ({
  ref: row.ref,
  providerKey: row.provider_key,
  kind: row.kind,
  status: row.status,
  amountCents: Number(row.amount_cents),
  currency: row.currency,
  orderId: row.order_id,
  keyDigest: row.key_digest,
  fingerprint: row.fingerprint,
  createdAt: row.booked_at,
})

export interface ChargesQuery {
  customerId: string
  limit?: number
  /** The last charge of the page before. */
  after?: ChargePosition | null
}
export type ChargePosition = Pick<SandboxChargeView, 'createdAt' | 'ref'>

/** Newest first. For tests and demos: it throws where the database does. */
export async function listCharges(
  pool: Pool,
  { customerId, limit = LIST_MAX, after = null }: ChargesQuery,
): Promise<{ items: SandboxChargeView[]; next: ChargePosition | null }> {
  const older = after ? sql`AND (booked_at, ref) < (${after.createdAt}::timestamptz, ${after.ref})` : empty
  const { rows } = await pool.query<ListRow>(sql`
    SELECT ${LIST_COLUMNS} FROM sandbox.charges
    WHERE customer_id = ${customerId} AND booked_at <= clock_timestamp() ${older}
    ORDER BY booked_at DESC, ref DESC LIMIT ${limit + 1}::int`)
  const items = rows.slice(0, limit).map(viewOf)
  const last = items.at(-1)
  return { items, next: rows.length > limit && last ? { createdAt: last.createdAt, ref: last.ref } : null }
}

function viewOf(row: ListRow): SandboxChargeView {
  return {
    ref: row.ref,
    customerId: row.customer_id,
    orderId: row.order_id,
    amountCents: Number(row.amount_cents),
    status: row.status,
    kind: row.kind,
    createdAt: row.booked_at.toISOString(),
  }
}

/** A page of what was booked in a window, the oldest first. */
export function pageOfEntries({ from, to }: CreatedWindow, cursor: string | null): Sql {
  const [at, ref] = cursor === null ? [from, ''] : cursor.split(' ', 2)
  return sql`
    SELECT ${LIST_COLUMNS} FROM sandbox.charges
    WHERE booked_at >= ${from} AND booked_at < ${to} AND booked_at <= clock_timestamp()
      AND (booked_at, ref) > (${at}::timestamptz, ${ref})
    ORDER BY booked_at, ref LIMIT ${LIST_MAX}`
}

/** From the rows of a page. */
export function pageOf(rows: readonly ListRow[]): CreatedPage {
  const last = rows.length < LIST_MAX ? null : rows.at(-1)!
  return { items: rows.map(entryOf), next: last && `${last.booked_at.toISOString()} ${last.ref}` }
}
