// What a run would touch: counted and sampled with the run's own predicate over `idempotency_records r`.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Batch } from './daemon'

/** A sample is for people to look at; sorting millions for it would cost more than the run. */
const SAMPLE = 100

export async function* wouldTouch(store: Store, name: string, predicate: Sql): AsyncIterable<Batch> {
  const [row] = await store.query<{ count: number }>(sql`
    SELECT count(*)::int AS count FROM idempotency_records r WHERE ${predicate}`)
  const ids = await store.query<{ id: string }>(sql`
    SELECT r.id FROM idempotency_records r WHERE ${predicate} LIMIT ${SAMPLE}::int`)
  if (row && row.count > 0) yield { counts: { [name]: row.count }, ids: ids.map(({ id }) => id), size: row.count }
}
