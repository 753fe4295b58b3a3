import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createStripe } from '../../lib/payments/stripe'
import {
  answered,
  apiError,
  CHARGE,
  paymentIntent,
  REFUND,
  type Reply,
  refund,
  type StripeServer,
  startStripe,
} from '../support/stripe-server'

let stripe: StripeServer
beforeAll(async () => {
  stripe = await startStripe()
})
beforeEach(() => {
  stripe.seen.length = 0
})
afterAll(() => stripe.close())

const gateway = () => createStripe({ secretKey: 'sk_test_1', timeLimitMs: 5_000, api: stripe.api })

const REFUSED = { type: 'invalid_request_error' }

describe('the outcome of a charge', () => {
  const failed = paymentIntent({ id: 'pi_no', status: 'requires_payment_method', last_payment_error: {} })
  const CASES: [string, Reply, object][] = [
    [
      'succeeded',
      answered(paymentIntent()),
      { kind: 'succeeded', providerRef: 'pi_1', effect: 'charge', amountCents: 2500, currency: 'EUR', orderId: null },
    ],
    ...['processing', 'requires_action', 'requires_capture', 'requires_confirmation', 'something_new'].map(
      (status): [string, Reply, object] => [
        status,
        answered(paymentIntent({ status })),
        { kind: 'unclear', code: 'provider_pending' },
      ],
    ),
    ['canceled', answered(paymentIntent({ status: 'canceled' })), { kind: 'declined', providerRef: 'pi_1' }],
    [
      '402 with its failed intent',
      apiError(402, { type: 'card_error', code: 'card_declined', payment_intent: failed }),
      { kind: 'declined', providerRef: 'pi_no' },
    ],
    [
      '402 of an intent that may still succeed',
      apiError(402, { type: 'card_error', payment_intent: paymentIntent({ status: 'processing' }) }),
      { kind: 'unclear', code: 'provider_pending' },
    ],
    [
      '400 for a payment method that does not exist',
      apiError(400, { ...REFUSED, code: 'resource_missing', param: 'payment_method' }),
      { kind: 'declined', providerRef: 'req_1' },
    ],
    [
      '400 with the intent that failed',
      apiError(400, { ...REFUSED, payment_intent: failed }),
      { kind: 'declined', providerRef: 'pi_no' },
    ],
    [
      '400 for a key used with other parameters',
      apiError(400, { type: 'idempotency_error' }),
      { kind: 'unclear', code: 'idempotency_error' },
    ],
    [
      '409 while the same key is being executed',
      apiError(409, { type: 'idempotency_error', code: 'idempotency_key_in_use' }),
      { kind: 'unclear', code: 'idempotency_key_in_use' },
    ],
    ['409 for another reason', apiError(409, REFUSED), { kind: 'unclear', code: 'conflict' }],
    ['401', apiError(401, REFUSED), { kind: 'not_executed', code: 'provider_rejected' }],
    ['403', apiError(403, REFUSED), { kind: 'not_executed', code: 'provider_rejected' }],
    ['429 by code', apiError(429, { ...REFUSED, code: 'rate_limit' }), { kind: 'not_executed', code: 'rate_limited' }],
    [
      '429 by header',
      apiError(429, REFUSED, { 'stripe-rate-limited-reason': 'endpoint-concurrency' }),
      { kind: 'not_executed', code: 'rate_limited' },
    ],
    [
      '429 for a lock, which is taken after execution began',
      apiError(429, { ...REFUSED, code: 'lock_timeout' }),
      { kind: 'unclear', code: 'lock_timeout' },
    ],
    ['429 that does not say why', apiError(429, REFUSED), { kind: 'unclear', code: 'rate_limited' }],
    ['424', apiError(424, REFUSED), { kind: 'unclear', code: 'invalid_request' }],
    ...[500, 502, 503, 504].map((status): [string, Reply, object] => [
      String(status),
      apiError(status, { type: 'api_error' }),
      { kind: 'unclear', code: 'server_error' },
    ]),
  ]
  it.each(CASES)('is what Stripe’s answer proves: %s', async (_, reply, outcome) => {
    stripe.reply(reply)
    expect(await gateway().execute(CHARGE)).toEqual(outcome)
    expect(stripe.seen).toHaveLength(1)
  })
})

describe('an answer that is not recognizably Stripe’s', () => {
  const page = (status: number, body: unknown = '<html>Blocked</html>'): Reply => ({ status, body })
  const CASES: [string, Reply, string][] = [
    ['an error page with 403', page(403), 'unexpected_answer'],
    ['an error page with 503', page(503), 'server_error'],
    ['a success that is no JSON', page(200), 'unexpected_answer'],
    ['a success that is null', page(200, 'null'), 'unexpected_answer'],
    [
      'a success that is something else',
      page(200, { object: 'customer', id: 'cus_1', status: 'succeeded' }),
      'unexpected_answer',
    ],
    ['an intent under a failing status', page(500, paymentIntent()), 'server_error'],
    ['a redirect', page(302, {}), 'unexpected_answer'],
    ['a refusal without a request id', apiError(402, { type: 'card_error' }, { 'request-id': '' }), 'invalid_request'],
    ['a 401 without a request id', apiError(401, REFUSED, { 'request-id': '' }), 'provider_rejected'],
  ]
  it.each(CASES)('leaves the outcome of the charge unclear: %s', async (_, reply, code) => {
    stripe.reply(reply)
    expect(await gateway().execute(CHARGE)).toEqual({ kind: 'unclear', code })
  })
})

describe('the outcome of a refund', () => {
  const CASES: [string, Reply, object][] = [
    ['pending', answered(refund({ status: 'pending' })), { kind: 'unclear', code: 'provider_pending' }],
    ['requires_action', answered(refund({ status: 'requires_action' })), { kind: 'unclear', code: 'provider_pending' }],
    ['failed', answered(refund({ status: 'failed' })), { kind: 'declined', providerRef: 're_1' }],
    ['canceled', answered(refund({ status: 'canceled' })), { kind: 'declined', providerRef: 're_1' }],
    [
      'a refusal, referenced by its request id and not by the charge that it carries',
      apiError(400, { ...REFUSED, code: 'charge_already_refunded', payment_intent: paymentIntent() }),
      { kind: 'declined', providerRef: 'req_1' },
    ],
    ['500', apiError(500, { type: 'api_error' }), { kind: 'unclear', code: 'server_error' }],
  ]
  it.each(CASES)('is what Stripe’s answer proves: %s', async (_, reply, outcome) => {
    stripe.reply(reply)
    expect(await gateway().execute(REFUND)).toEqual(outcome)
  })
})
