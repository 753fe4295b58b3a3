// A key that ran out: 410 from expiresAt on, with what is needed to look before one leaps. No reaper runs here.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Client,
  countCharges,
  createClient,
  freshKey,
  type OrderView,
  orderBody,
  type RecordView,
  until,
} from '../support/client'
import { expectProblem } from '../support/problem'
import { openSite, type Site } from '../support/site'
import { addTenant } from '../support/tenant'

const RETENTION_MS = 4000
let site: Site
beforeAll(async () => {
  site = await openSite({ KEY_TTL_HOURS: String(RETENTION_MS / 3_600_000) })
})
afterAll(() => site?.close())

const untilGone = (client: Client, key: string) =>
  until(
    () => client.record(key),
    (answer) => answer.status === 410,
  )

describe.concurrent('the retention of a key', () => {
  test('a paid order’s key is 410 afterwards, with the order and the first status, and nothing is charged again', async () => {
    const key = freshKey()
    const body = orderBody()
    const first = await site.client.order(key, body)
    const order = first.json<OrderView>()
    const { expiresAt, completedAt } = (await site.client.record(key)).json<RecordView>()
    expect(Date.parse(expiresAt) - Date.parse(completedAt ?? '')).toBe(RETENTION_MS)
    expect(first.headers['idempotency-expires']).toBe(new Date(expiresAt).toUTCString())

    const status = await untilGone(site.client, key)
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expiresAt))
    const expected = { resource: { type: 'order', id: order.id }, response: { status: 201 } }
    expect(expectProblem(status, 410, 'idempotency_key_expired', 'none')).toMatchObject(expected)
    for (const headers of [{}, { prefer: 'wait=5' }, { prefer: 'respond-async' }]) {
      const again = await site.client.order(key, body, headers)
      expect(expectProblem(again, 410, 'idempotency_key_expired', 'none')).toMatchObject(expected)
      expect(again.headers['idempotency-key']).toBe(`"${key}"`)
      expect(again.headers['idempotency-expires']).toBe(first.headers['idempotency-expires'])
      expect(again.headers['idempotent-replayed']).toBeUndefined()
    }
    expect((await site.client.get(`/api/orders/${order.id}`)).json()).toStrictEqual(order)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('a declined order’s key is 410 afterwards, with the first status 402', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_declined' })
    await site.client.order(key, body)
    await untilGone(site.client, key)
    const problem = expectProblem(await site.client.order(key, body), 410, 'idempotency_key_expired', 'none')
    expect(problem).toMatchObject({ resource: { type: 'order' }, response: { status: 402 } })
  })

  test('a retryable key is 410 afterwards, without a status', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_refused_once' })
    await site.client.order(key, body)
    await untilGone(site.client, key)
    const problem = expectProblem(await site.client.order(key, body), 410, 'idempotency_key_expired', 'none')
    expect(problem).toMatchObject({ resource: { type: 'order' }, response: null })
    expect(await countCharges(site.url, body.customerId)).toBe(0)
  })

  test('another request with the key is still 422 afterwards', async () => {
    const key = freshKey()
    await site.client.order(key, orderBody())
    await untilGone(site.client, key)
    expectProblem(await site.client.order(key, orderBody()), 422, 'idempotency_key_reused', 'new')
  })

  test('a key whose outcome is unknown does not expire', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_error_once' })
    const expiringKey = freshKey()
    await site.client.order(key, body)
    await site.client.order(expiringKey, orderBody())
    await untilGone(site.client, expiringKey)
    expect((await site.client.record(key)).json()).toMatchObject({ state: 'unknown' })
    expectProblem(await site.client.order(key, body), 409, 'idempotency_outcome_unknown', 'later')
  })

  test('a tenant’s own retention overrides the default, longer or shorter', async () => {
    const longer = createClient(site.url, (await addTenant(site.databaseUrl, { retentionHours: 2 })).apiKey)
    const shorter = createClient(site.url, (await addTenant(site.databaseUrl, { retentionHours: 0.0001 })).apiKey)
    const [longKey, shortKey] = [freshKey(), freshKey()]
    const body = orderBody()
    const first = await longer.order(longKey, body)
    await shorter.order(shortKey, body)
    const { expiresAt, completedAt } = (await longer.record(longKey)).json<RecordView>()
    expect(Date.parse(expiresAt) - Date.parse(completedAt ?? '')).toBe(2 * 3_600_000)
    await untilGone(shorter, shortKey)
    const ofDefaultRetention = freshKey()
    await site.client.order(ofDefaultRetention, orderBody())
    await untilGone(site.client, ofDefaultRetention)
    const replay = await longer.order(longKey, body)
    expect(replay.headers['idempotent-replayed']).toBe('true')
    expect(replay.bytes).toEqual(first.bytes)
  })

  test('a retry begins a new retention', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_refused_once' })
    const refused = await site.client.order(key, body)
    const before = (await site.client.record(key)).json<RecordView>()
    expect(refused.headers['idempotency-expires']).toBe(new Date(before.expiresAt).toUTCString())
    expect((await site.client.order(key, body)).status).toBe(201)
    const after = (await site.client.record(key)).json<RecordView>()
    expect(Date.parse(after.expiresAt) - Date.parse(after.completedAt ?? '')).toBe(RETENTION_MS)
    expect(Date.parse(after.expiresAt)).toBeGreaterThan(Date.parse(before.expiresAt))
  })
})
