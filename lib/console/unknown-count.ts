// How many keys wait for an answer from the provider or from a person: the number beside Reconciliation on every page.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'

/** From a partial index that holds little else, and not further than anybody would read. */
const MOST = 10_000

export async function countUnknown(store: Pick<Store, 'query'>): Promise<number> {
  const [row] = await store.query<{ count: number }>(sql`
    SELECT count(*)::int AS count FROM (SELECT FROM idempotency_records WHERE state = 'unknown' LIMIT ${MOST}::int) few`)
  return row!.count
}
