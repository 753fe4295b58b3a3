// Everything that a filter matches, a batch at a time: as many as there are, in the memory of one batch.
// Each key comes once, however long it takes and whatever moves meanwhile: the order is that of creation, which nothing
// changes.
import type { Store } from '../db/store'
import { type KeyFacts, readKeyFacts } from './key-rows'
import type { KeyFilter } from './keys-filter'
import { type KeyList, listKeys, type PlacedKey } from './list-keys'
import { findOperatorRecords, type OperatorRecord } from './record-view'

const BATCH = 250

export type ExportedKey = OperatorRecord & KeyFacts

export interface Export {
  filter: KeyFilter
  sort: '-createdAt' | 'createdAt'
  /** Only these, in this order: then the filter and the sort have no say. */
  ids?: readonly string[]
}

/** The first batch is read before anything is answered: a store that can't be asked is no file that ends early. */
export async function exportKeys(
  store: Pick<Store, 'query'>,
  { filter, sort, ids }: Export,
): Promise<AsyncGenerator<ExportedKey[]>> {
  const batches = ids ? named(store, ids) : matching(store, filter, sort)
  const first = await batches.next()
  return (async function* () {
    if (first.done) return
    yield first.value
    yield* batches
  })()
}

async function* named(store: Pick<Store, 'query'>, ids: readonly string[]): AsyncGenerator<ExportedKey[]> {
  yield await withFacts(store, await findOperatorRecords(store, ids))
}

async function* matching(
  store: Pick<Store, 'query'>,
  filter: KeyFilter,
  sort: Export['sort'],
): AsyncGenerator<ExportedKey[]> {
  let after: PlacedKey | null = null
  do {
    const page: KeyList = await listKeys(store, {
      filter,
      sort,
      after,
      limit: BATCH,
    })
    yield await withFacts(store, page.items)
    after = page.next
  } while (after)
}

async function withFacts(store: Pick<Store, 'query'>, records: readonly OperatorRecord[]): Promise<ExportedKey[]> {
  const facts = await readKeyFacts(store, records)
  return records.map((record) => ({ ...record, ...facts.get(record.id)! }))
}
