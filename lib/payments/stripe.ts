// The gateway to Stripe. A call is one request, sent at most once and with our stable key as Stripe's idempotency key;
// it ends within the time limit; and what it says of its outcome is never more than what Stripe documents.

import Stripe from 'stripe'
import type {
  CallOutcome,
  CreatedPage,
  CreatedWindow,
  EffectKind,
  EffectRequest,
  Gateway,
  LookUpOutcome,
  LookUpRequest,
  ProviderEntry,
} from './gateway'
import {
  callOutcome,
  DIGEST_FIELD,
  type Effect,
  errorCode,
  FINGERPRINT_FIELD,
  isMissing,
  KEY_FIELD,
  lookUpOutcome,
  ORDER_FIELD,
  outcomeOfError,
  providerEntry,
  providerKeyOf,
} from './stripe-outcome'
import { openAgent, openTransport } from './stripe-transport'
import { openTimeLimit } from './time-limit'

export { parseStripeEvent } from './stripe-event'

export interface StripeOptions {
  secretKey: string
  timeLimitMs: number
  /** Where the API is, if not at Stripe: for tests. */
  api?: { protocol: 'http' | 'https'; host: string; port: number }
}

// Between the clocks of our database and of Stripe. As much as webhooks are allowed: a clock that is further off is
// noticed there first. It costs a look-up ten more minutes of the account's intents.
const CLOCK_MARGIN_MS = 5 * 60_000

/** The most that Stripe gives at once. */
const PAGE_SIZE = 100

const STRIPE_API = { protocol: 'https', host: 'api.stripe.com', port: 443 } as const

export function createStripe({ secretKey, timeLimitMs, api = STRIPE_API }: StripeOptions): Gateway {
  const agent = openAgent(api.protocol)

  /** A client for one call: only so does the transport know the call's limit, over all of its requests. */
  async function limited<T>(call: (stripe: Stripe) => Promise<T>): Promise<T> {
    const limit = openTimeLimit(timeLimitMs)
    const transport = openTransport(agent, limit)
    const stripe = new Stripe(secretKey, {
      ...api,
      httpClient: transport,
      // A repeated request could be executed after our lease, when somebody else already acts on its absence.
      maxNetworkRetries: 0,
      telemetry: false,
    })
    const over = limit.over.then((): never => {
      throw transport.abandon()
    })
    try {
      return await Promise.race([call(stripe), over])
    } finally {
      limit.close()
    }
  }

  async function execute(request: EffectRequest): Promise<CallOutcome> {
    const options = { idempotencyKey: request.providerKey }
    const send = request.kind === 'charge' ? chargeWith(chargeParams(request)) : refundWith(refundParams(request))
    try {
      return callOutcome(request.kind, await limited((stripe) => send(stripe, options)))
    } catch (error) {
      return outcomeOfError(request.kind, error)
    }
  }

  /** Reads pages for as long as the time limit allows. Lists are current; Search is minutes behind, so its silence would prove nothing. */
  async function lookUp(request: LookUpRequest): Promise<LookUpOutcome> {
    const { kind, providerKey } = request
    const filter = {
      created: createdBetween(request),
      ...(kind === 'refund' && { payment_intent: chargeRefOf(request) }),
    }
    const reading = resumed(request)
    let pages = 0
    try {
      return await limited(async (stripe) => {
        for (;;) {
          const { effects, next } = await pageOf(stripe, kind, filter, reading.after)
          const best = bestOf(effects, providerKey, reading.best)
          if (next === null || best?.kind === 'succeeded') return best ?? { kind: 'not_found' }
          Object.assign(reading, { best, after: next })
          pages += 1
        }
      })
    } catch (error) {
      // Whatever ended it, the pages before need not be read again.
      if (pages > 0) return { kind: 'unfinished', progress: JSON.stringify(reading) }
      return { kind: 'unreachable', code: errorCode(error) }
    }
  }

  /** All payment intents first, then all refunds. A cursor says of which kind it is, and after which object it goes on. */
  async function listCreated(window: CreatedWindow, cursor: string | null): Promise<CreatedPage> {
    const { kind, after } = placeAt(cursor)
    const created = { gte: secondsFrom(window.from), lt: secondsFrom(window.to) }
    const { effects, next } = await limited((stripe) => pageOf(stripe, kind, { created }, after)).catch(
      (cause: unknown) => {
        throw new Error(`Stripe could not be listed: ${errorCode(cause)}`, { cause })
      },
    )
    const place = next !== null ? `${kind} ${next}` : kind === 'charge' ? 'refund' : null
    return { items: effects.map((effect) => providerEntry(kind, effect)), next: place }
  }

  async function findByRef(kind: EffectKind, ref: string): Promise<ProviderEntry | null | 'unreachable'> {
    try {
      const retrieve = (stripe: Stripe): Promise<Effect> =>
        kind === 'charge' ? stripe.paymentIntents.retrieve(ref) : stripe.refunds.retrieve(ref)
      return providerEntry(kind, await limited(retrieve))
    } catch (error) {
      return isMissing(error) ? null : 'unreachable'
    }
  }

  return { name: 'stripe', timeLimitMs, execute, lookUp, findByRef, listCreated }
}

