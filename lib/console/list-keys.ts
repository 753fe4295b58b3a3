// A page of keys.
import sql from 'sql-template-tag'
import { z } from 'zod'
import type { Store } from '../db/store'
import { Instant, type KeyFilter } from './keys-filter'
import { type KeyPage, type KeySort, keysInOrder } from './keys-order'
import { OPERATOR_COLUMNS, type OperatorRecord, type OperatorRow, toOperatorRecord } from './record-view'

/** What names no row of ours, such as a text with a NUL, the database is not even asked about. */
const Id = z.string().regex(/^[\x21-\x7e]{1,64}$/)

const position = <Value extends z.ZodType>(sort: KeySort, value: Value) =>
  z.strictObject({ sort: z.literal(sort), value, createdAt: Instant, id: Id })

/** A position belongs to its sort: in another it would name another place. */
export const PlacedKey = z.discriminatedUnion('sort', [
  position('-createdAt', z.null()),
  position('createdAt', z.null()),
  position('-lockedUntil', Instant.nullable()),
  position('-replayCount', z.int32().nullable()),
  position('reconcileAfter', Instant.nullable()),
])
export type PlacedKey = z.infer<typeof PlacedKey>

export interface KeyList {
  items: OperatorRecord[]
  /** The last row, where more come after it; the first, where some came before it. */
  next: PlacedKey | null
  previous: PlacedKey | null
}

export async function listKeys(
  store: Pick<Store, 'query'>,
  { filter, ...page }: KeyPage & { filter: KeyFilter },
): Promise<KeyList> {
  const rows = await store.query<OperatorRow>(listStatement(filter, page))
  const items = rows.slice(0, page.limit).map(toOperatorRecord)
  if (page.before) items.reverse()
  const more = rows.length > page.limit
  const place = (record: OperatorRecord | undefined): PlacedKey | null =>
    record
      ? { sort: page.sort, value: sortedValue(record, page.sort), createdAt: record.createdAt, id: record.id }
      : null
  return {
    items,
    next: more || page.before ? place(items.at(-1)) : null,
    previous: (page.before ? more : page.after) ? place(items[0]) : null,
  }
}

/** One row more than asked for tells whether there is a next page. */
export const listStatement = (filter: KeyFilter, page: KeyPage) => sql`
  SELECT ${OPERATOR_COLUMNS}
  FROM (${keysInOrder(filter, { ...page, limit: page.limit + 1 })}) p,
    LATERAL (SELECT * FROM idempotency_records WHERE id = p.id LIMIT 1) r
  ORDER BY p.place`

function sortedValue(record: OperatorRecord, sort: KeySort): PlacedKey['value'] {
  switch (sort) {
    case '-createdAt':
    case 'createdAt':
      return null
    case '-lockedUntil':
      return record.lockedUntil
    case '-replayCount':
      return record.replayCount || null
    case 'reconcileAfter':
      return record.reconcileAfter
  }
}
