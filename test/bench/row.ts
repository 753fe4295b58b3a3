// A row of the table: what is measured against what, how far it has to get, and how it is found out.
import type { Contender } from './contenders'
import type { Rates, RoundOptions, Trial } from './rounds'
import type { Stand } from './stand'
import { median } from './statistics'

export type Reach = { atLeast: number } | { atMost: number }

export interface Measured {
  /** One for each round. */
  ratios: number[]
  /** What a ratio does not say. */
  detail?: string
}

interface Run extends RoundOptions {
  stand: Stand
  rates: Rates
}

export interface Row {
  /** What `--rows` calls it; several rows may share a name. */
  name: string
  what: string
  against: string
  reach: Reach
  /** It takes so long that it is measured only when it is asked for. */
  onRequest?: boolean
  /** Who takes turns in the rounds for it. */
  trials: Trial[]
  /** Beside those. */
  contenders?: Contender[]
  measure(run: Run): Measured | Promise<Measured>
}

/** The ratio of two rates, round by round. */
export function rateRow(row: Omit<Row, 'trials' | 'measure'> & { of: Trial; by: Trial }): Row {
  const { of, by, ...rest } = row
  return {
    ...rest,
    trials: [of, by],
    measure: ({ rates }) => ({ ratios: rates.of(of).map((rate, round) => rate / rates.of(by)[round]!) }),
  }
}

export function isMet(reach: Reach, { ratios }: Measured): boolean {
  const reached = Number(median(ratios).toFixed(2))
  return 'atLeast' in reach ? reached >= reach.atLeast : reached <= reach.atMost
}
