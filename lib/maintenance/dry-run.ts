// What a run would touch: counted, grouped and sampled with the run's own predicate over `idempotency_records r`.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Batch, Group } from './daemon'

/** A sample is for people to look at; sorting millions for it would cost more than the run. */
const SAMPLE = 100
/** To count is to read an index; to tell apart is to read each record. */
const MOST_TOLD_APART = 100_000
const TENANTS = 3

const STAYS = sql`NULL`

/** `to` says over `r` where each would be moved. */
export async function* wouldTouch(store: Store, name: string, predicate: Sql, to: Sql = STAYS): AsyncIterable<Batch> {
  const groups = await groupsOf(store, name, predicate, to)
  const size = groups.reduce((sum, { count }) => sum + count, 0)
  if (size === 0) return
  const ids = await store.query<{ id: string }>(sql`
    SELECT r.id FROM idempotency_records r WHERE ${predicate} LIMIT ${SAMPLE}::int`)
  yield { counts: { [name]: size }, ids: ids.map(({ id }) => id), size, groups }
}

/** The largest first. */
export async function groupsOf(store: Store, rule: string, predicate: Sql, to: Sql = STAYS): Promise<Group[]> {
  const [row] = await store.query<{ count: number }>(sql`
    SELECT count(*)::int AS count FROM idempotency_records r WHERE ${predicate}`)
  const count = row?.count ?? 0
  if (count > MOST_TOLD_APART) return [{ rule, from: null, to: null, count, tenants: [] }]
  const rows = await store.query<Omit<Group, 'rule' | 'tenants'> & { tenant: string }>(sql`
    SELECT r.state AS "from", ${to}::text AS "to", r.tenant_id AS tenant, count(*)::int AS count
    FROM idempotency_records r WHERE ${predicate} GROUP BY 1, 2, 3 ORDER BY count DESC`)
  const groups = new Map<string, Group>()
  for (const { from, to, tenant, count } of rows) {
    const group = groups.get(`${from} ${to}`) ?? { rule, from, to, count: 0, tenants: [] }
    groups.set(`${from} ${to}`, group)
    group.count += count
    if (group.tenants.length < TENANTS) group.tenants.push({ id: tenant, count })
  }
  return [...groups.values()].sort((a, b) => b.count - a.count)
}
