// Prefer: a duplicate may wait for the first answer, and a request may be accepted now and answered later.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Answer,
  countCharges,
  freshKey,
  ORDERS,
  type OrderView,
  orderBody,
  REFUNDS,
  type RecordView,
  type RefundView,
  until,
} from '../support/client'
import { expectProblem } from '../support/problem'
import { openSite, type Site } from '../support/site'

let site: Site
beforeAll(async () => {
  site = await openSite({ GATEWAY_TIMEOUT_MS: '5000', LEASE_SECONDS: '11' })
  // What is loaded and compiled at the first use of a call takes longer than some of the attempts below.
  const key = freshKey()
  await site.client.record(key)
  await site.client.order(key, orderBody())
  await site.client.record(key)
})
afterAll(() => site?.close())

const untilState = (key: string, ...states: string[]) =>
  until(
    () => site.client.record(key),
    (record) => record.status === 200 && states.includes(record.json<RecordView>().state),
  )

async function running(paymentMethod: string, headers = {}) {
  const key = freshKey()
  const body = orderBody({ paymentMethod })
  const answer = site.client.order(key, body, headers)
  await untilState(key, 'in_progress')
  return { key, body, answer }
}

async function timed<T>(promise: Promise<T>): Promise<[T, number]> {
  const startedAt = performance.now()
  return [await promise, performance.now() - startedAt]
}

