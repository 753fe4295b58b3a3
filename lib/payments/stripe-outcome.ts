// What an answer of Stripe proves. Pure. "Declined" and "not executed" need Stripe's own word that no money moved;
// everything else, also what is not understood, stays unclear, and the look-up decides. The table with its sources is
// docs/decisions/0008-stripe-outcomes.md.

import Stripe from 'stripe'
import type { CallOutcome, Effected, EffectKind, LookUpOutcome, ProviderEntry } from './gateway'
import { NoAnswer } from './stripe-transport'

/** Where our key is on Stripe's objects: look-ups, lists and webhooks know ours by it. */
export const KEY_FIELD = 'onceover_key'
export const ORDER_FIELD = 'onceover_order'
export const DIGEST_FIELD = 'onceover_digest'
export const FINGERPRINT_FIELD = 'onceover_fingerprint'

/** A charge or a refund, as far as we look into it. */
export type Effect = Stripe.PaymentIntent | Stripe.Refund
type EffectState = 'succeeded' | 'declined' | 'pending'

export function providerKeyOf(effect: { metadata?: Stripe.Metadata | null }): string | null {
  return effect.metadata?.[KEY_FIELD] || null
}

export function stateOf(effect: Effect): EffectState {
  switch (effect.status) {
    case 'succeeded':
      return 'succeeded'
    case 'canceled':
    case 'failed':
      return 'declined'
    case 'requires_payment_method':
      // Without an error nobody has tried to pay with it yet.
      return 'last_payment_error' in effect && effect.last_payment_error ? 'declined' : 'pending'
    default:
      return 'pending'
  }
}

const PENDING: CallOutcome = { kind: 'unclear', code: 'provider_pending' }

export function callOutcome(kind: EffectKind, effect: Effect): CallOutcome {
  if (effect.object !== (kind === 'charge' ? 'payment_intent' : 'refund') || !effect.id)
    return { kind: 'unclear', code: 'unexpected_answer' }
  const state = stateOf(effect)
  if (state === 'pending') return PENDING
  return state === 'succeeded' ? { kind: state, ...effected(effect) } : { kind: state, providerRef: effect.id }
}

export function lookUpOutcome(effect: Effect): Exclude<LookUpOutcome, { kind: 'not_found' | 'unreachable' }> {
  const state = stateOf(effect)
  return state === 'succeeded'
    ? { kind: state, ...effected(effect), createdAt: createdAt(effect) }
    : { kind: state, providerRef: effect.id }
}

export function providerEntry(kind: EffectKind, effect: Effect): ProviderEntry {
  const state = stateOf(effect)
  return {
    ref: effect.id,
    providerKey: providerKeyOf(effect),
    kind,
    status: state === 'declined' ? 'failed' : state,
    ...moneyOf(effect),
    orderId: effect.metadata?.[ORDER_FIELD] || null,
    keyDigest: effect.metadata?.[DIGEST_FIELD] || null,
    fingerprint: effect.metadata?.[FINGERPRINT_FIELD] || null,
    createdAt: createdAt(effect),
  }
}

export const effected = (effect: Effect): Effected => ({
  providerRef: effect.id,
  effect: effect.object === 'refund' ? 'refund' : 'charge',
  ...moneyOf(effect),
  orderId: effect.metadata?.[ORDER_FIELD] || null,
})

const createdAt = (effect: Effect): Date => new Date(effect.created * 1000)

/** What was taken, where something was, and not what was asked for. */
function moneyOf(effect: Effect): { amountCents: number; currency: string } {
  const received = effect.object === 'payment_intent' && effect.status === 'succeeded'
  return {
    amountCents: (received ? effect.amount_received : undefined) ?? effect.amount,
    currency: effect.currency.toUpperCase(),
  }
}

export function outcomeOfError(kind: EffectKind, error: unknown): CallOutcome {
  const silence = noAnswerIn(error)
  if (silence) return { kind: silence.sent ? 'unclear' : 'not_executed', code: silence.reason }
  const unclear: CallOutcome = { kind: 'unclear', code: errorCode(error) }
  // Without its request id it is not Stripe that answered but something between us, which proves nothing.
  if (!(error instanceof Stripe.errors.StripeError) || !error.requestId || error.rawType === 'api_error') return unclear
  switch (error.statusCode) {
    case 401:
    case 403:
      return { kind: 'not_executed', code: 'provider_rejected' }
    case 400:
    case 404:
      if (error.code === 'rate_limit') return { kind: 'not_executed', code: 'rate_limited' }
      if (error.rawType === 'idempotency_error' || error.code === 'lock_timeout') return unclear
      return refused(kind, error, error.requestId)
    case 402:
      return refused(kind, error, error.requestId)
    case 429:
      return limitedBeforeExecution(error) ? { kind: 'not_executed', code: 'rate_limited' } : unclear
    default:
      return unclear
  }
}

/**
 * Named by the payment intent that failed. Where the request itself was refused there is none: then by the request's
 * id, which is what Stripe's own log has it under. A refund's error may carry the intent of its charge, which is paid
 * and says nothing of the refund.
 */
function refused(kind: EffectKind, error: Stripe.errors.StripeError, requestId: string): CallOutcome {
  const intent = kind === 'charge' ? error.payment_intent : undefined
  if (!intent) return { kind: 'declined', providerRef: requestId }
  const ended = intent.status === 'requires_payment_method' || intent.status === 'canceled'
  return ended && intent.id ? { kind: 'declined', providerRef: intent.id } : PENDING
}

/** Limiters run before anything is executed. A lock on an object has the same status and is waited for after that. */
function limitedBeforeExecution(error: Stripe.errors.StripeError): boolean {
  return error.code === 'rate_limit' || /^(global|endpoint)-/.test(error.headers?.['stripe-rate-limited-reason'] ?? '')
}

function noAnswerIn(error: unknown): NoAnswer | null {
  if (error instanceof NoAnswer) return error
  // The SDK wraps what the transport throws.
  const detail = error instanceof Stripe.errors.StripeConnectionError ? error.detail : null
  return detail instanceof NoAnswer ? detail : null
}

/** Stripe's own word that it has no such object. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeError && Boolean(error.requestId) && error.code === 'resource_missing'

/** One word for logs, timelines and the reason of an unreachable provider. */
export function errorCode(error: unknown): string {
  const silence = noAnswerIn(error)
  if (silence) return silence.reason
  if (!(error instanceof Stripe.errors.StripeError) || error.statusCode === undefined) return 'unexpected_answer'
  const { statusCode, rawType, code } = error
  if (statusCode >= 500) return 'server_error'
  if (rawType === 'api_error') return 'unexpected_answer'
  if (statusCode === 401 || statusCode === 403) return 'provider_rejected'
  if (statusCode === 409) return code ?? 'conflict'
  if (rawType === 'idempotency_error') return 'idempotency_error'
  if (statusCode === 429) return code === 'lock_timeout' ? code : 'rate_limited'
  return code ?? 'invalid_request'
}
