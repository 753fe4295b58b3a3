// The columns of the list: what each is called, and which may be left out. The reader's choice is kept in a cookie, so
// that the server already sends the table that way.
import type { KeySort } from '../../../../lib/console/keys-order'

export const COLUMNS = [
  'state',
  'key',
  'tenant',
  'endpoint',
  'order',
  'amount',
  'age',
  'error',
  'next',
  'replays',
] as const
export type ColumnId = (typeof COLUMNS)[number]

export const COLUMN_WORDS: Record<ColumnId, string> = {
  state: 'State',
  key: 'Key',
  tenant: 'Tenant',
  endpoint: 'Endpoint',
  order: 'Order',
  amount: 'Amount',
  age: 'Age',
  error: 'Last error',
  next: 'Next look-up',
  replays: 'Replays',
}

/** Without these a row is none. */
export const ALWAYS: readonly ColumnId[] = ['state', 'key']

/** What the store sorts by, under the column that shows it, and which way that goes. */
export const COLUMN_SORTS: Partial<Record<ColumnId, readonly { sort: KeySort; goes: 'ascending' | 'descending' }[]>> = {
  age: [
    { sort: '-createdAt', goes: 'ascending' },
    { sort: 'createdAt', goes: 'descending' },
  ],
  next: [{ sort: 'reconcileAfter', goes: 'ascending' }],
  replays: [{ sort: '-replayCount', goes: 'descending' }],
}

/** Where only what is running is shown, the column shows leases. */
export const LEASE_SORT = [{ sort: '-lockedUntil', goes: 'descending' }] as const

export const HIDDEN_COOKIE = 'onceover.keys-hidden'

export const readHidden = (cookie: string | undefined): ColumnId[] =>
  COLUMNS.filter((id) => !ALWAYS.includes(id) && cookie?.split('.').includes(id))
