// All that the processes of one `npm start` say to each other, over the channel that the operating system closes with
// either of them.
import type { Numbers } from '../lib/metrics/exposition'
import type { Welcome } from '../lib/node/start'

export type ToServing =
  /** With the socket; without one where its client has gone meanwhile. */
  | { kind: 'connection'; connection: number }
  | { kind: 'tell'; round: number }
  /** The sum that it asked for. */
  | { kind: 'sum'; scrape: number; numbers: Numbers }
  | { kind: 'stop' }
  | { kind: 'hurry' }

export type FromServing =
  /** It answers. */
  | { kind: 'ready'; welcome: Welcome }
  | { kind: 'took' | 'refused'; connection: number }
  | { kind: 'ended' }
  /** Asked for, or for the last time. */
  | { kind: 'numbers'; round: number | null; numbers: Numbers }
  /** Somebody scrapes it and wants the sum of all. */
  | { kind: 'scrape'; scrape: number }
