// Which actions a key offers, and a sentence for each: what it does, or why it is off. The use cases refuse by
// themselves; this only says so before anybody asks.
import type { KeyDetail } from '../../../../../lib/console/key-detail'
import { bookingOf } from '../../../../../lib/console/key-story-evidence'
import type { State } from '../../../../../lib/idempotency/states'
import { mayAct, type Role } from '../../../../../lib/operators/role'
import { isPast } from './verdict'

export interface Offer {
  offered: boolean
  sentence: string
}

export interface Offers {
  ask: Offer
  resolve: Offer
  runAgain: Offer
  resume: Offer
  expire: Offer
  /** Null where no booking of a verdict is there to be reversed. */
  reverse: Offer | null
  unmask: Offer
  /** Why discrepancies can't be closed by this reader; null where they can. */
  close: string | null
}

const on = (sentence: string): Offer => ({ offered: true, sentence })
const off = (sentence: string): Offer => ({ offered: false, sentence: `Off: ${sentence}` })

const ASKED: Record<State, Offer> = {
  pending: off('nobody has called the provider yet.'),
  in_progress: on('Looks it up now. Its owner is at work, so nothing changes.'),
  completed: on('Looks it up now. The outcome is known, so nothing changes.'),
  failed_retryable: on('Looks it up now. The outcome is known, so nothing changes.'),
  unknown: on('Looks it up now. Settles the key only if the answer is proof.'),
  expired: off('its request is erased, so there is nothing to ask by.'),
}

const RESOLVED: Record<State, Offer> = {
  pending: off('nothing has been tried yet.'),
  in_progress: off('its owner is still at work.'),
  completed: off('the outcome is known.'),
  failed_retryable: off('it is proven that nothing was executed.'),
  unknown: on('You say what happened, and why. The provider is asked once more.'),
  expired: off('the outcome is known.'),
}

const EXPIRED: Record<State, Offer> = {
  pending: off('a worker is about to take it up.'),
  in_progress: off('its owner is still at work.'),
  completed: on('Ends it before its time. The client’s next try gets 410.'),
  failed_retryable: on('Ends it before its time. The client’s next try gets 410.'),
  unknown: off('the customer may have been charged. Resolve it first.'),
  expired: off('it has expired already.'),
}

const RUN_AGAIN: Record<State, Offer> = {
  pending: off('a worker is about to take it up.'),
  in_progress: off('its owner is still at work.'),
  completed: off('the outcome is known.'),
  failed_retryable: on('Hands it to a worker at once.'),
  unknown: off('it may have been executed. Find that out first.'),
  expired: off('its request is erased.'),
}

function runAgainOf({ record }: KeyDetail, charged: boolean): Offer {
  if (record.state !== 'failed_retryable') return RUN_AGAIN[record.state]
  if (!record.async) return off('the request is synchronous: its client runs it again by sending it again.')
  if (charged) return CHARGED
  if (isPast({ record })) return off('its time is over: it is about to expire.')
  return RUN_AGAIN.failed_retryable
}

function resumeOf({ state, deadLetteredAt }: KeyDetail['record']): Offer {
  if (state !== 'unknown') return off('only a key whose outcome is unknown is looked up by schedule.')
  if (!deadLetteredAt) return off('it is looked up by schedule already.')
  return on('Looks it up by schedule again, from the first interval.')
}

/** The key's own booking, where it counts and a person's verdict made it. */
export function bookingOfVerdict({ ledger, evidence }: KeyDetail) {
  const booking = bookingOf(ledger)
  const sources = evidence.filter(({ ref }) => ref === booking?.providerRef).map(({ source }) => source)
  return sources.length > 0 && sources.every((source) => source === 'operator') ? booking : undefined
}

function reverseOf(detail: KeyDetail, role: Role): Offer | null {
  if (!bookingOfVerdict(detail)) return null
  return mayAct(role, 'admin')
    ? on('Takes back the booking that a verdict made, such as one with another key’s reference.')
    : off(`this takes the role admin; yours is ${role}.`)
}

const CHARGED = off('there is evidence of a charge. The next request settles it.')

export function offersOf(detail: KeyDetail, role: Role): Offers {
  const { record, evidence, request } = detail
  const { state } = record
  if (!mayAct(role, 'operator')) {
    const why = `this takes the role operator; yours is ${role}.`
    return {
      ask: off(why),
      resolve: off(why),
      runAgain: off(why),
      resume: off(why),
      expire: off(why),
      reverse: reverseOf(detail, role),
      unmask: off(why),
      close: `Off: ${why}`,
    }
  }
  const refused = state === 'completed' && record.resource === null
  const charged =
    state === 'failed_retryable' && evidence.some(({ verdict, differs }) => verdict === 'succeeded' && !differs)
  return {
    ask: refused ? off('the request was refused, so the provider was never called.') : ASKED[state],
    resolve: RESOLVED[state],
    runAgain: runAgainOf(detail, charged),
    resume: resumeOf(record),
    expire: charged ? CHARGED : EXPIRED[state],
    reverse: reverseOf(detail, role),
    unmask: request ? on('Shows what is masked. Goes into the audit log.') : off('the request has been erased.'),
    close: null,
  }
}
