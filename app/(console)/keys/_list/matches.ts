// How many keys a filter matches: counted up to what one run takes, estimated where there is no filter at all.
import { count, stateCount } from '../../../_ui/words'

export interface Matches {
  count: number
  /** There are more than were counted. */
  more: boolean
  estimated: boolean
}

export function matchWords({ count: n, more, estimated }: Matches, filtered: boolean): string {
  if (more) return `More than ${count(n)} keys match.`
  const keys = `${stateCount({ count: n, estimated })} ${n === 1 ? 'key' : 'keys'}`
  return filtered ? `${keys} ${n === 1 ? 'matches' : 'match'}.` : `${keys}.`
}

/** More are not one person's decision any more. */
const MOST_IN_A_RUN = 10_000

export const fitsInRun = ({ count: n, more, estimated }: Matches): boolean => !more && !estimated && n <= MOST_IN_A_RUN
