// The page's one sentence, and the line under it. Pure.
import type { StateMapView } from '../../../lib/console/state-map'
import type { State } from '../../../lib/idempotency/states'
import { duration, numberWord, stateCount } from '../../_ui/words'
import type { Checked } from './attention-words'
import { WINDOW_WORDS } from './window'

const KEYS: Record<State, string> = {
  pending: 'Accepted keys',
  in_progress: 'Keys in progress',
  completed: 'Completed keys',
  failed_retryable: 'Keys that failed',
  unknown: 'Unknown keys',
  expired: 'Tombstones',
}

export function verdictOf(map: StateMapView, { rows }: Checked): string {
  if (map.piling) {
    const { state } = map.piling
    const { usual, ...of } = map.states[state]
    return `${KEYS[state]} are piling up: ${stateCount(of)}, usually ${stateCount({ count: usual ?? 0, estimated: false })}.`
  }
  return rows[0]?.verdict ?? 'Nothing needs attention.'
}

export function restOf(map: StateMapView, { rows, quiet }: Checked, oldestUnknownSeconds: number): string {
  if (rows.length === 0) {
    const oldest =
      oldestUnknownSeconds > 0
        ? `The oldest unknown key is ${duration(oldestUnknownSeconds)} old.`
        : 'No outcome is unknown.'
    return `All ${numberWord(quiet.length).toLowerCase()} checks are quiet. ${oldest}`
  }
  const things = `${numberWord(rows.length)} ${rows.length === 1 ? 'thing needs' : 'things need'} attention.`
  const { lost, settled, released } = map.flows
  const share = lost / (lost + settled + released)
  return share > 0
    ? `${things} Of the attempts of the last ${WINDOW_WORDS[map.window]}, ${percentWord(share)} lost their outcome.`
    : things
}

const percentWord = (share: number): string =>
  share < 0.001 ? 'less than 0.1 %' : `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`
