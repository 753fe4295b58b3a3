// A view of the list, as it stands in the address: a link shows a colleague the same. Pure, and the same on the server
// and in the browser.
import type { KeyFilter } from '../../../../lib/console/keys-filter'
import type { KeySort } from '../../../../lib/console/keys-order'
import { printSearch } from '../../../../lib/console/search-text'

export interface View {
  filter: KeyFilter
  sort: KeySort
  /** The page that follows this row, or the one that comes before it; opaque. */
  after: string | null
  before: string | null
  /** A bulk run whose progress is shown. */
  run: string | null
}

export const NEWEST_FIRST: KeySort = '-createdAt'

export const WHOLE_LIST: View = { filter: {}, sort: NEWEST_FIRST, after: null, before: null, run: null }

export const SORT_WORDS: Record<KeySort, string> = {
  '-createdAt': 'Newest first',
  createdAt: 'Oldest first',
  '-lockedUntil': 'Longest lease first',
  '-replayCount': 'Most replayed first',
  reconcileAfter: 'Next look-up first',
}

/** The states have a name of their own in the address; all else is the text of the box. */
export function hrefOf({ filter: { state, ...rest }, sort, after, before, run }: View): string {
  const params = new URLSearchParams()
  const text = printSearch(rest)
  if (text) params.set('q', text)
  for (const one of state ?? []) params.append('state', one)
  if (sort !== NEWEST_FIRST) params.set('sort', sort)
  if (after) params.set('after', after)
  if (before) params.set('before', before)
  if (run) params.set('run', run)
  const query = params.toString()
  return query ? `/keys?${query}` : '/keys'
}

/** The first page of a view. */
export const firstPage = (view: View): View => ({ ...view, after: null, before: null })

export const isFirstPage = ({ after, before }: View): boolean => after === null && before === null

export const isFiltered = ({ filter }: View): boolean => Object.keys(filter).length > 0

/** The same keys as a file. */
export function exportHref(format: 'csv' | 'json', of: { filter: KeyFilter } | { ids: readonly string[] }): string {
  const params = new URLSearchParams({ format })
  if ('ids' in of) for (const id of of.ids) params.append('id', id)
  else
    for (const [name, value] of Object.entries(of.filter)) {
      for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one))
    }
  return `/api/admin/keys/export?${params}`
}
