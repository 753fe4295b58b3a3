import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CreatedPage, everythingCreated, type LookUpRequest, type ProviderEntry } from '../../lib/payments/gateway'
import { createStripe } from '../../lib/payments/stripe'
import {
  answered,
  apiError,
  listOf,
  paymentIntent,
  type Reply,
  refund,
  type StripeObject,
  type StripeServer,
  seconds,
  startStripe,
} from '../support/stripe-server'

let stripe: StripeServer
beforeEach(async () => {
  stripe = await startStripe()
})
afterEach(() => stripe.close())

const gateway = (timeLimitMs = 5_000) => createStripe({ secretKey: 'sk_test_1', timeLimitMs, api: stripe.api })

const KEY = 'oo_01HZX'
const OURS = { metadata: { onceover_key: KEY } }
const charge = (fields: Partial<LookUpRequest> = {}): LookUpRequest => ({
  kind: 'charge',
  providerKey: KEY,
  reservedAt: new Date(),
  until: new Date(),
  paymentMethod: 'pm_card_visa',
  ...fields,
})
const refundOf = (chargeRef?: string) => charge({ kind: 'refund', chargeRef })

const others = (count: number, fields: Partial<StripeObject> = {}) =>
  Array.from({ length: count }, (_, n) =>
    paymentIntent({ id: `pi_other_${n}`, metadata: { onceover_key: `other_${n}` }, ...fields }),
  )
const FAILED = { status: 'requires_payment_method', last_payment_error: { code: 'card_declined' } }

