// Each move by the verb that people use for it: the moves of states.ts, and how a record comes in and goes. They are
// counted and drawn under these names.
import type { State } from './states'

export interface FlowMove {
  from: State | null
  to: State | null
  word: string
}

export const FLOWS = {
  accepted: { from: null, to: 'pending', word: 'accepted' },
  reserved: { from: null, to: 'in_progress', word: 'reserved' },
  claimed: { from: 'pending', to: 'in_progress', word: 'claimed' },
  swept: { from: 'pending', to: 'completed', word: 'swept, stored 408' },
  settled: { from: 'in_progress', to: 'completed', word: 'settled' },
  released: { from: 'in_progress', to: 'failed_retryable', word: 'released' },
  lost: { from: 'in_progress', to: 'unknown', word: 'outcome lost' },
  reclaimed: { from: 'failed_retryable', to: 'in_progress', word: 're-claimed' },
  recharged: { from: 'failed_retryable', to: 'completed', word: 'charged after all' },
  disputed: { from: 'failed_retryable', to: 'unknown', word: 'other money charged' },
  reconciled: { from: 'unknown', to: 'completed', word: 'reconciled' },
  not_executed: { from: 'unknown', to: 'failed_retryable', word: 'not executed' },
  reaped: { from: 'completed', to: 'expired', word: 'reaped' },
  reaped_retryable: { from: 'failed_retryable', to: 'expired', word: 'reaped' },
  deleted: { from: 'expired', to: null, word: 'deleted' },
} as const satisfies Record<string, FlowMove>

export type Flow = keyof typeof FLOWS
export const FLOW_NAMES = Object.keys(FLOWS) as readonly Flow[]

/** None for a move that there is not. */
export const flowOf = (from: State | null, to: State | null): Flow | undefined =>
  FLOW_NAMES.find((flow) => FLOWS[flow].from === from && FLOWS[flow].to === to)
