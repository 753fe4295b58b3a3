// The one sentence about a key: what became of the money, as far as it is proven, and what follows. Nothing here says
// more than the record, the ledger and the evidence do.

import type { KeyDetail } from '../../../../../lib/console/key-detail'
import { bookingOf } from '../../../../../lib/console/key-story-evidence'
import { isLeftToPeople } from '../../../../../lib/reconciliation/left-to-people'
import { money, plural } from '../../../../_ui/words'

export function verdictOf(detail: KeyDetail): string {
  const { record } = detail
  switch (record.state) {
    case 'pending':
      return isPast(detail)
        ? 'Accepted, and nobody ran it in time. The sweeper stores a 408 for it.'
        : 'Accepted, and waiting for a worker. Nothing has been sent to the provider.'
    case 'in_progress':
      return inProgress(detail)
    case 'completed':
      return completed(detail)
    case 'failed_retryable':
      return retryable(detail)
    case 'unknown':
      return `${mayHave(detail)}. ${whatIsKnown(detail)}`
    case 'expired':
      return expired(detail)
  }
}

interface Deed {
  /** Charged, gave back. */
  did: string
  doing: string
  done: string
  noun: string
}

const DEEDS: Record<'order' | 'refund', Deed> = {
  order: { did: 'Charged', doing: 'charge', done: 'charged', noun: 'charge' },
  refund: { did: 'Gave back', doing: 'give back', done: 'given back', noun: 'refund' },
}

export const deedOf = ({ record }: Pick<KeyDetail, 'record'>): Deed =>
  DEEDS[record.endpoint.endsWith('/refunds') ? 'refund' : 'order']

/** What the key moves, or would have moved; null where nothing was ever made for it. */
export function amountOf({ record, order, refund }: Pick<KeyDetail, 'record' | 'order' | 'refund'>): string | null {
  if (!order) return null
  if (!record.endpoint.endsWith('/refunds')) return money(order.amountCents, order.currency)
  return refund && money(refund.amountCents, order.currency)
}

const withAmount = (words: string, detail: KeyDetail): string => {
  const amount = amountOf(detail)
  return amount ? `${words} ${amount}` : words
}

export const isPast = ({ record }: Pick<KeyDetail, 'record'>): boolean => Date.parse(record.expiresAt) <= Date.now()

const mayHave = (detail: KeyDetail): string => withAmount(`May have ${deedOf(detail).done}`, detail)

function inProgress(detail: KeyDetail): string {
  const { record } = detail
  const isOver = record.lockedUntil !== null && Date.parse(record.lockedUntil) <= Date.now()
  const deed = deedOf(detail)
  if (!isOver) return `Being worked on. ${withAmount(`It may ${deed.doing}`, detail)} at any moment.`
  if (detail.nextReplay.kind === 'runs') return `Its lease ran out before the provider was called. ${nothing(deed)}.`
  return `Its lease ran out. ${mayHave(detail)}: the sweeper or the next request moves it on.`
}

const nothing = ({ done }: Deed): string => `Nothing was ${done}`

const REFUSED: Record<number, string> = {
  404: 'Refused: there is no such order',
  409: 'Refused: the order can’t be refunded so',
}

function completed(detail: KeyDetail): string {
  const status = detail.record.response?.status ?? 0
  const end = isPast(detail) ? ' Its time is over: the next request gets 410.' : ''
  return `${outcome(detail, status)}${doubt(detail)}${end}`
}

function outcome(detail: KeyDetail, status: number): string {
  const deed = deedOf(detail)
  if (status >= 200 && status < 300) {
    if (isReversed(detail)) return `Answered ${status}, and its booking was reversed: no ${deed.noun} is booked for it.`
    const accepted = acceptedAmount(detail)
    if (accepted)
      return `${deed.did} ${accepted} instead of ${amountOf(detail)}, which a person accepted, and answered ${status}.${since(detail)}`
    const once = isDoubted(detail) ? '' : ' once'
    return `${withAmount(deed.did, detail)}${once}, and answered ${status}.${since(detail)}`
  }
  if (status === 402) return `Declined by the provider, and answered 402. ${nothing(deed)}.`
  if (status === 408) return `Abandoned: nobody ran it in time, and it answered 408. ${nothing(deed)}.`
  return `${REFUSED[status] ?? 'Refused'}, and answered ${status}. ${nothing(deed)}.`
}

