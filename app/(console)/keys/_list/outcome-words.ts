// What became of one key of a bulk run.
import type { RunKey } from '../../../../lib/maintenance/run-keys'

const VERDICTS: Record<string, string> = {
  succeeded: 'charged',
  declined: 'declined',
  not_found: 'no such charge',
  pending: 'not decided yet',
}

const ERRORS: Record<string, string> = {
  not_found: 'The key is gone',
  nothing_to_ask: 'The provider was never called',
  not_expirable: 'Stays: it can’t expire now',
  not_runnable: 'Stays: it can’t be run again',
  not_dead_lettered: 'Stays: it is no dead letter',
  changed_since_loaded: 'Stays: it changed in the same moment',
}

const DONE: Record<string, string> = {
  expired: 'Expired',
  runAgain: 'Handed to a worker',
  resumed: 'Look-ups resumed',
}

export function outcomeWords(outcome: RunKey['outcome']): string {
  if (!outcome) return 'Not done yet'
  if ('error' in outcome) return ERRORS[outcome.error] ?? `Failed: ${outcome.error}`
  if (outcome.verdict === 'unreachable') return 'No answer'
  if (outcome.verdict === 'unfinished') return 'Nothing so far: the look-up is continued'
  const done = DONE[outcome.verdict]
  if (done) return done
  const said = VERDICTS[outcome.verdict] ?? outcome.verdict
  return outcome.settled ? `Settled: ${said}` : `The provider says: ${said}`
}
