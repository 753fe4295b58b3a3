// The contract's table of outcomes, row by row: status, code, what a machine is told to do next, and what is stored.
// Rows that need a setting of their own are in files of their own: expiry, limits, request-age, refunds, prefer, and
// the scenarios with two nodes and with a database that goes away.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, countCharges, freshKey, orderBody, type RecordView, until } from '../support/client'
import { expectProblem } from '../support/problem'
import { openSite, type Site } from '../support/site'
import { runSql } from '../support/tenant'

/** A duplicate that waited although it should not would take as long as its `wait=20`. */
const HALF_THE_WAIT_MS = 10_000

let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site?.close())

const stateOf = async (key: string) => {
  const answer = await site.client.record(key)
  return answer.status === 200 ? answer.json<RecordView>().state : answer.status
}
const expectEchoed = (answer: Answer, key: string) => expect(answer.headers['idempotency-key']).toBe(`"${key}"`)
const expectExpiry = (answer: Answer) =>
  expect(new Date(answer.headers['idempotency-expires'] as string).toUTCString()).toBe(
    answer.headers['idempotency-expires'],
  )

/** An order that the provider is working on right now, and its answer to come. */
async function running(paymentMethod = 'pm_slow_1200') {
  const key = freshKey()
  const body = orderBody({ paymentMethod })
  const answer = site.client.order(key, body)
  await until(
    () => stateOf(key),
    (state) => state === 'in_progress',
  )
  return { key, body, answer }
}

describe('a request that is refused before its operation begins leaves no record, and its key stays usable', () => {
  test.each([
    ['a body that is not JSON', 400, 'malformed_json', '{"customerId":', {}],
    ['a body of more than 256 KiB', 413, 'body_too_large', ' '.repeat(256 * 1024 + 1), {}],
    ['another media type', 415, 'unsupported_media_type', '{}', { 'content-type': 'text/plain' }],
    ['a body that fails validation', 400, 'invalid_request', '{}', {}],
    ['a wrong API key', 401, 'unauthenticated', '{}', { authorization: 'Bearer oo_live_wrong' }],
  ] as const)('%s', async (_title, status, code, refused, headers) => {
    const key = freshKey()
    const answer = await site.client.order(key, refused, headers)
    expectProblem(answer, status, code, 'same')
    expectEchoed(answer, key)
    expect(answer.headers['idempotency-expires']).toBeUndefined()
    expectProblem(await site.client.record(key), 404, 'idempotency_key_not_found', 'none')
    expect((await site.client.order(key, orderBody())).status).toBe(201)
  })

  test('no Idempotency-Key header: 400, and the client is to use a new key', async () => {
    const body = orderBody()
    const answer = await site.client.order(undefined, body)
    expectProblem(answer, 400, 'idempotency_key_missing', 'new')
    expect(answer.headers['idempotency-key']).toBeUndefined()
    expect(await countCharges(site.url, body.customerId)).toBe(0)
  })

  test('an invalid Idempotency-Key: 400, and the client is to use a new key', async () => {
    const body = orderBody()
    expectProblem(await site.client.order('too-short', body), 400, 'idempotency_key_invalid', 'new')
    expect(await countCharges(site.url, body.customerId)).toBe(0)
  })

  test('a validation error names the path and a message of each issue', async () => {
    const answer = await site.client.order(freshKey(), {
      ...orderBody(),
      items: [{ sku: 'SKU-1', quantity: 0, unitPriceCents: 1 }],
      surplus: 1,
    })
    const { issues } = expectProblem(answer, 400, 'invalid_request', 'same')
    expect(issues).toContainEqual({ path: 'items[0].quantity', message: expect.stringMatching(/\S/) })
    expect(issues?.length).toBe(2)
    for (const issue of issues ?? []) expect(Object.keys(issue).sort()).toEqual(['message', 'path'])
  })
})

