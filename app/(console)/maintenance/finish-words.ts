// The one sentence that says how a run ended, for the toast.
import { plural } from '../../_ui/words'
import type { Begun } from './actions'
import { DAEMON_WORDS } from './daemon-words'

export const dryRunWords = ({ kind, done }: Pick<Begun, 'kind' | 'done'>): string =>
  kind === 'ledger'
    ? `${plural(done, 'finding')} would be listed, none was.`
    : `${plural(done, 'key')} would be touched, none was.`

export function endWords({ kind, done, state }: Pick<Begun, 'kind' | 'done' | 'state'>): string {
  const many = DAEMON_WORDS[kind].many(done)
  return state === 'aborted' ? `It was stopped after ${many}.` : `${many}.`
}
