// Stripe's webhooks. An event counts only with a good signature, and speaks only of an effect that carries our key and
// is decided.

import Stripe from 'stripe'
import type { ProviderEvent } from './gateway'
import { effected, providerKeyOf, stateOf } from './stripe-outcome'
import { verifySignature } from './webhook-signature'

const TOLERANCE_SECONDS = 300

/** `event` is null for what is genuine and none of ours. */
export type ParsedEvent = { ok: false } | { ok: true; event: ProviderEvent | null }

export function parseStripeEvent(
  rawBody: string,
  signatureHeader: string | null,
  secret: string,
  nowMs: number = Date.now(),
): ParsedEvent {
  // The SDK looks at age only: a signature from the future would be good for as long as its date is away.
  if (signatureHeader === null || !verifySignature(rawBody, signatureHeader, secret, TOLERANCE_SECONDS, nowMs))
    return { ok: false }
  try {
    const args = [rawBody, signatureHeader, secret, TOLERANCE_SECONDS, undefined, nowMs] as const
    return { ok: true, event: providerEvent(Stripe.webhooks.constructEvent(...args)) }
  } catch {
    // Signed but not an event of API v1: an endpoint set up wrongly, which Stripe shows as failing.
    return { ok: false }
  }
}

function providerEvent(event: Stripe.Event): ProviderEvent | null {
  switch (event.type) {
    case 'payment_intent.succeeded':
      return told(event.id, event.data.object, 'succeeded')
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
      return told(event.id, event.data.object, 'declined')
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.refund.updated': {
      const state = stateOf(event.data.object)
      return state === 'pending' ? null : told(event.id, event.data.object, state)
    }
    // Not `charge.refunded`: its object is the charge, with the key of the charge and without the refund.
    default:
      return null
  }
}

function told(
  id: string,
  effect: Stripe.PaymentIntent | Stripe.Refund,
  kind: ProviderEvent['outcome']['kind'],
): ProviderEvent | null {
  const providerKey = providerKeyOf(effect)
  if (!providerKey) return null
  return { id, providerKey, outcome: { kind, ...effected(effect) } }
}
