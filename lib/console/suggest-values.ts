// What may stand behind a qualifier of the search box, as far as only the store knows it.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { ENDPOINTS } from './endpoints'
import { listErrorCodes } from './error-codes'
import type { KeyFilter } from './keys-filter'
import { someKeys } from './keys-order'

/** More are not read, they are typed on. */
const MOST_VALUES = 6
/** A count that tells which one is meant need not be a long one. */
const MOST_COUNTED = 100

export interface Suggested {
  value: string
  /** How many keys it leaves of those that the rest of the search matches, up to a hundred. */
  count: number
}

export interface Suggesting {
  qualifier: 'tenant' | 'endpoint' | 'error'
  /** What has been typed of the value. */
  typed: string
  /** The rest of the search. */
  filter: KeyFilter
}

export async function suggestValues(store: Pick<Store, 'query'>, asked: Suggesting): Promise<Suggested[]> {
  const values = await valuesOf(store, asked)
  const counts = await Promise.all(
    values.map(async (value) => {
      const narrowed = { ...asked.filter, [asked.qualifier]: value }
      const [row] = await store.query<{ count: number }>(sql`
        SELECT count(*)::int AS count FROM (${someKeys(narrowed, MOST_COUNTED)}) k`)
      return { value, count: row!.count }
    }),
  )
  return counts.sort((a, b) => b.count - a.count)
}

async function valuesOf(store: Pick<Store, 'query'>, { qualifier, typed }: Suggesting): Promise<string[]> {
  const wanted = typed.toLowerCase()
  switch (qualifier) {
    case 'tenant': {
      const rows = await store.query<{ name: string }>(sql`
        SELECT name FROM tenants WHERE strpos(lower(name), ${wanted}) > 0
        ORDER BY starts_with(lower(name), ${wanted}) DESC, name LIMIT ${MOST_VALUES}::int`)
      return rows.map(({ name }) => name)
    }
    case 'endpoint':
      return ENDPOINTS.filter((endpoint) => endpoint.toLowerCase().includes(wanted)).slice(0, MOST_VALUES)
    case 'error':
      return (await listErrorCodes(store, wanted)).slice(0, MOST_VALUES)
  }
}