test('a paid order: 201 with Location, Idempotency-Key and Idempotency-Expires', async () => {
  const key = freshKey()
  const body = orderBody({ note: 'by the door' })
  const answer = await site.client.order(key, body)
  expect(answer.status).toBe(201)
  expect(answer.headers['content-type']).toBe('application/json')
  expectEchoed(answer, key)
  expectExpiry(answer)
  expect(answer.headers['idempotent-replayed']).toBeUndefined()
  const order = answer.json<Record<string, unknown>>()
  const { paymentMethod: _, ...asked } = body
  expect(order).toStrictEqual({
    ...asked,
    id: expect.stringMatching(/^ord_/),
    status: 'paid',
    amountCents: 2500,
    refundedCents: 0,
    payment: { id: expect.stringMatching(/^pay_/), providerRef: expect.stringMatching(/\S/), status: 'succeeded' },
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  })
  expect(answer.headers.location).toBe(`/api/orders/${order.id}`)
  expect((await site.client.get(answer.headers.location as string)).json()).toStrictEqual(order)
  expect(await countCharges(site.url, body.customerId)).toBe(1)
})

describe('the same key with another fingerprint is 422 in any state', () => {
  async function expectMisuse(key: string, body: ReturnType<typeof orderBody>) {
    const before = await stateOf(key)
    const answer = await site.client.order(key, { ...body, note: 'another request' })
    expectProblem(answer, 422, 'idempotency_key_reused', 'new')
    expectEchoed(answer, key)
    expectExpiry(answer)
    expect(await stateOf(key)).toBe(before)
  }

  test.each([
    ['completed', 'pm_ok', 201],
    ['completed', 'pm_declined', 402],
    ['failed_retryable', 'pm_refused_once', 503],
    ['unknown', 'pm_error_once', 504],
  ] as const)('%s, after %s', async (state, paymentMethod, status) => {
    const key = freshKey()
    const body = orderBody({ paymentMethod })
    expect((await site.client.order(key, body)).status).toBe(status)
    expect(await stateOf(key)).toBe(state)
    await expectMisuse(key, body)
  })

  test('in_progress, also with Prefer: wait', async () => {
    const { key, body, answer } = await running()
    await expectMisuse(key, body)
    const startedAt = performance.now()
    const waiting = await site.client.order(key, { ...body, currency: 'EUR' }, { prefer: 'wait=20' })
    expectProblem(waiting, 422, 'idempotency_key_reused', 'new')
    expect(performance.now() - startedAt).toBeLessThan(HALF_THE_WAIT_MS)
    expect((await answer).status).toBe(201)
  })
})

test('a duplicate while the first request runs: 409, and the client is to retry later with the same key', async () => {
  const { key, body, answer } = await running()
  const duplicate = await site.client.order(key, body)
  expectProblem(duplicate, 409, 'idempotency_key_in_progress', 'later')
  expectEchoed(duplicate, key)
  expectExpiry(duplicate)
  const first = await answer
  expect(first.status).toBe(201)
  expect(first.headers['idempotent-replayed']).toBeUndefined()
  const replay = await site.client.order(key, body)
  expect(replay.headers['idempotent-replayed']).toBe('true')
  expect(replay.bytes).toEqual(first.bytes)
  expect(await countCharges(site.url, body.customerId)).toBe(1)
})

test('a declined payment: 402, stored and replayed, and nothing is charged', async () => {
  const key = freshKey()
  const body = orderBody({ paymentMethod: 'pm_declined' })
  const first = await site.client.order(key, body)
  expectProblem(first, 402, 'payment_declined', 'new')
  expectExpiry(first)
  const record = (await site.client.record(key)).json<RecordView>()
  expect(record).toMatchObject({ state: 'completed', response: { status: 402 }, resource: { type: 'order' } })
  const replay = await site.client.order(key, body)
  expect(replay.status).toBe(402)
  expect(replay.bytes).toEqual(first.bytes)
  expect(replay.headers['content-type']).toBe('application/problem+json')
  expect(replay.headers['idempotent-replayed']).toBe('true')
  const order = (await site.client.get(`/api/orders/${record.resource?.id}`)).json()
  expect(order).toMatchObject({ status: 'declined', payment: { status: 'failed' }, refundedCents: 0 })
  expect(await countCharges(site.url, body.customerId)).toBe(0)
})

