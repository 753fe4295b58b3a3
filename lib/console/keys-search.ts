// What was pasted into the search box: a key, one of our ids, a provider's reference, a request id, or how one of them
// begins. Each kind is asked of an index of its own and gives a bounded number of candidates; whoever asks applies the
// other filters to those.
import sql, { join, raw, type Sql } from 'sql-template-tag'
import { IN_PROGRESS, RECORDS } from './key-sources'

/** Of each kind. A prefix that more begin with is none that anybody looks through. */
const MAX_CANDIDATES = 1000
/** A key without its tenant is asked of every tenant: some 20 µs each. */
const MAX_TENANTS = 10_000
/** As long as the part of an id behind its prefix, so that it sorts behind every id that begins alike. */
const LAST = 'z'.repeat(26)
/** Sorts behind every other character, byte by byte. */
const LAST_CHARACTER = '\u{10ffff}'

export interface SearchScope {
  /** Null: of all tenants. */
  tenantId: Sql | null
  endpoints: readonly string[]
}

/** A statement of record ids. */
export function keysFound(q: string, scope: SearchScope): Sql {
  const sources = [byKey(q, scope), byRecordId(q), keysOfOrder(q), byRefundId(q), keysOfReference(q), ...byRequestId(q)]
  return join(
    sources.map((source) => sql`(${source})`),
    ' UNION ',
  )
}

/**
 * The first so many that begin with something. Two walks of one index: the first only asks whether there is any. Only
 * one bound in the second, and a limit: with both, a plan that is made for any text takes them for few, gathers all of
 * them and sorts.
 */
interface Beginning {
  /** What is selected of a row. */
  id: Sql
  /** A table, and which of its rows. */
  from: Sql
  where: Sql
  column: Sql
  q: string
}

/** Arbitrary text: these indexes compare bytes (text_pattern_ops), since in most databases words sort otherwise. */
const beginning = ({ id, from, where, column, q }: Beginning): Sql => sql`
  SELECT w.id FROM (
    SELECT ${q + LAST_CHARACTER}::text AS last FROM ${from}
    WHERE ${where} AND ${column} ~>=~ ${q} AND ${column} ~<~ ${q + LAST_CHARACTER}
    ORDER BY ${column} USING ~>~ LIMIT 1
  ) there, LATERAL (
    SELECT ${id} AS id, ${column} AS name FROM ${from}
    WHERE ${where} AND ${column} ~<~ there.last ORDER BY ${column} USING ~>~ ${LIMIT}
  ) w WHERE starts_with(w.name, ${q})`

/**
 * Ids of ours: digits and small letters behind a prefix that all of their kind share, which every usual collation sorts
 * alike. A whole id is found whatever the collation. What no id begins with asks for NULL, which is nothing.
 */
function idBeginning({ id, from, where, column, q }: Beginning, prefix: string): Sql {
  const possible = `${prefix}_`.startsWith(q) || new RegExp(`^${prefix}_[0-9a-z]{0,26}$`).test(q)
  const first = possible ? q : null
  return sql`
    SELECT w.id FROM (
      SELECT ${first && first + LAST}::text AS last FROM ${from}
      WHERE ${where} AND ${column} >= ${first} AND ${column} <= ${first && first + LAST}
      ORDER BY ${column} DESC LIMIT 1
    ) there, LATERAL (
      SELECT ${id} AS id, ${column} AS name FROM ${from}
      WHERE ${where} AND ${column} <= there.last ORDER BY ${column} DESC ${LIMIT}
    ) w WHERE starts_with(w.name, ${first})`
}

const LIMIT = raw(`LIMIT ${MAX_CANDIDATES}`)
const ALL = raw('true')

function byKey(q: string, { tenantId, endpoints }: SearchScope): Sql {
  const tenants = tenantId ? sql`SELECT ${tenantId} AS id` : sql`SELECT id FROM tenants LIMIT ${MAX_TENANTS}::int`
  const where = sql`r.tenant_id = t.id AND r.endpoint = e.endpoint`
  return sql`
    SELECT k.id FROM (${tenants}) t, unnest(${endpoints}::text[]) AS e (endpoint),
      LATERAL (${beginning({ id: sql`r.id`, from: RECORDS, where, column: sql`r.key`, q })}) k ${LIMIT}`
}

const byRecordId = (q: string): Sql =>
  idBeginning({ id: sql`r.id`, from: RECORDS, where: ALL, column: sql`r.id`, q }, 'idem')

/** An order's own record, and those of its refunds. */
export const keysOfOrder = (q: string): Sql => sql`
  WITH o AS MATERIALIZED (
    ${idBeginning({ id: sql`o.id`, from: raw('orders o'), where: ALL, column: sql`o.id`, q }, 'ord')}
  )
  SELECT own.record_id FROM o, LATERAL (SELECT record_id FROM orders WHERE id = o.id LIMIT 1) own
  UNION ALL
  (SELECT f.record_id FROM o, LATERAL (SELECT record_id FROM refunds WHERE order_id = o.id ${LIMIT}) f ${LIMIT})`

const byRefundId = (q: string): Sql =>
  idBeginning({ id: sql`f.record_id`, from: raw('refunds f'), where: ALL, column: sql`f.id`, q }, 'ref')

/** Of a charge or a refund that the provider knows under this reference. */
export const keysOfReference = (q: string): Sql =>
  beginning({
    id: sql`l.record_id`,
    from: raw('ledger_entries l'),
    where: raw('l.reversed_at IS NULL'),
    column: sql`l.provider_ref`,
    q,
  })

/** What is running is not in the index, so that a reservation does not pay for it: it is few, and is looked through. */
const byRequestId = (q: string): Sql[] =>
  [
    { from: RECORDS, where: sql`r.state IN ('completed', 'failed_retryable', 'unknown', 'expired')` },
    { from: IN_PROGRESS, where: ALL },
    { from: RECORDS, where: sql`r.async AND r.state = 'pending'` },
  ].map((rows) => beginning({ id: sql`r.id`, ...rows, column: sql`r.request_id`, q }))
