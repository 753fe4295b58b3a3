// Which actions a key offers, and a sentence for each: what it does, or why it is off. The use cases refuse by
// themselves; this only says so before anybody asks.
import type { KeyDetail } from '../../../../../lib/console/key-detail'
import type { State } from '../../../../../lib/idempotency/states'
import { mayAct, type Role } from '../../../../../lib/operators/role'

export interface Offer {
  offered: boolean
  sentence: string
}

export interface Offers {
  ask: Offer
  resolve: Offer
  expire: Offer
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

export function offersOf({ record, evidence, request }: KeyDetail, role: Role): Offers {
  const { state } = record
  if (!mayAct(role, 'operator')) {
    const why = `this takes the role operator; yours is ${role}.`
    return { ask: off(why), resolve: off(why), expire: off(why), unmask: off(why), close: `Off: ${why}` }
  }
  const refused = state === 'completed' && record.resource === null
  const charged =
    state === 'failed_retryable' && evidence.some(({ verdict, differs }) => verdict === 'succeeded' && !differs)
  return {
    ask: refused ? off('the request was refused, so the provider was never called.') : ASKED[state],
    resolve: RESOLVED[state],
    expire: charged ? off('there is evidence of a charge. The next request settles it.') : EXPIRED[state],
    unmask: request ? on('Shows what is masked. Goes into the audit log.') : off('the request has been erased.'),
    close: null,
  }
}