test('an unreachable provider: 503, not stored, and the same key succeeds later', async () => {
  const key = freshKey()
  const body = orderBody({ paymentMethod: 'pm_refused_once' })
  const refused = await site.client.order(key, body)
  expectProblem(refused, 503, 'payment_provider_unavailable', 'later')
  expectEchoed(refused, key)
  expectExpiry(refused)
  expect((await site.client.record(key)).json()).toMatchObject({ state: 'failed_retryable', response: null })
  const retried = await site.client.order(key, body)
  expect(retried.status).toBe(201)
  expect(retried.headers['idempotent-replayed']).toBeUndefined()
  expect(await countCharges(site.url, body.customerId)).toBe(1)
})

test.each([
  ['did not answer in time', 'pm_timeout_charged', 1],
  ['answered 5xx', 'pm_error_once', 1],
  ['can’t be reached in time', 'pm_unreachable', 0],
] as const)('the provider %s: 504, then 409 while the outcome is unknown', async (_title, paymentMethod, charged) => {
  const key = freshKey()
  const body = orderBody({ paymentMethod })
  const first = await site.client.order(key, body)
  expectProblem(first, 504, 'payment_outcome_unknown', 'later')
  expectEchoed(first, key)
  expectExpiry(first)
  expect((await site.client.record(key)).json()).toMatchObject({
    state: 'unknown',
    response: null,
    completedAt: null,
    retryAfterSeconds: expect.any(Number),
  })
  for (const headers of [{}, { prefer: 'wait=20' }, { prefer: 'respond-async' }]) {
    const startedAt = performance.now()
    const again = await site.client.order(key, body, headers)
    expectProblem(again, 409, 'idempotency_outcome_unknown', 'later')
    expectExpiry(again)
    expect(performance.now() - startedAt).toBeLessThan(HALF_THE_WAIT_MS)
  }
  expect(await countCharges(site.url, body.customerId)).toBe(charged)
})

describe('an internal error is 500 and never stored', () => {
  const broken = async <T>(table: string, whileBroken: () => Promise<T>): Promise<T> => {
    await runSql(
      site.databaseUrl,
      `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a bug'; END $$;
       CREATE TRIGGER broken BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION broken()`,
    )
    try {
      return await whileBroken()
    } finally {
      await runSql(site.databaseUrl, `DROP FUNCTION broken CASCADE`)
    }
  }

  test('before the provider is called: no record is left, and a retry with the same key succeeds', async () => {
    const key = freshKey()
    const body = orderBody()
    const answer = await broken('orders', () => site.client.order(key, body))
    expectProblem(answer, 500, 'internal_error', 'later')
    expectEchoed(answer, key)
    expect(answer.bytes.toString()).not.toContain('a bug')
    expect(await stateOf(key)).toBe(404)
    expect((await site.client.order(key, body)).status).toBe(201)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('after the provider was called: the outcome is unknown, and nothing is charged again', async () => {
    const key = freshKey()
    const body = orderBody()
    const answer = await broken('ledger_entries', () => site.client.order(key, body))
    expectProblem(answer, 500, 'internal_error', 'later')
    const later = await until(
      () => site.client.order(key, body),
      (again) => !again.bytes.includes('idempotency_key_in_progress'),
    )
    expectProblem(later, 409, 'idempotency_outcome_unknown', 'later')
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })
})

test('the type URL of every problem code leads to a page of the API reference', async () => {
  const codes = [
    'idempotency_key_missing',
    'idempotency_key_invalid',
    'malformed_json',
    'body_too_large',
    'unsupported_media_type',
    'invalid_request',
    'request_too_old',
    'unauthenticated',
    'idempotency_key_reused',
    'idempotency_key_in_progress',
    'idempotency_outcome_unknown',
    'idempotency_key_expired',
    'payment_declined',
    'order_not_found',
    'order_not_refundable',
    'refund_exceeds_order',
    'request_expired',
    'payment_provider_unavailable',
    'payment_outcome_unknown',
    'idempotency_store_unavailable',
    'restore_in_progress',
    'rate_limited',
    'active_key_limit',
    'internal_error',
  ]
  const missing = expectProblem(await site.client.order(undefined, {}), 400, 'idempotency_key_missing', 'new')
  for (const code of codes) {
    const page = await site.client.get(new URL(missing.type.replace(missing.code, code), site.url).href)
    expect({ code, status: page.status }).toEqual({ code, status: 200 })
    expect(page.headers['content-type']).toMatch(/^text\/html/)
    expect(page.bytes.toString()).toContain(code)
  }
})
