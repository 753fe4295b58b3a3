// What a gateway says, as the boundary wants it: with the money that was moved, so that it can be compared.
import type { CallVerdict, FoundByRef, LookUpVerdict, Shown } from '../idempotency/operation'
import type { CallOutcome, Effected, EffectKind, Gateway, LookUpOutcome } from '../payments/gateway'

export const shownBy = ({ effect, amountCents, currency, orderId }: Effected): Shown => ({
  effect,
  amountCents,
  currency,
  orderId,
})

export function called(outcome: CallOutcome): CallVerdict {
  switch (outcome.kind) {
    case 'succeeded':
      return { kind: 'succeeded', ref: outcome.providerRef, shown: shownBy(outcome) }
    case 'declined':
      return { kind: 'declined', ref: outcome.providerRef }
    case 'not_executed':
    case 'unclear':
      return outcome
  }
}

export function lookedUp(found: LookUpOutcome): LookUpVerdict {
  switch (found.kind) {
    case 'succeeded': {
      const { createdAt } = found
      return {
        kind: 'succeeded',
        ref: found.providerRef,
        shown: { ...shownBy(found), ...(createdAt && { createdAt }) },
      }
    }
    case 'declined':
      return { kind: 'declined', ref: found.providerRef }
    case 'not_found':
    case 'pending':
    case 'unreachable':
      return { kind: found.kind }
    case 'unfinished':
      return found
  }
}

export async function findByRef(gateway: Gateway, effect: EffectKind, ref: string): Promise<FoundByRef> {
  const entry = await gateway.findByRef(effect, ref)
  if (entry === 'unreachable') return { kind: 'unreachable' }
  if (!entry) return { kind: 'not_found' }
  const { providerKey, status, amountCents, currency, orderId, createdAt } = entry
  return { kind: 'found', providerKey, status, shown: { effect, amountCents, currency, orderId, createdAt } }
}

/** A record's own effect. The provider need not say for which order; where it does, it has to be this one. */
export interface OwnMoney {
  effect: EffectKind
  amountCents: number
  currency: string
  orderId: string
}

export const isOwn = (own: OwnMoney, shown: Shown): boolean =>
  shown.effect === own.effect &&
  shown.amountCents === own.amountCents &&
  shown.currency === own.currency &&
  (shown.orderId ?? own.orderId) === own.orderId

/** What is booked: a record's own money, unless a person accepted the provider's. */
export function bookedMoney(own: OwnMoney, shown: Shown | undefined): Pick<OwnMoney, 'amountCents' | 'currency'> {
  const { amountCents, currency } = shown ?? own
  return { amountCents, currency }
}