describe('the Stripe lookup of a charge', () => {
  it('finds the payment intent that carries our key, with the amount received', async () => {
    const intent = paymentIntent({ id: 'pi_us', amount: 2500, amount_received: 2400, ...OURS })
    stripe.reply(listOf([...others(3), intent, paymentIntent({ id: 'pi_foreign' })]))
    expect(await gateway().lookUp(charge())).toEqual({
      kind: 'succeeded',
      providerRef: 'pi_us',
      effect: 'charge',
      amountCents: 2400,
      currency: 'EUR',
      orderId: null,
      createdAt: new Date(intent.created * 1000),
    })
  })

  it('uses the list endpoint, never the search', async () => {
    stripe.reply(listOf([]))
    await gateway().lookUp(charge())
    expect(stripe.seen).toMatchObject([{ method: 'GET', path: '/v1/payment_intents' }])
  })

  it('returns not_found only after it has read the last page', async () => {
    stripe.reply(listOf(others(150)))
    expect(await gateway().lookUp(charge())).toEqual({ kind: 'not_found' })
    expect(stripe.seen).toHaveLength(2)
    expect(stripe.seen[1]?.params.get('starting_after')).toBe('pi_other_99')
  })

  it('finds the intent on the second page', async () => {
    const oldest = paymentIntent({ id: 'pi_us', created: seconds(-60), ...OURS })
    stripe.reply(listOf([...others(120), oldest]))
    expect(await gateway().lookUp(charge())).toMatchObject({ kind: 'succeeded', providerRef: 'pi_us' })
    expect(stripe.seen).toHaveLength(2)
  })

  it('includes intents up to five minutes older than the reservation, because clocks differ', async () => {
    const reservedAt = new Date()
    stripe.reply(listOf([paymentIntent({ created: seconds(-240), ...OURS })]))
    expect(await gateway().lookUp(charge({ reservedAt }))).toMatchObject({ kind: 'succeeded' })
    const from = Number(stripe.seen[0]?.params.get('created[gte]'))
    expect(from).toBe(Math.floor(reservedAt.getTime() / 1000) - 300)
  })

  it.each([
    ['processing', {}, 'pending'],
    ['requires_action', {}, 'pending'],
    ['requires_capture', {}, 'pending'],
    ['requires_confirmation', {}, 'pending'],
    ['requires_payment_method', {}, 'pending'],
    ['requires_payment_method', FAILED, 'declined'],
    ['canceled', {}, 'declined'],
  ])('maps the intent status %s %j to %s', async (status, fields, kind) => {
    stripe.reply(listOf([paymentIntent({ status, ...OURS, ...fields })]))
    expect(await gateway().lookUp(charge())).toEqual({ kind, providerRef: 'pi_1' })
  })

  it('prefers a success to a pending intent, and a pending intent to a decline', async () => {
    const declined = paymentIntent({ id: 'pi_declined', created: seconds(-1), ...OURS, ...FAILED })
    const pending = paymentIntent({ id: 'pi_pending', created: seconds(-2), status: 'processing', ...OURS })
    const succeeded = paymentIntent({ id: 'pi_succeeded', created: seconds(-3), ...OURS })
    const newest = paymentIntent({ ...declined, id: 'pi_newest', created: seconds() })
    stripe.reply(listOf([newest, declined, pending, succeeded]))
    expect(await gateway().lookUp(charge())).toMatchObject({ kind: 'succeeded', providerRef: 'pi_succeeded' })
    stripe.reply(listOf([declined, pending, { ...declined, id: 'pi_older', created: seconds(-9) }]))
    expect(await gateway().lookUp(charge())).toEqual({ kind: 'pending', providerRef: 'pi_pending' })
  })

  it.each([
    [apiError(500, { type: 'api_error' }), 'server_error'],
    [apiError(401, { type: 'invalid_request_error' }), 'provider_rejected'],
    [apiError(429, { type: 'invalid_request_error', code: 'rate_limit' }), 'rate_limited'],
    ['reset', 'connection_lost'],
    ['half', 'connection_lost'],
    [answered({}), 'unexpected_answer'],
    [{ status: 502, body: { object: 'list', data: [], has_more: false } }, 'server_error'],
  ] as [Reply, string][])('returns unreachable, not "not found", after %j', async (reply, code) => {
    stripe.reply(reply)
    expect(await gateway().lookUp(charge())).toEqual({ kind: 'unreachable', code })
    expect(stripe.seen).toHaveLength(1)
  })

  it('is unfinished when a later page fails, and the next one goes on with that page', async () => {
    const list = listOf([...others(150), paymentIntent({ id: 'pi_us', created: seconds(-60), ...OURS })])
    stripe.reply((request) => (request.params.has('starting_after') ? 'reset' : list(request)))
    const request = charge()
    const first = await gateway().lookUp(request)
    expect(first).toEqual({ kind: 'unfinished', progress: expect.any(String) })
    const resumed = { ...request, progress: (first as { progress: string }).progress }
    expect(await gateway().lookUp(resumed)).toEqual({ kind: 'unreachable', code: 'connection_lost' })
    stripe.reply(list)
    expect(await gateway().lookUp(resumed)).toMatchObject({ kind: 'succeeded', providerRef: 'pi_us' })
    expect(stripe.seen.slice(1).map(({ params }) => params.get('starting_after'))).toEqual(Array(3).fill('pi_other_99'))
  })

  it('remembers a declined intent of the pages that were read before', async () => {
    const list = listOf([paymentIntent({ id: 'pi_no', created: seconds(), ...OURS, ...FAILED }), ...others(150)])
    stripe.reply((request) => (request.params.has('starting_after') ? 'reset' : list(request)))
    const request = charge()
    const first = await gateway().lookUp(request)
    stripe.reply(list)
    const resumed = { ...request, progress: (first as { progress: string }).progress }
    expect(await gateway().lookUp(resumed)).toEqual({ kind: 'declined', providerRef: 'pi_no' })
  })

  it('begins anew when its window is not the one that was read', async () => {
    const list = listOf(others(150))
    stripe.reply((request) => (request.params.has('starting_after') ? 'reset' : list(request)))
    const request = charge()
    const { progress } = (await gateway().lookUp(request)) as { progress: string }
    stripe.reply(list)
    const until = new Date(request.until.getTime() + 2000)
    await gateway().lookUp({ ...request, until, progress })
    expect(stripe.seen[2]!.params.has('starting_after')).toBe(false)
  })

  it('leaves out what was created more than five minutes after the last moment at which it could be', async () => {
    const until = new Date(Date.now() - 600_000)
    stripe.reply(listOf([paymentIntent({ created: seconds(), ...OURS })]))
    expect(await gateway().lookUp(charge({ reservedAt: until, until }))).toEqual({ kind: 'not_found' })
    expect(Number(stripe.seen[0]?.params.get('created[lte]'))).toBe(Math.ceil(until.getTime() / 1000) + 300)
  })

  it('has one time limit for all of its pages', async () => {
    const list = listOf(others(1_000))
    stripe.reply((request) => ({ ...(list(request) as Exclude<Reply, string>), afterMs: 100 }))
    expect(await gateway(350).lookUp(charge())).toEqual({ kind: 'unfinished', progress: expect.any(String) })
    const seen = stripe.seen.length
    expect(seen).toBeLessThan(5)
    await new Promise((resolve) => setTimeout(resolve, 250))
    expect(stripe.seen).toHaveLength(seen)
  })
})

describe('the Stripe lookup of a refund', () => {
  it.each([
    [
      'succeeded',
      {
        kind: 'succeeded',
        providerRef: 're_us',
        effect: 'refund',
        amountCents: 700,
        currency: 'EUR',
        orderId: null,
        createdAt: expect.any(Date),
      },
    ],
    ['pending', { kind: 'pending', providerRef: 're_us' }],
    ['requires_action', { kind: 'pending', providerRef: 're_us' }],
    ['failed', { kind: 'declined', providerRef: 're_us' }],
    ['canceled', { kind: 'declined', providerRef: 're_us' }],
  ])('finds a refund that is %s among the refunds of its charge', async (status, outcome) => {
    stripe.reply(listOf([refund(), refund({ id: 're_us', status, ...OURS })]))
    expect(await gateway().lookUp(refundOf('pi_1'))).toEqual(outcome)
    expect(stripe.seen).toMatchObject([{ method: 'GET', path: '/v1/refunds' }])
    expect(stripe.seen[0]?.params.get('payment_intent')).toBe('pi_1')
  })

  it('ignores refunds of another charge or without our key', async () => {
    stripe.reply(listOf([refund(), refund({ id: 're_us', payment_intent: 'pi_2', ...OURS })]))
    expect(await gateway().lookUp(refundOf('pi_1'))).toEqual({ kind: 'not_found' })
  })

  it('is continued by the next one when not all refunds of the charge could be read', async () => {
    const list = listOf(Array.from({ length: 150 }, (_, n) => refund({ id: `re_${n}` })))
    stripe.reply((request) => (request.params.has('starting_after') ? 'reset' : list(request)))
    const request = refundOf('pi_1')
    const { progress } = (await gateway().lookUp(request)) as { progress: string }
    stripe.reply(list)
    expect(await gateway().lookUp({ ...request, progress })).toEqual({ kind: 'not_found' })
    expect(stripe.seen.at(-1)?.params.get('starting_after')).toBe('re_99')
  })

  it('throws when it does not get the charge', async () => {
    await expect(gateway().lookUp(refundOf())).rejects.toThrow('without the charge')
  })
})

