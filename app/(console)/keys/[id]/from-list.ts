// The list that one came from, as its page has it in the address.
import type { KeyFilter } from '../../../../lib/console/keys-filter'
import { type Params, readView } from '../_list/read-view'

export function filterOf(list: string | null): KeyFilter {
  const query = new URLSearchParams(list ?? '')
  const params: Params = {}
  for (const name of query.keys()) {
    const values = query.getAll(name)
    params[name] = values.length > 1 ? values : values[0]
  }
  return readView(params).view.filter
}
