// The status of a key, as its own tenant may ask for it.
import { beforeAll, describe, expect, test } from 'vitest'
import {
  createClient,
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
import { type SharedSite, shareSite } from '../support/site'
import { addTenant } from '../support/tenant'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

test('the status of a completed key has exactly the fields of the contract', async () => {
  const key = freshKey()
  const order = (await site.client.order(key, orderBody())).json<OrderView>()
  const answer = await site.client.record(key)
  expect(answer.status).toBe(200)
  expect(answer.headers['content-type']).toBe('application/json')
  expect(answer.json()).toStrictEqual({
    key,
    endpoint: ORDERS,
    state: 'completed',
    createdAt: TIME,
    completedAt: TIME,
    expiresAt: TIME,
    retryAfterSeconds: null,
    response: { status: 201 },
    resource: { type: 'order', id: order.id },
  })
})

test('the status of a running key is in_progress, with a retry time and its pending order', async () => {
  const key = freshKey()
  const answer = site.client.order(key, orderBody({ paymentMethod: 'pm_slow_800' }))
  const running = await until(
    () => site.client.record(key),
    (record) => record.status === 200,
  )
  const record = running.json<RecordView>()
  expect(record).toStrictEqual({
    key,
    endpoint: ORDERS,
    state: 'in_progress',
    createdAt: TIME,
    completedAt: null,
    expiresAt: TIME,
    retryAfterSeconds: expect.any(Number),
    response: null,
    resource: { type: 'order', id: expect.stringMatching(/^ord_/) },
  })
  expect(record.retryAfterSeconds).toBeGreaterThanOrEqual(1)
  expect((await site.client.get(`/api/orders/${record.resource?.id}`)).json()).toMatchObject({
    status: 'pending_payment',
    payment: null,
  })
  expect((await answer).json<OrderView>().id).toBe(record.resource?.id)
})

test('a status lookup uses the endpoint parameter, which is POST /api/orders by default', async () => {
  const key = freshKey()
  const order = (await site.client.order(key, orderBody())).json<OrderView>()
  expectProblem(await site.client.record(key, REFUNDS), 404, 'idempotency_key_not_found', 'none')
  const refund = (await site.client.refund(order.id, key)).json<RefundView>()
  const record = (await site.client.record(key, REFUNDS)).json<RecordView>()
  expect(record).toMatchObject({ endpoint: REFUNDS, state: 'completed', resource: { type: 'refund', id: refund.id } })
  expect((await site.client.record(key)).json<RecordView>().endpoint).toBe(ORDERS)
  expect((await site.client.record(key, ORDERS)).json<RecordView>().endpoint).toBe(ORDERS)
  for (const endpoint of ['POST /api/none', 'post /api/orders', '\0'])
    expectProblem(await site.client.record(key, endpoint), 404, 'idempotency_key_not_found', 'none')
})

test('the endpoint of a status lookup may be form-encoded, with + for a space', async () => {
  const key = freshKey()
  await site.client.order(key, orderBody())
  expect((await site.client.get(`/api/idempotency-keys/${key}?endpoint=POST+/api/orders`)).status).toBe(200)
  expect((await site.client.get(`/api/idempotency-keys/${key}?endpoint=POST%20/api/orders`)).status).toBe(200)
})

describe('the status lookup of a key with special characters', () => {
  test.each([
    'a/slash/and/another/one',
    '/begins/with/a/slash',
    'ends/with/a/slash/',
    'two//slashes////together',
    'has some spaces in it',
    'has 100% percent, %2F and %25',
    'has?question=mark&and#hash',
    '../../../../etc/passwd',
    '................',
    'plus+plus+plus+plus',
    'back\\slash\\back\\slash',
    'quote"quote"quote',
    'semi;colon:comma,equals=',
    '[brackets]{braces}<angles>',
    '/api/idempotency-keys/0123456789',
    ' begins and ends with blanks ',
  ])('finds the key %s', async (key) => {
    const quoted = `"${key.replace(/["\\]/g, '\\$&')}"`
    expect((await site.client.order(quoted, orderBody())).status).toBe(201)
    const answer = await site.client.record(key)
    expect({ status: answer.status, body: answer.bytes.toString() }).toMatchObject({ status: 200 })
    expect(answer.json<RecordView>().key).toBe(key)
  })

  test('is a 400 or 404 when its path can’t be decoded', async () => {
    const undecodable = await site.client.get('/api/idempotency-keys/0123456789abcdef%E0%A4%A')
    expect([400, 404]).toContain(undecodable.status)
    expect(undecodable.headers['content-type']).toBe('application/problem+json')
    expectProblem(
      await site.client.get('/api/idempotency-keys/0123456789abcdef%00'),
      404,
      'idempotency_key_not_found',
      'none',
    )
  })
})

test('the status of a key that was never sent, or of another tenant’s key, is a 404', async () => {
  expectProblem(await site.client.record(freshKey()), 404, 'idempotency_key_not_found', 'none')
  const key = freshKey()
  await site.client.order(key, orderBody())
  const stranger = createClient(site.url, (await addTenant(site.databaseUrl)).apiKey)
  expectProblem(await stranger.record(key), 404, 'idempotency_key_not_found', 'none')
})

test('status lookups are limited to 600 a minute per tenant, without effect on POSTs and other tenants', async () => {
  const tenant = await addTenant(site.databaseUrl)
  const asker = createClient(site.url, tenant.apiKey)
  const key = freshKey()
  expect((await asker.order(key, orderBody())).status).toBe(201)
  const statuses = new Map<number, number>()
  for (let round = 0; round < 31; round++) {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => asker.record(i % 2 ? key : freshKey())))
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  expect(Object.fromEntries(statuses)).toEqual({ 200: 300, 404: 300, 429: 20 })
  const { retry } = expectProblem(await asker.record(key), 429, 'rate_limited', 'later')
  expect(retry.afterSeconds).toBeLessThanOrEqual(60)
  expect((await asker.order(freshKey(), orderBody())).status).toBe(201)
  expect((await site.client.record(freshKey())).status).toBe(404)
})