describe('the Stripe list of a time window', () => {
  const FROM = new Date('2026-11-01T00:00:00.500Z')
  const TO = new Date('2026-11-02T00:00:00.500Z')
  const at = (date: Date) => Math.ceil(date.getTime() / 1000)

  async function listAll(from = FROM, to = TO): Promise<ProviderEntry[]> {
    const entries: ProviderEntry[] = []
    for await (const entry of everythingCreated(gateway(), { from, to })) entries.push(entry)
    return entries
  }

  function serve(intents: StripeObject[], refunds: StripeObject[]) {
    const [listIntents, listRefunds] = [listOf(intents), listOf(refunds)]
    stripe.reply((request) => (request.path === '/v1/refunds' ? listRefunds : listIntents)(request))
  }

  it('has intents and refunds, with our key and without, final and pending', async () => {
    const created = at(FROM) + 60
    const createdAt = new Date(created * 1000)
    const money = { amountCents: 2500, currency: 'EUR', orderId: null, createdAt }
    const sentAs = { onceover_digest: 'd1', onceover_fingerprint: 'v1:f1' }
    const carried = { keyDigest: 'd1', fingerprint: 'v1:f1' }
    const nothing = { keyDigest: null, fingerprint: null }
    serve(
      [
        paymentIntent({ id: 'pi_us', created, metadata: { ...OURS.metadata, ...sentAs } }),
        paymentIntent({ id: 'pi_no', created, ...FAILED }),
        paymentIntent({ id: 'pi_wait', created, status: 'processing' }),
      ],
      [refund({ id: 're_us', created, ...OURS })],
    )
    expect(await listAll()).toEqual([
      { ref: 'pi_us', providerKey: KEY, kind: 'charge', status: 'succeeded', ...money, ...carried },
      { ref: 'pi_no', providerKey: null, kind: 'charge', status: 'failed', ...money, ...nothing },
      { ref: 'pi_wait', providerKey: null, kind: 'charge', status: 'pending', ...money, ...nothing },
      { ref: 're_us', providerKey: KEY, kind: 'refund', status: 'succeeded', ...money, amountCents: 700, ...nothing },
    ])
  })

  it('has every page', async () => {
    serve(others(250, { created: at(FROM) + 60 }), [])
    expect(new Set((await listAll()).map(({ ref }) => ref)).size).toBe(250)
  })

  it('is read a page at a time, and another process goes on from a cursor', async () => {
    const created = at(FROM) + 60
    serve(others(150, { created }), [refund({ id: 're_us', created })])
    const read: string[] = []
    let cursor: string | null = null
    do {
      const page: CreatedPage = await gateway().listCreated({ from: FROM, to: TO }, cursor)
      read.push(...page.items.map(({ ref }) => ref))
      cursor = page.next
    } while (cursor !== null)
    expect(read).toHaveLength(151)
    expect(new Set(read)).toContain('re_us')
    expect(stripe.seen).toHaveLength(3)
  })

  it('neither overlaps with the next window nor leaves a gap before it', async () => {
    const later = new Date('2026-11-03T00:00:00.500Z')
    const edge = [-1, 0, 1].map((n) => paymentIntent({ id: `pi_${n}`, created: at(TO) + n }))
    serve(edge, [])
    const both = [...(await listAll(FROM, TO)), ...(await listAll(TO, later))]
    expect(both.map(({ ref }) => ref).sort()).toEqual(['pi_-1', 'pi_0', 'pi_1'])
  })

  it('throws when a page is missing, because an incomplete list proves nothing', async () => {
    const list = listOf(others(150, { created: at(FROM) + 60 }))
    stripe.reply((request) =>
      request.params.has('starting_after') ? apiError(500, { type: 'api_error' }) : list(request),
    )
    await expect(listAll()).rejects.toThrow('Stripe could not be listed: server_error')
    stripe.reply(answered({ object: 'list', data: [], has_more: true }))
    await expect(listAll()).rejects.toThrow('Stripe could not be listed: unexpected_answer')
  })
})
