// The version of a record: it rises with state, attempt and evidence. Whoever decides by what they saw names the version
// that they saw, and changes nothing once it has risen.
import sql, { empty, type Sql } from 'sql-template-tag'
import type { Store } from '../../db/store'
import type { State } from '../states'

/** A further guard of an UPDATE; none for who decides by state and attempt alone. */
export const atVersion = (version: number | undefined): Sql =>
  version === undefined ? empty : sql`AND version = ${version}::int`

export interface Current {
  state: State
  version: number
}

/** Null where there is no such record. */
export async function currentOf(store: Pick<Store, 'query'>, recordId: string): Promise<Current | null> {
  const [row] = await store.query<Current>(sql`SELECT state, version FROM idempotency_records WHERE id = ${recordId}`)
  return row ?? null
}
