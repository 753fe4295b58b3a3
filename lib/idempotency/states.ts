// The states of a record and the only moves between them. The trigger records_move in the migrations has the same
// table; a test walks the whole grid against the database.

export const STATES = ['pending', 'in_progress', 'completed', 'failed_retryable', 'unknown', 'expired'] as const
export type State = (typeof STATES)[number]

export const MOVES: Record<State, readonly State[]> = {
  pending: ['in_progress', 'completed'],
  in_progress: ['completed', 'failed_retryable', 'unknown'],
  completed: ['expired'],
  failed_retryable: ['in_progress', 'completed', 'unknown', 'expired'],
  unknown: ['completed', 'failed_retryable'],
  expired: [],
}