describe.concurrent('Prefer: wait=N', () => {
  test('a duplicate gets the first response as a replay as soon as it exists, before N seconds are over', async () => {
    const { key, body, answer } = await running('pm_slow_3000')
    const [duplicate, ms] = await timed(site.client.order(key, body, { prefer: 'wait=20' }))
    const first = await answer
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(first.headers['preference-applied']).toBeUndefined()
    expect(duplicate.status).toBe(201)
    expect(duplicate.bytes).toEqual(first.bytes)
    expect(duplicate.headers['idempotent-replayed']).toBe('true')
    expect(duplicate.headers['preference-applied']).toBe('wait=20')
    // Without a notification the waiter looks again when the lease of eleven seconds ends.
    expect(ms).toBeLessThan(9000)
  })

  test('a duplicate gets a 409 when the first request is still running after N seconds', async () => {
    const { key, body, answer } = await running('pm_slow_4500')
    const [duplicate, ms] = await timed(site.client.order(key, body, { prefer: 'wait=1' }))
    expectProblem(duplicate, 409, 'idempotency_key_in_progress', 'later')
    expect(duplicate.headers['preference-applied']).toBe('wait=1')
    expect(ms).toBeGreaterThanOrEqual(950)
    expect((await answer).status).toBe(201)
  })

  test('a duplicate with wait=0 gets the 409 of a running request', async () => {
    const { key, body, answer } = await running('pm_slow_4500')
    const duplicate = await site.client.order(key, body, { prefer: 'wait=0' })
    expectProblem(duplicate, 409, 'idempotency_key_in_progress', 'later')
    await answer
  })

  test('a waiting duplicate goes on waiting when the outcome becomes unknown, then gets a 409', async () => {
    const { key, body, answer } = await running('pm_timeout_charged')
    const [duplicate, ms] = await timed(site.client.order(key, body, { prefer: 'wait=7' }))
    expectProblem(await answer, 504, 'payment_outcome_unknown', 'later')
    expectProblem(duplicate, 409, 'idempotency_outcome_unknown', 'later')
    expect(ms).toBeGreaterThanOrEqual(6950)
  })

  test('a duplicate with busy=503 gets the body of the 409 as a 503, of a running request and of an unknown outcome', async () => {
    const { key, body, answer } = await running('pm_timeout_charged')
    const both = () => Promise.all([{}, { prefer: 'busy=503' }].map((prefer) => site.client.order(key, body, prefer)))
    for (const code of ['idempotency_key_in_progress', 'idempotency_outcome_unknown']) {
      const [conflict, busy] = await both()
      expectProblem(conflict!, 409, code, 'later')
      expectProblem(busy!, 503, code, 'later')
      expect(busy!.json()).toEqual({ ...conflict!.json<object>(), status: 503 })
      expect(busy!.headers['preference-applied']).toBe('busy=503')
      expect(busy!.headers['retry-after']).toBe(conflict!.headers['retry-after'])
      await answer
    }
  })

  test('20 waiting duplicates get the same bytes as the first request', async () => {
    const { key, body, answer } = await running('pm_slow_3000')
    const duplicates = await Promise.all(
      Array.from({ length: 20 }, () => site.client.order(key, body, { prefer: 'wait=10' })),
    )
    const first = await answer
    for (const duplicate of duplicates) {
      expect(duplicate.status).toBe(201)
      expect(duplicate.bytes).toEqual(first.bytes)
    }
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('a waiting duplicate that disconnects does not affect the other requests', async () => {
    const { key, body, answer } = await running('pm_slow_2000')
    const gone = new AbortController()
    const abandoned = site.client.send('/api/orders', {
      method: 'POST',
      body,
      headers: { 'idempotency-key': key, prefer: 'wait=30' },
      signal: gone.signal,
    })
    const staying = site.client.order(key, body, { prefer: 'wait=10' })
    expect((await site.client.order(key, body)).status).toBe(409)
    gone.abort()
    await expect(abandoned).rejects.toThrow()
    expect((await staying).bytes).toEqual((await answer).bytes)
  })
})

test('a first request is completed although its client disconnects', async () => {
  const key = freshKey()
  const body = orderBody({ paymentMethod: 'pm_slow_800' })
  const gone = new AbortController()
  const abandoned = site.client.send('/api/orders', {
    method: 'POST',
    body,
    headers: { 'idempotency-key': key },
    signal: gone.signal,
  })
  abandoned.catch(() => {})
  await untilState(key, 'in_progress')
  gone.abort()
  await expect(abandoned).rejects.toThrow()
  const replay = await site.client.order(key, body, { prefer: 'wait=10' })
  expect(replay.status).toBe(201)
  expect(replay.headers['idempotent-replayed']).toBe('true')
  expect(await countCharges(site.url, body.customerId)).toBe(1)
})

test('when the first request ends as proven not executed, exactly one waiting duplicate runs it again', async () => {
  const key = freshKey()
  const body = orderBody({ paymentMethod: 'pm_refused_once' })
  // The provider counts attempts before it refuses one: while its table is locked, the first request hangs there.
  const lock = new pg.Client({ connectionString: site.databaseUrl })
  await lock.connect()
  await lock.query('BEGIN; LOCK TABLE sandbox.attempts IN EXCLUSIVE MODE')
  const first = site.client.order(key, body)
  await untilState(key, 'in_progress')
  const waiters = Array.from({ length: 10 }, () => site.client.order(key, body, { prefer: 'wait=10' }))
  expect((await site.client.order(key, body)).status).toBe(409)
  await lock.query('COMMIT')
  await lock.end()
  expectProblem(await first, 503, 'payment_provider_unavailable', 'later')
  const answers = await Promise.all(waiters)
  expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(201))
  expect(answers.filter((answer) => !answer.headers['idempotent-replayed'])).toHaveLength(1)
  expect(new Set(answers.map((answer) => answer.bytes.toString())).size).toBe(1)
  expect(await countCharges(site.url, body.customerId)).toBe(1)
})

function expectAccepted(answer: Answer, key: string, endpoint = ORDERS): RecordView {
  expect({ status: answer.status, body: answer.bytes.toString() }).toMatchObject({ status: 202 })
  expect(answer.headers['content-type']).toBe('application/json')
  expect(answer.headers['idempotency-key']).toBe(`"${key}"`)
  expect(answer.headers['idempotent-replayed']).toBeUndefined()
  const record = answer.json<RecordView>()
  const time = expect.stringMatching(/Z$/)
  expect(record).toStrictEqual({
    key,
    endpoint,
    state: expect.stringMatching(/^(pending|in_progress|failed_retryable)$/),
    createdAt: time,
    completedAt: null,
    expiresAt: time,
    retryAfterSeconds: expect.any(Number),
    response: null,
    resource: { type: endpoint === ORDERS ? 'order' : 'refund', id: expect.any(String) },
  })
  expect(record.retryAfterSeconds).toBeGreaterThanOrEqual(1)
  expect(answer.headers['retry-after']).toBe(String(record.retryAfterSeconds))
  expect(answer.headers['idempotency-expires']).toBe(new Date(record.expiresAt).toUTCString())
  return record
}

describe.concurrent('Prefer: respond-async', () => {
  test('a request gets a 202 with the record and its location; the final response is replayed later', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_slow_1000' })
    const accepted = await site.client.order(key, body, { prefer: 'respond-async' })
    const record = expectAccepted(accepted, key)
    expect(accepted.headers['preference-applied']).toBe('respond-async')
    const location = accepted.headers.location as string
    expect((await site.client.get(location)).json()).toMatchObject({ key, resource: record.resource })
    const order = (await site.client.get(`/api/orders/${record.resource?.id}`)).json()
    expect(order).toMatchObject({ id: record.resource?.id, status: 'pending_payment' })

    const done = await until(
      () => site.client.get(location),
      (answer) => answer.json<RecordView>().state === 'completed',
    )
    expect(done.json()).toMatchObject({ response: { status: 201 }, resource: record.resource, retryAfterSeconds: null })
    const replay = await site.client.order(key, body)
    expect(replay.status).toBe(201)
    expect(replay.headers['idempotent-replayed']).toBe('true')
    expect(replay.headers.location).toBe(`/api/orders/${record.resource?.id}`)
    expect(replay.json<OrderView>()).toMatchObject({ id: record.resource?.id, status: 'paid' })
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('while the accepted request runs, duplicates get the 202, and a different request with its key a 422', async () => {
    const { key, body } = await running('pm_slow_2500', { prefer: 'respond-async' })
    const plain = await site.client.order(key, body)
    expectAccepted(plain, key)
    expect(plain.headers['preference-applied']).toBeUndefined()
    const again = await site.client.order(key, body, { prefer: 'respond-async' })
    expectAccepted(again, key)
    expect(again.headers['preference-applied']).toBe('respond-async')
    expect(again.headers.location).toBe(plain.headers.location)
    expectAccepted(await site.client.order(key, body, { prefer: 'wait=0' }), key)
    expectProblem(await site.client.order(key, orderBody()), 422, 'idempotency_key_reused', 'new')
    await untilState(key, 'completed')
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('a duplicate with wait=N gets the final response if it exists within N seconds, otherwise the 202', async () => {
    const { key, body } = await running('pm_slow_2500', { prefer: 'respond-async' })
    const [short, ms] = await timed(site.client.order(key, body, { prefer: 'wait=1' }))
    expectAccepted(short, key)
    expect(ms).toBeGreaterThanOrEqual(950)
    const long = await site.client.order(key, body, { prefer: 'wait=20' })
    expect(long.status).toBe(201)
    expect(long.headers['idempotent-replayed']).toBe('true')
    expect(long.headers['preference-applied']).toBe('wait=20')
  })

  test('a first request with wait=N gets its final response, not marked as a replay', async () => {
    const key = freshKey()
    const body = orderBody()
    const first = await site.client.order(key, body, { prefer: 'respond-async, wait=20' })
    expect(first.status).toBe(201)
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect((await site.client.order(key, body)).bytes).toEqual(first.bytes)
  })

  test.each([['Respond-Async'], ['return=minimal, respond-async; foo=bar'], [['return=minimal', 'respond-async']]])(
    'is recognised in the header value %j',
    async (prefer) => {
      const key = freshKey()
      expectAccepted(await site.client.order(key, orderBody(), { prefer }), key)
    },
  )

  test.each(['respond-asynchronously', 'return=minimal', 'respond-async=no', ''])(
    'is not applied for the header value %j',
    async (prefer) => {
      const answer = await site.client.order(freshKey(), orderBody(), { prefer })
      expect(answer.status).toBe(201)
      expect(answer.headers['preference-applied']).toBeUndefined()
    },
  )

  test('an accepted payment that is declined is replayed as a 402', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_declined' })
    expectAccepted(await site.client.order(key, body, { prefer: 'respond-async' }), key)
    expectProblem(await site.client.order(key, body, { prefer: 'wait=20' }), 402, 'payment_declined', 'new')
  })

  test('an accepted request whose outcome becomes unknown is a 409 and not run again', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_timeout_charged' })
    expectAccepted(await site.client.order(key, body, { prefer: 'respond-async' }), key)
    const waited = await site.client.order(key, body, { prefer: 'wait=7' })
    expectProblem(waited, 409, 'idempotency_outcome_unknown', 'later')
    expectProblem(await site.client.order(key, body), 409, 'idempotency_outcome_unknown', 'later')
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('an accepted request proven not executed is run again by the worker; duplicates get the 202 until then', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_refused_once' })
    await site.client.order(key, body, { prefer: 'respond-async' })
    await untilState(key, 'failed_retryable')
    expectAccepted(await site.client.order(key, body), key)
    const waited = await site.client.order(key, body, { prefer: 'wait=30' })
    expect(waited.status).toBe(201)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('a refund is accepted, holds its amount at once and succeeds later', async () => {
    const order = (await site.client.order(freshKey(), orderBody())).json<OrderView>()
    const key = freshKey()
    const body = { amountCents: 700, reason: 'sandbox:slow_1000' }
    const accepted = await site.client.refund(order.id, key, body, { prefer: 'respond-async' })
    const record = expectAccepted(accepted, key, REFUNDS)
    expect((await site.client.get(accepted.headers.location as string)).json()).toMatchObject({ endpoint: REFUNDS })
    // The amount is held from the moment that it is accepted.
    expectProblem(
      await site.client.refund(order.id, freshKey(), { amountCents: 1801 }),
      409,
      'refund_exceeds_order',
      'new',
    )
    const done = await site.client.refund(order.id, key, body, { prefer: 'wait=20' })
    expect(done.json<RefundView>()).toMatchObject({ id: record.resource?.id, amountCents: 700, status: 'succeeded' })
    expect((await site.client.get(done.headers.location as string)).json()).toStrictEqual(done.json())
  })

  test('a refund of an order that does not exist is accepted, and gets its 404 later', async () => {
    const key = freshKey()
    expectAccepted(await site.client.refund('ord_none', key, {}, { prefer: 'respond-async' }), key, REFUNDS)
    const done = await site.client.refund('ord_none', key, {}, { prefer: 'wait=20' })
    expectProblem(done, 404, 'order_not_found', 'new')
  })

  test('a request without a key or with an invalid body gets its 400 at once, not a 202', async () => {
    const prefer = 'respond-async'
    expectProblem(await site.client.order(undefined, orderBody(), { prefer }), 400, 'idempotency_key_missing', 'new')
    expectProblem(await site.client.order(freshKey(), {}, { prefer }), 400, 'invalid_request', 'same')
  })

  test('30 orders, each sent twice at once, are charged once each', async () => {
    const customerId = orderBody().customerId
    const keys = Array.from({ length: 30 }, freshKey)
    const body = orderBody({ customerId })
    const twice = [...keys, ...keys].map((key) => site.client.order(key, body, { prefer: 'respond-async' }))
    for (const answer of await Promise.all(twice)) expect([201, 202]).toContain(answer.status)
    for (const key of keys) expect((await site.client.order(key, body, { prefer: 'wait=20' })).status).toBe(201)
    expect(await countCharges(site.url, customerId)).toBe(30)
  })
})
