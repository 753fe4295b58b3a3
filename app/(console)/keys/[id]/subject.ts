// What a decision is about, as the page showed it.
import type { KeyDetail } from '../../../../lib/console/key-detail'
import type { Moment } from '../../../../lib/console/key-story'
import type { Seen } from '../../../../lib/console/key-story-evidence'
import type { OperatorRecord } from '../../../../lib/console/record-view'
import type { State } from '../../../../lib/idempotency/states'
import { money } from '../../../_ui/words'
import { bookingOfVerdict } from './_words/offers'
import { amountOf, deedOf } from './_words/verdict'

export interface Subject {
  id: string
  key: string
  tenant: string
  amount: string | null
  /** Of the money that it moves: a charge, a refund. */
  noun: string
  state: State
  version: number
  /** The booking that a verdict made, where there is one to be reversed. */
  booking: { id: string; ref: string } | null
  settlesAt: OperatorRecord['settlesAt']
  attempt: number
  /** What the provider has, as far as it is known. */
  known: { ref: string; at: string; verdict: string } | null
  /** Where its money is other money: a sentence, and what a decision has to accept. */
  differs: string | null
  accept: { amountCents: number; currency: string; words: string } | null
  /** The status that a retry gets now; null where it is not known. */
  nextStatus: number | null
  /** The last thing that the page knew of. */
  seenUntil: string
}

export function subjectOf(
  detail: KeyDetail,
  moments: readonly Moment[],
  seen: Seen | null,
  differs: string | null,
): Subject {
  const { record, tenant, nextReplay } = detail
  const last = moments.at(-1)
  const booking = bookingOfVerdict(detail)
  return {
    id: record.id,
    key: record.key,
    tenant: tenant.name ?? tenant.id,
    amount: amountOf(detail),
    noun: deedOf(detail).noun,
    state: record.state,
    version: record.version,
    booking: booking ? { id: booking.id, ref: booking.providerRef } : null,
    settlesAt: record.settlesAt,
    attempt: record.attempt,
    known: seen?.ref ? { ref: seen.ref, at: seen.at, verdict: seen.verdict } : null,
    differs,
    accept: differs && seen?.object ? acceptable(seen.object) : null,
    nextStatus: nextReplay.status,
    seenUntil: last?.until ?? record.createdAt,
  }
}

const acceptable = ({ amountCents, currency }: { amountCents: number; currency: string }): Subject['accept'] => ({
  amountCents,
  currency,
  words: money(amountCents, currency),
})

export function differenceWords({ order, refund, record }: KeyDetail, seen: Seen | null): string | null {
  if (!seen?.object || !order) return null
  const ours = refund?.amountCents ?? order.amountCents
  const { amountCents: theirs, currency } = seen.object
  const took = refund ? 'gave back' : 'took'
  if (record.lastErrorCode === 'restored_differs')
    return `The provider ${took} ${money(theirs, currency)} for another request, which was sent with this key before the restore.`
  const named = seen.object.orderId
  if (currency === order.currency && theirs === ours)
    return named && named !== order.id ? `The provider’s object names another order: ${named}.` : null
  return `The provider ${took} ${money(theirs, currency)}, the ${refund ? 'refund' : 'order'} says ${money(ours, order.currency)}.`
}
