// What does not fit together, in words: what each side has, and what that means. Details are as whoever found it wrote
// them down, so nothing is taken for granted.
import type { Discrepancy } from '../../../../lib/console/discrepancies'
import { money } from '../../../_ui/words'

export interface DiscrepancyWords {
  title: string
  sentence: string
  /** Null where that side has nothing. */
  ours: string | null
  provider: string | null
  /** The provider's reference. */
  ref: string | null
}

type Detail = Record<string, unknown>

export function discrepancyWords({
  kind,
  detail,
  subject,
}: Pick<Discrepancy, 'kind' | 'detail' | 'subject'>): DiscrepancyWords {
  const provider = side(detail.provider)
  const ledger = side(detail.ledger)
  const noun = (provider.kind ?? ledger.kind) === 'refund' ? 'refund' : 'charge'
  const sides = { ours: ledger.amount, provider: provider.amount, ref: provider.ref ?? ledger.ref ?? subject }
  switch (kind) {
    case 'charge_without_order':
      return {
        ...sides,
        title: 'Money moved without an order',
        sentence: `The provider has a ${noun} that we never booked.`,
      }
    case 'paid_without_charge':
      if (detail.reversed)
        return {
          ...sides,
          title: 'Answered as paid, and reversed',
          sentence: `The booking of a ${noun} was reversed. The stored answer and the order still report it.`,
        }
      return {
        ...sides,
        title: 'Booked, and not at the provider',
        sentence: `We booked a ${noun} that the provider does not have.`,
      }
    case 'amount_differs':
      if (detail.source)
        return {
          ...sides,
          title: 'Other money than was asked for',
          sentence: `${sourceWord(detail)} says that the provider ${noun === 'refund' ? 'gave back' : 'took'} ${sides.provider ?? 'money'}${orderOf(detail)}. The key asked for something else.`,
        }
      return {
        ...sides,
        title: 'The amounts differ',
        sentence: `The provider ${noun === 'refund' ? 'gave back' : 'took'} ${sides.provider ?? 'another amount'}, we booked ${sides.ours ?? 'another one'}.`,
      }
    case 'restored_differs':
      return {
        ...sides,
        title: 'Another request before the restore',
        sentence: `Since the backup the provider has a ${noun} of ${sides.provider ?? 'some money'} for this key. The key stands for another request now.`,
      }
    case 'currency_differs':
      return {
        ...sides,
        title: 'The currencies differ',
        sentence: `The provider has ${sides.provider ?? 'another currency'}, we booked ${sides.ours ?? 'another one'}.`,
      }
    case 'duplicate_charge': {
      const booked = text(detail.bookedRef)
      const beside = booked ? ` Booked is ${booked}.` : ''
      return {
        ...sides,
        title: `More than one ${noun}`,
        sentence: `The provider has a further ${noun} of the same key.${beside}`,
      }
    }
    case 'contradicting_evidence':
      return contradicting(detail, subject)
    case 'unbookable_evidence':
      return {
        ours: null,
        provider: verdictWord(detail),
        ref: text(detail.ref) ?? subject,
        title: 'Can’t be booked',
        sentence: `${sourceWord(detail)} says ${verdictWord(detail)}, and the ledger refuses it: another key has booked it, or the order has no room for it.`,
      }
    case 'refund_exceeds_order':
      return {
        ours: null,
        provider: 'refunded',
        ref: text(detail.ref),
        title: 'More was given back than the order has',
        sentence: `A refund of order ${text(detail.orderId) ?? subject} went through after its hold had been given to another one.`,
      }
    default:
      return { ...sides, title: kind.replaceAll('_', ' '), sentence: `About ${subject}.` }
  }
}

function contradicting(detail: Detail, subject: string): DiscrepancyWords {
  const status = typeof detail.responseStatus === 'number' ? detail.responseStatus : null
  const booked = text(detail.effectRef)
  const ours = status === null ? null : `answered ${status}${booked ? `, ${booked}` : ''}`
  const known = ours ? `the key was ${ours}` : detail.state ? `the key is ${String(detail.state)}` : 'its key is gone'
  return {
    ours,
    provider: verdictWord(detail),
    ref: text(detail.ref) ?? subject,
    title: 'Evidence against a final answer',
    sentence: `${sourceWord(detail)} says ${verdictWord(detail)}, and ${known}.`,
  }
}

const orderOf = ({ provider }: Detail): string => {
  const order = text((provider as Detail | null)?.orderId)
  return order ? ` for order ${order}` : ''
}

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const SOURCES: Record<string, string> = {
  owner: 'The owner’s call',
  webhook: 'A webhook',
  look_up: 'A look-up',
  late_owner: 'A late owner',
  operator: 'An operator',
}
const sourceWord = ({ source }: Detail): string => SOURCES[String(source)] ?? 'Evidence'

const verdictWord = ({ verdict }: Detail): string => (verdict === 'succeeded' ? 'charged' : 'declined')

function side(value: unknown): { amount: string | null; kind: string | null; ref: string | null } {
  const { amountCents, currency, kind, effect, ref } = (value ?? {}) as Detail
  const known = typeof amountCents === 'number' && typeof currency === 'string'
  return { amount: known ? money(amountCents, currency) : null, kind: text(kind ?? effect), ref: text(ref) }
}
