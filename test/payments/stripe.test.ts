import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createStripe } from '../../lib/payments/stripe'
import {
  answered,
  CHARGE,
  paymentIntent,
  REFUND,
  type Reply,
  refund,
  type StripeServer,
  startStripe,
} from '../support/stripe-server'

const LIMIT_MS = 300
let stripe: StripeServer
beforeEach(async () => {
  stripe = await startStripe()
})
afterEach(() => stripe.close())

const gateway = (timeLimitMs = 5_000) => createStripe({ secretKey: 'sk_test_1', timeLimitMs, api: stripe.api })

async function timed<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const startedAt = performance.now()
  const result = await work()
  return { result, ms: performance.now() - startedAt }
}

async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe('a request to Stripe', () => {
  it('for a charge is one confirmed payment intent under our key, without redirects or customer actions', async () => {
    stripe.reply(answered(paymentIntent()))
    expect(await gateway().execute(CHARGE)).toMatchObject({ kind: 'succeeded', providerRef: 'pi_1' })

    expect(stripe.seen).toHaveLength(1)
    const [{ method, path, params, headers }] = stripe.seen as [(typeof stripe.seen)[number]]
    expect([method, path]).toEqual(['POST', '/v1/payment_intents'])
    expect(headers['idempotency-key']).toBe('oo_01HZX')
    expect(headers.authorization).toBe('Bearer sk_test_1')
    expect(Object.fromEntries(params)).toEqual({
      amount: '2500',
      currency: 'eur',
      payment_method: 'pm_card_visa',
      confirm: 'true',
      'automatic_payment_methods[enabled]': 'true',
      'automatic_payment_methods[allow_redirects]': 'never',
      error_on_requires_action: 'true',
      'metadata[onceover_key]': 'oo_01HZX',
      'metadata[onceover_order]': 'ord_1',
      'metadata[onceover_digest]': 'd1',
      'metadata[onceover_fingerprint]': 'v1:f1',
      'metadata[onceover_customer]': 'cus_1042',
    })
  })

  it('is the same on every attempt, without telemetry of the previous one', async () => {
    stripe.reply(answered(paymentIntent()))
    const one = gateway()
    await one.execute(CHARGE)
    await one.execute(CHARGE)
    const [first, second] = stripe.seen
    expect(String(second?.params)).toBe(String(first?.params))
    expect(second?.headers).not.toHaveProperty('x-stripe-client-telemetry')
  })

  it('for a refund has the charge and the amount, under the refund’s key', async () => {
    stripe.reply(answered(refund({ id: 're_7' })))
    expect(await gateway().execute(REFUND)).toMatchObject({ kind: 'succeeded', providerRef: 're_7' })

    expect(stripe.seen).toMatchObject([{ method: 'POST', path: '/v1/refunds' }])
    expect(stripe.seen[0]?.headers['idempotency-key']).toBe('oo_01HZX')
    expect(Object.fromEntries(stripe.seen[0]?.params ?? [])).toMatchObject({
      payment_intent: 'pi_1',
      amount: '700',
      'metadata[onceover_key]': 'oo_01HZX',
    })
  })

  it('is not sent for a refund without a charge, which throws', async () => {
    await expect(gateway().execute({ ...REFUND, chargeRef: undefined })).rejects.toThrow('without the charge')
    expect(stripe.seen).toHaveLength(0)
  })
})

describe('a Stripe call without an answer', () => {
  it('is not executed when the connection is refused', async () => {
    const api = { ...stripe.api, port: await closedPort() }
    const outcome = await createStripe({ secretKey: 'sk_test_1', timeLimitMs: 5_000, api }).execute(CHARGE)
    expect(outcome).toEqual({ kind: 'not_executed', code: 'connection_refused' })
  })

  it('is not executed when the host name does not resolve', async () => {
    const api = { ...stripe.api, host: 'stripe.invalid' }
    const outcome = await createStripe({ secretKey: 'sk_test_1', timeLimitMs: 5_000, api }).execute(CHARGE)
    expect(outcome).toMatchObject({ kind: 'not_executed' })
  })

  it('is not executed when the secret key is not a valid header value', async () => {
    const bad = createStripe({ secretKey: 'sk_test\n', timeLimitMs: 5_000, api: stripe.api })
    expect(await bad.execute(CHARGE)).toMatchObject({ kind: 'not_executed' })
    expect(stripe.seen).toHaveLength(0)
  })

  // After a reset the SDK would send the request again, half a second later.
  it.each(['reset', 'half'] as const)(
    'is unclear and not repeated when the connection is lost after sending (%s)',
    async (how) => {
      stripe.reply(how)
      expect(await gateway().execute(CHARGE)).toEqual({ kind: 'unclear', code: 'connection_lost' })
      expect(stripe.seen).toHaveLength(1)
    },
  )

  it('is unclear and not repeated when a reused connection is reset', async () => {
    const one = gateway()
    stripe.reply(answered(paymentIntent()))
    await one.execute(CHARGE)
    stripe.reply('reset')
    expect(await one.execute(CHARGE)).toEqual({ kind: 'unclear', code: 'connection_lost' })
    expect(stripe.seen).toHaveLength(2)
    expect(stripe.connections()).toBe(1)
  })

  it.each([
    ['never comes', 'silence'],
    ['comes after the limit', answered(paymentIntent(), LIMIT_MS * 2)],
    ['trickles without an end', 'trickle'],
  ] as [string, Reply][])('is a timeout at the time limit when the answer %s', async (_, reply) => {
    stripe.reply(reply)
    const { result, ms } = await timed(() => gateway(LIMIT_MS).execute(CHARGE))
    expect(result).toEqual({ kind: 'unclear', code: 'timeout' })
    expect(ms).toBeGreaterThan(LIMIT_MS - 5)
    expect(stripe.seen).toHaveLength(1)
  })
})
