import { describe, expect, it } from 'vitest'
import { parseStripeEvent } from '../../lib/payments/stripe'
import { signPayload } from '../../lib/payments/webhook-signature'
import { paymentIntent, refund } from '../support/stripe-server'

const SECRET = 'whsec_test'
const NOW_MS = 1_800_000_000_400
const NOW = Math.floor(NOW_MS / 1000)
const OURS = { metadata: { onceover_key: 'oo_1' } }

const eventOf = (type: string, object: object) =>
  JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object }, livemode: false })

const parse = (body: string, header: string | null = signPayload(body, SECRET, NOW)) =>
  parseStripeEvent(body, header, SECRET, NOW_MS)

describe('a Stripe event', () => {
  const told = (kind: string, providerRef: string) => ({
    id: 'evt_1',
    providerKey: 'oo_1',
    outcome: {
      kind,
      providerRef,
      ...(providerRef.startsWith('re_')
        ? { effect: 'refund', amountCents: 700 }
        : { effect: 'charge', amountCents: 2500 }),
      currency: 'EUR',
      orderId: null,
    },
  })
  const status = (state: string) => refund({ status: state, ...OURS })

  it.each([
    ['payment_intent.succeeded', paymentIntent(OURS), told('succeeded', 'pi_1')],
    ['payment_intent.payment_failed', paymentIntent(OURS), told('declined', 'pi_1')],
    ['payment_intent.canceled', paymentIntent(OURS), told('declined', 'pi_1')],
    ['refund.created', status('succeeded'), told('succeeded', 're_1')],
    ['refund.created', status('pending'), null],
    ['refund.updated', status('succeeded'), told('succeeded', 're_1')],
    ['refund.updated', status('requires_action'), null],
    ['refund.updated', status('canceled'), told('declined', 're_1')],
    ['refund.failed', status('failed'), told('declined', 're_1')],
    ['charge.refund.updated', status('failed'), told('declined', 're_1')],
    ['payment_intent.processing', paymentIntent(OURS), null],
    ['payment_intent.succeeded', paymentIntent(), null],
    ['payment_intent.succeeded', { ...paymentIntent(), metadata: null }, null],
    ['refund.created', refund(), null],
    ['customer.created', { id: 'cus_1', object: 'customer', ...OURS }, null],
  ])('of type %s gives the outcome of our charge or refund, or none', (type, object, event) => {
    expect(parse(eventOf(type, object))).toEqual({ ok: true, event })
  })

  it('of type charge.refunded gives no outcome: its object is the charge, with the charge’s key', () => {
    const charge = { id: 'ch_1', object: 'charge', status: 'succeeded', refunded: true, ...OURS }
    expect(parse(eventOf('charge.refunded', charge))).toEqual({ ok: true, event: null })
  })
})

describe('the body of a Stripe webhook', () => {
  const body = eventOf('payment_intent.succeeded', paymentIntent(OURS))

  it.each([
    ['none', null],
    ['an empty one', ''],
    ['garbage', 'garbage'],
    ['that of another secret', signPayload(body, 'whsec_other', NOW)],
    ['that of another body', signPayload(`${body} `, SECRET, NOW)],
    ['an old one', signPayload(body, SECRET, NOW - 301)],
    ['one from the future, which the SDK would take', signPayload(body, SECRET, NOW + 301)],
  ])('is refused with this signature: %s', (_, header) => {
    expect(parse(body, header)).toEqual({ ok: false })
  })

  it.each([['not JSON'], ['null'], ['{"object":"v2.core.event","id":"evt_1"}']])('is refused: signed %s', (strange) => {
    expect(parse(strange)).toEqual({ ok: false })
  })

  it('is checked against the machine’s clock when no time is given', () => {
    const header = signPayload(body, SECRET, Math.floor(Date.now() / 1000))
    expect(parseStripeEvent(body, header, SECRET)).toMatchObject({ ok: true })
    expect(parseStripeEvent(body, signPayload(body, SECRET, 1_700_000_000), SECRET)).toEqual({ ok: false })
  })
})
