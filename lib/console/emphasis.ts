// How loud a state is on the map: its count against what is usual at this hour, never the raw count. A state that is
// always large is calm; a small one that grows is not. Pure.

export type Emphasis = 'calm' | 'above' | 'piling'

const ABOVE = 1.5
const PILING = 3
/** Two keys instead of none are no pile, whatever the ratio. */
const SMALLEST_PILE = 5

export interface Weighed {
  count: number
  /** Null where it is not known. */
  usual: number | null
  /** Oldest first. */
  history: readonly number[]
}

export function emphasisOf(of: Weighed): Emphasis {
  const ratio = timesUsual(of)
  if (ratio === null || of.count < SMALLEST_PILE || ratio <= ABOVE) return 'calm'
  const rising = of.history.length > 0 && of.count > of.history[0]!
  return ratio > PILING && rising ? 'piling' : 'above'
}

/** None is usual for many a state: then one is. */
export const timesUsual = ({ count, usual }: Weighed): number | null =>
  usual === null ? null : count / Math.max(usual, 1)