type Options = Pick<Stripe.RequestOptions, 'idempotencyKey'>

const chargeWith = (params: Stripe.PaymentIntentCreateParams) => (stripe: Stripe, options: Options) =>
  stripe.paymentIntents.create(params, options) as Promise<Effect>

const refundWith = (params: Stripe.RefundCreateParams) => (stripe: Stripe, options: Options) =>
  stripe.refunds.create(params, options) as Promise<Effect>

/** From the request alone: under one idempotency key Stripe wants the same parameters on every attempt. */
function chargeParams(request: EffectRequest): Stripe.PaymentIntentCreateParams {
  return {
    amount: request.amountCents,
    currency: request.currency.toLowerCase(),
    payment_method: request.paymentMethod,
    confirm: true,
    // Nobody is sent anywhere by an answer of ours, so a method that redirects could never be paid with. Not
    // `off_session`: that would claim an absent customer and a mandate, and orders come from a checkout.
    automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
    // Nor does anyone authenticate: better declined now than an intent that waits for ever.
    error_on_requires_action: true,
    metadata: metadataOf(request),
  }
}

function refundParams(request: EffectRequest): Stripe.RefundCreateParams {
  return { payment_intent: chargeRefOf(request), amount: request.amountCents, metadata: metadataOf(request) }
}

function metadataOf(request: EffectRequest): Stripe.MetadataParam {
  return {
    [KEY_FIELD]: request.providerKey,
    [ORDER_FIELD]: request.orderId,
    [DIGEST_FIELD]: request.keyDigest,
    [FINGERPRINT_FIELD]: request.fingerprint,
    onceover_customer: request.customerId,
  }
}

function chargeRefOf({ chargeRef }: { chargeRef?: string }): string {
  if (!chargeRef) throw new Error('a refund without the charge that it gives back')
  return chargeRef
}

/** One request: what was created last comes first. `next` is the object after which the list goes on. */
async function pageOf(
  stripe: Stripe,
  kind: EffectKind,
  filter: { created: Stripe.RangeQueryParam; payment_intent?: string },
  after: string | undefined,
): Promise<{ effects: Effect[]; next: string | null }> {
  const params = { ...filter, limit: PAGE_SIZE, starting_after: after }
  const { data, has_more } = await (kind === 'charge'
    ? stripe.paymentIntents.list(params)
    : stripe.refunds.list(params))
  const last = data.at(-1)
  if (has_more && !last) throw new Error('a page that is empty and not the last')
  return { effects: data, next: has_more && last ? last.id : null }
}

/** The place that a cursor of `listCreated` names. */
function placeAt(cursor: string | null): { kind: EffectKind; after: string | undefined } {
  const [kind, after] = cursor?.split(' ', 2) ?? []
  return { kind: kind === 'refund' ? 'refund' : 'charge', after }
}

const createdBetween = ({ reservedAt, until }: LookUpRequest): { gte: number; lte: number } => ({
  gte: Math.floor((reservedAt.getTime() - CLOCK_MARGIN_MS) / 1000),
  lte: Math.ceil((until.getTime() + CLOCK_MARGIN_MS) / 1000),
})

/** How far a look-up has read its list: Stripe has the newest first, and `after` is the last object that was read. */
interface Reading {
  /** The bounds that it belongs to, as they were asked for. */
  bounds: string
  after?: string
  best?: Found
}
type Found = ReturnType<typeof lookUpOutcome>

/** From the beginning, unless the progress is of the very same bounds. A new object is put before those that were read. */
function resumed({ reservedAt, until, progress }: LookUpRequest): Reading {
  const bounds = `${reservedAt.toISOString()} ${until.toISOString()}`
  const reading: Reading | null = progress ? JSON.parse(progress) : null
  return reading?.bounds === bounds ? reading : { bounds }
}

/** A key may have several: Stripe forgets keys after a day. One that succeeded is the answer, one that still may is next. */
function bestOf(effects: readonly Effect[], providerKey: string, best: Found | undefined): Found | undefined {
  for (const effect of effects) {
    if (providerKeyOf(effect) !== providerKey) continue
    const found = lookUpOutcome(effect)
    if (found.kind === 'succeeded') return found
    if (best?.kind !== 'pending') best = found
  }
  return best
}

/** Stripe counts whole seconds. Both ends of a window are rounded up, so that windows in a row share nothing and miss nothing. */
const secondsFrom = (at: Date): number => Math.ceil(at.getTime() / 1000)
