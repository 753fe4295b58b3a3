// What the provider said of one key of a bulk run.
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
}

export function outcomeWords(outcome: RunKey['outcome']): string {
  if (!outcome) return 'Not asked yet'
  if ('error' in outcome) return ERRORS[outcome.error] ?? `Failed: ${outcome.error}`
  if (outcome.verdict === 'unreachable') return 'No answer'
  const said = VERDICTS[outcome.verdict] ?? outcome.verdict
  return outcome.settled ? `Settled: ${said}` : `The provider says: ${said}`
}
