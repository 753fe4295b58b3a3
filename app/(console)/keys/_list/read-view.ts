// What an address asks for. What can't be read is said, and the rest of it holds.
import { KeyFilter } from '../../../../lib/console/keys-filter'
import { KEY_SORTS, type KeyPosition } from '../../../../lib/console/keys-order'
import { PlacedKey } from '../../../../lib/console/list-keys'
import { parseSearch, printSearch, type SearchIssue } from '../../../../lib/console/search-text'
import { isId } from '../../../../lib/db/id'
import { decodeCursor } from '../../../../lib/http/cursor'
import { NEWEST_FIRST, type View } from './view'

export type Params = Record<string, string | string[] | undefined>

export interface ReadView {
  view: View
  /** What the box shows. */
  text: string
  issue: SearchIssue | null
  /** Where the page begins. */
  after: KeyPosition | null
  before: KeyPosition | null
}

const FILTERS = Object.keys(KeyFilter.shape) as (keyof KeyFilter)[]

export function readView(params: Params): ReadView {
  const typed = oneOf(params.q)
  const parsed = parseSearch(typed)
  const { filter: named, wrong } = namedFilter(params)
  const filter = parsed.ok ? { ...parsed.filter, ...named } : named
  const sort = KEY_SORTS.find((one) => one === params.sort) ?? NEWEST_FIRST
  const [after, before] = [placeOf(params.after, sort), placeOf(params.before, sort)]
  const run = oneOf(params.run)
  return {
    view: {
      filter,
      sort,
      after: after ? oneOf(params.after) : null,
      before: before && !after ? oneOf(params.before) : null,
      run: isId('run', run) ? run : null,
    },
    text: parsed.ok ? printSearch(filter) : typed,
    issue: parsed.ok ? wrong : parsed.issue,
    after,
    before: after ? null : before,
  }
}

/** Other pages, and scripts, name what they want as the API does. */
function namedFilter(params: Params): { filter: KeyFilter; wrong: SearchIssue | null } {
  const filter: KeyFilter = {}
  let wrong: SearchIssue | null = null
  for (const name of FILTERS) {
    const given = params[name]
    if (name === 'q' || given === undefined || given === '') continue
    const read = KeyFilter.shape[name].safeParse(given)
    if (read.success) Object.assign(filter, { [name]: read.data })
    else wrong = { message: `The address asks for a ${name} that can’t be read; it is left out.`, start: 0, end: 0 }
  }
  return { filter, wrong }
}

const oneOf = (given: string | string[] | undefined): string => (Array.isArray(given) ? given[0] : given) ?? ''

/** A place belongs to its sort: in another it would name another row. */
function placeOf(given: string | string[] | undefined, sort: string): KeyPosition | null {
  const place = oneOf(given) ? decodeCursor(PlacedKey, oneOf(given)) : undefined
  return place?.sort === sort ? place : null
}
