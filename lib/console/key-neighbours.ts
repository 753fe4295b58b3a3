// The keys before and after one, in the list that somebody came from: by age, whatever that list was sorted by. Each is
// the first row of a walk that the list itself would take.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import type { KeyFilter } from './keys-filter'
import { type KeySort, keysInOrder } from './keys-order'

export interface Neighbours {
  newer: string | null
  older: string | null
}

export async function findNeighbours(
  store: Pick<Store, 'query'>,
  { filter, createdAt, id }: { filter: KeyFilter; createdAt: string; id: string },
): Promise<Neighbours> {
  const next = async (sort: KeySort): Promise<string | null> => {
    const page = { sort, after: { value: null, createdAt, id }, limit: 1 }
    const [row] = await store.query<{ id: string }>(sql`SELECT id FROM (${keysInOrder(filter, page)}) k`)
    return row?.id ?? null
  }
  const [newer, older] = await Promise.all([next('createdAt'), next('-createdAt')])
  return { newer, older }
}