const isReversed = ({ ledger }: KeyDetail): boolean =>
  ledger.some(({ own, reversedAt }) => own && reversedAt !== null) && !bookingOf(ledger)

/** What is booked, where that is not what was asked for. */
function acceptedAmount(detail: KeyDetail): string | null {
  const booking = bookingOf(detail.ledger)
  const booked = booking && money(booking.amountCents, booking.currency)
  return booked && booked !== amountOf(detail) ? booked : null
}

/** What became of the order afterwards. */
function since({ order, record }: KeyDetail): string {
  if (!order || order.refundedCents === 0 || record.endpoint.endsWith('/refunds')) return ''
  if (order.refundedCents >= order.amountCents) return ' All of it was given back since.'
  return ` ${money(order.refundedCents, order.currency)} of it was given back since.`
}

const isDoubted = ({ discrepancies }: KeyDetail): boolean => discrepancies.some(({ closedAt }) => closedAt === null)

/** The sentence itself says what was reversed or accepted. */
const doubt = (detail: KeyDetail): string =>
  isDoubted(detail) && !isReversed(detail) && !acceptedAmount(detail)
    ? ' The provider says otherwise: see Evidence.'
    : ''

function retryable(detail: KeyDetail): string {
  const { record } = detail
  const proven = `Proven: ${nothing(deedOf(detail)).toLowerCase()}.`
  if (hasEvidence(detail, 'succeeded'))
    return `Taken for not executed, yet the provider has a ${deedOf(detail).noun}. The next request settles it.`
  if (isPast(detail)) return `${proven} Its time is over: the next request gets 410.`
  if (!record.async) return `${proven} The next request with this key runs it.`
  return record.deadLetteredAt
    ? `${proven} No worker runs it again by itself any more: a person can have it run again, until it expires.`
    : `${proven} A worker runs it again.`
}

function whatIsKnown(detail: KeyDetail): string {
  const { record, timeline } = detail
  const { noun } = deedOf(detail)
  if (record.lastErrorCode === 'amount_differs')
    return `The provider reports a ${noun} that this key did not ask for: other money, or another order’s. Only a person decides.`
  if (record.lastErrorCode === 'restored_differs')
    return `Before the restore this key was sent with another request or for other money, and the provider has that. Only a person decides.`
  if (hasEvidence(detail, 'succeeded'))
    return detail.discrepancies.some(({ kind, closedAt }) => kind === 'unbookable_evidence' && closedAt === null)
      ? `The provider has a ${noun} that the ledger refuses: another key has booked it.`
      : `The provider has a ${noun}: the next look-up or request settles it.`
  if (record.deadLetteredAt)
    return isLeftToPeople(record.lastErrorCode)
      ? 'The provider has something else than was asked for: only a person ends it.'
      : `${plural(record.reconcileAttempts, 'look-up')} and no answer: a person resolves it, or resumes its look-ups.`
  if (hasEvidence(detail, 'declined')) return `One attempt was declined, which is no proof for the others.`
  const last = timeline.findLast(({ event }) => event === 'looked_up' || event === 'claimed')
  switch (last?.verdict) {
    case 'too_early':
      return 'The provider has nothing yet, which is no proof: the call may still arrive.'
    case 'unfinished':
      return 'The provider’s list is being read, with nothing found so far: the next look-up continues it.'
    case 'pending':
      return 'The provider has it and has not decided.'
    case 'unreachable':
      return 'The provider could not be asked so far.'
    default:
      return 'The provider has not been asked yet.'
  }
}

const hasEvidence = ({ evidence, record }: KeyDetail, verdict: string): boolean =>
  evidence.some(
    (one) => one.verdict === verdict && !one.differs && (verdict === 'succeeded' || one.attempt <= record.attempt),
  )

function expired(detail: KeyDetail): string {
  const status = detail.record.response?.status
  if (status === undefined) return `Proven: ${nothing(deedOf(detail)).toLowerCase()}. It has expired since.`
  return `${outcome(detail, status)}${doubt(detail)} It has expired since.`
}
