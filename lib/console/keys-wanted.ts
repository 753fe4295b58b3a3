// What a filter comes to: the states and endpoints whose indexes are walked, the conditions of any row, and the sets of
// records that were searched for.
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import { STATES, type State } from '../idempotency/states'
import { ENDPOINTS, endpointsNamed } from './endpoints'
import { errorCodesLike } from './error-codes'
import type { KeyFilter } from './keys-filter'
import { keysFound, keysOfOrder, keysOfReference } from './keys-search'
import { tenantNamed } from './tenant-named'

export interface Wanted {
  states: readonly State[]
  endpoints: readonly string[]
  tenantId: Sql | null
  /** Of any row, beside the state: each begins with AND. */
  conditions: Sql
  endpointCondition: Sql
  /** A statement of the error codes that are meant. */
  errors: Sql | null
  /** A statement of record ids: of what was searched for. */
  found: Sql | null
}

/** Waits for a person. A tombstone that once did does not any more. */
const DEAD_LETTER = raw(`r.state IN ('failed_retryable', 'unknown') AND r.dead_lettered_at IS NOT NULL`)

/** Subselects, so that the database's clock is read once and an index can be asked. */
const ago = (seconds: number): Sql => sql`(SELECT clock_timestamp() - ${seconds}::float8 * interval '1 s')`

export function wantedBy(filter: KeyFilter): Wanted {
  const { state = STATES, endpoint, tenant, error, deadLettered } = filter
  const { minAgeSeconds, maxAgeSeconds, createdFrom, createdTo } = filter
  const endpoints = endpoint === undefined ? ENDPOINTS : endpointsNamed(endpoint)
  const tenantId = tenant === undefined ? null : tenantNamed(tenant)
  const conditions = [
    tenantId ? sql`AND r.tenant_id = ${tenantId}` : empty,
    minAgeSeconds === undefined ? empty : sql`AND r.created_at <= ${ago(minAgeSeconds)}`,
    maxAgeSeconds === undefined ? empty : sql`AND r.created_at >= ${ago(maxAgeSeconds)}`,
    createdFrom === undefined ? empty : sql`AND r.created_at >= ${createdFrom}::timestamptz`,
    createdTo === undefined ? empty : sql`AND r.created_at < ${createdTo}::timestamptz`,
    error === undefined ? empty : sql`AND strpos(lower(r.last_error_code), ${error.toLowerCase()}) > 0`,
    deadLettered === undefined ? empty : sql`AND ${deadLettered ? DEAD_LETTER : sql`NOT (${DEAD_LETTER})`}`,
  ]
  return {
    states: deadLettered ? state.filter((one) => one === 'failed_retryable' || one === 'unknown') : state,
    endpoints,
    tenantId,
    conditions: join(conditions, ' '),
    endpointCondition: endpoint === undefined ? empty : sql`AND r.endpoint = ANY(${endpoints}::text[])`,
    errors: error === undefined ? null : errorCodesLike(error),
    found: foundBy(filter, tenantId, endpoints),
  }
}

/** What is found in every way that was asked for. */
function foundBy({ q, order, ref }: KeyFilter, tenantId: Sql | null, endpoints: readonly string[]): Sql | null {
  const sets = [
    ...(q === undefined ? [] : [keysFound(q, { tenantId, endpoints })]),
    ...(order === undefined ? [] : [keysOfOrder(order)]),
    ...(ref === undefined ? [] : [keysOfReference(ref)]),
  ]
  const each = sets.map((set) => sql`(SELECT * FROM (${set}) s)`)
  return each.length === 0 ? null : join(each, ' INTERSECT ')
}
