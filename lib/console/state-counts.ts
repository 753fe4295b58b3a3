// How many keys are in each state, of all or of one tenant or endpoint. What is open is few and counted; what is finished
// is counted up to a limit, and beyond it the planner's estimate is taken, and said to be one.
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import { STATES, type State } from '../idempotency/states'
import { readGauges, type StateCount } from '../metrics/gauges'
import { endpointsNamed } from './endpoints'
import type { Scope } from './measured'
import { tenantNamed } from './tenant-named'

/** A few milliseconds of index. */
const EXACT_UP_TO = 20_000

export type StateCounts = Record<State, StateCount>

export async function countStates(store: Pick<Store, 'query'>, scope: Scope): Promise<StateCounts> {
  if (scope.tenant === undefined && scope.endpoint === undefined) return (await readGauges(store)).records
  const tenantId = scope.tenant === undefined ? null : await tenantIdOf(store, scope.tenant)
  const counts = await Promise.all(STATES.map((state) => countState(store, rowsOf(state, scope, tenantId))))
  return Object.fromEntries(STATES.map((state, i) => [state, counts[i]])) as StateCounts
}

async function countState(store: Pick<Store, 'query'>, rows: Sql): Promise<StateCount> {
  const [counted] = await store.query<{ count: number }>(sql`
    SELECT count(*)::float8 AS count FROM (SELECT ${rows} LIMIT ${raw(String(EXACT_UP_TO + 1))}) few`)
  const { count } = counted!
  if (count <= EXACT_UP_TO) return { count, estimated: false }
  const [plan] = await store.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(sql`
    EXPLAIN (FORMAT JSON) SELECT ${rows}`)
  return { count: Math.max(count, plan!['QUERY PLAN'][0].Plan['Plan Rows']), estimated: true }
}

/** The state stands as a literal: a partial index is used where the statement's own text implies its condition. */
const rowsOf = (state: State, { endpoint }: Scope, tenantId: string | null): Sql => sql`
  FROM idempotency_records r WHERE r.state = ${raw(`'${state}'`)} ${raw(state === 'pending' ? 'AND r.async' : '')}
    ${tenantId === null ? empty : sql`AND r.tenant_id = ${tenantId}`}
    ${endpoint === undefined ? empty : sql`AND r.endpoint = ANY(${endpointsNamed(endpoint)}::text[])`}`

/** Looked up before: the planner estimates by the value. */
async function tenantIdOf(store: Pick<Store, 'query'>, tenant: string): Promise<string> {
  const [row] = await store.query<{ id: string }>(sql`SELECT ${tenantNamed(tenant)} AS id`)
  return row!.id
}
