// Rates and caps count what creates a record, and nothing else: what is already there can always be asked about.
import { beforeAll, describe, expect, test } from 'vitest'
import { createClient, freshKey, type OrderView, orderBody, REFUNDS, until } from '../support/client'
import { expectProblem } from '../support/problem'
import { type SharedSite, shareSite } from '../support/site'
import { addTenant } from '../support/tenant'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

const tenantWith = async (settings: Parameters<typeof addTenant>[1]) =>
  createClient(site.url, (await addTenant(site.databaseUrl, settings)).apiKey)

type Client = ReturnType<typeof createClient>

async function place(client: Client, paymentMethod = 'pm_ok') {
  const key = freshKey()
  const body = orderBody({ paymentMethod })
  return { key, body, answer: await client.order(key, body) }
}

describe('the rate limit for new keys', () => {
  test('answers 429 to one new key more than a minute’s rate, and stores no record', async () => {
    const client = await tenantWith({ newKeysPerMinute: 5 })
    for (let i = 0; i < 5; i++) expect((await place(client)).answer.status).toBe(201)
    const { key, answer } = await place(client)
    const { retry } = expectProblem(answer, 429, 'rate_limited', 'later')
    expect(retry.afterSeconds).toBeLessThanOrEqual(60)
    expect(answer.headers['idempotency-key']).toBe(`"${key}"`)
    expect(answer.headers['idempotency-expires']).toBeUndefined()
    expect((await client.record(key)).status).toBe(404)
  })

  test('is exact for a burst on one node', async () => {
    const client = await tenantWith({ newKeysPerMinute: 10 })
    const answers = await Promise.all(Array.from({ length: 40 }, () => place(client)))
    const statuses = answers.map(({ answer }) => answer.status)
    expect(statuses.filter((status) => status === 201)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(30)
  })

  test('lets replays, 402, 409, 422, re-claims and reads pass when it is used up', async () => {
    const client = await tenantWith({ newKeysPerMinute: 5 })
    const paid = await place(client)
    const declined = await place(client, 'pm_declined')
    const refused = await place(client, 'pm_refused_once')
    const unknown = await place(client, 'pm_error_once')
    const slowKey = freshKey()
    const slowBody = orderBody({ paymentMethod: 'pm_slow_900' })
    const slow = client.order(slowKey, slowBody)
    await until(
      () => client.record(slowKey),
      (answer) => answer.status === 200,
    )
    expectProblem((await place(client)).answer, 429, 'rate_limited', 'later')
    expectProblem(await client.order(slowKey, slowBody), 409, 'idempotency_key_in_progress', 'later')
    expect((await client.order(paid.key, paid.body)).bytes).toEqual(paid.answer.bytes)
    expectProblem(await client.order(declined.key, declined.body), 402, 'payment_declined', 'new')
    expectProblem(await client.order(unknown.key, unknown.body), 409, 'idempotency_outcome_unknown', 'later')
    expectProblem(await client.order(paid.key, orderBody()), 422, 'idempotency_key_reused', 'new')
    expect((await client.order(refused.key, refused.body)).status).toBe(201)
    expect((await client.get('/api/orders')).status).toBe(200)
    expect((await slow).status).toBe(201)
  })

  test('does not count requests that leave no record', async () => {
    const client = await tenantWith({ newKeysPerMinute: 2 })
    for (let i = 0; i < 5; i++) {
      expect((await client.order(freshKey(), '{}')).status).toBe(400)
      expect((await client.order('short', orderBody())).status).toBe(400)
    }
    const first = await place(client)
    for (let i = 0; i < 20; i++) expect((await client.order(first.key, first.body)).status).toBe(201)
    expect((await place(client)).answer.status).toBe(201)
    expect((await place(client)).answer.status).toBe(429)
  })

  test('counts the records of all endpoints together, including accepted requests', async () => {
    const client = await tenantWith({ newKeysPerMinute: 3 })
    const order = (await place(client)).answer.json<OrderView>()
    expect((await client.refund(order.id, freshKey(), { amountCents: 1 })).status).toBe(201)
    expect((await client.order(freshKey(), orderBody(), { prefer: 'respond-async' })).status).toBe(202)
    expectProblem(await client.refund(order.id, freshKey(), { amountCents: 1 }), 429, 'rate_limited', 'later')
    const key = freshKey()
    expectProblem(await client.order(key, orderBody(), { prefer: 'respond-async' }), 429, 'rate_limited', 'later')
    expect((await client.record(key, REFUNDS)).status).toBe(404)
  })

  test('is separate for each tenant', async () => {
    const [one, other] = [await tenantWith({ newKeysPerMinute: 1 }), await tenantWith({ newKeysPerMinute: 1 })]
    expect((await place(one)).answer.status).toBe(201)
    expect((await place(one)).answer.status).toBe(429)
    expect((await place(other)).answer.status).toBe(201)
  })

  test('answers no 429 to concurrent duplicates of the last new key of a minute', async () => {
    for (let round = 0; round < 5; round++) {
      const client = await tenantWith({ newKeysPerMinute: 1 })
      const key = freshKey()
      const body = orderBody({ paymentMethod: 'pm_slow_100' })
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.order(key, body)))
      const statuses = answers.map((answer) => answer.status)
      expect(statuses).toContain(201)
      expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([])
    }
  })

  test('is not used up by waiting duplicates', async () => {
    const client = await tenantWith({ newKeysPerMinute: 3 })
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_slow_900' })
    const first = client.order(key, body)
    await until(
      () => client.record(key),
      (answer) => answer.status === 200,
    )
    const waiting = Array.from({ length: 5 }, () => client.order(key, body, { prefer: 'wait=5' }))
    // They are waiting once a request that came after them has been answered.
    expect((await client.order(key, body)).status).toBe(409)
    expect((await place(client)).answer.status).toBe(201)
    expect((await first).status).toBe(201)
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(201)
  })
})

describe('the cap of live keys', () => {
  test('answers 429 to one live key more, stores no record, and leaves existing keys usable', async () => {
    const client = await tenantWith({ liveKeyCap: 3 })
    const first = await place(client)
    const refused = await place(client, 'pm_refused_once')
    await place(client, 'pm_declined')
    const { key, answer } = await place(client)
    expectProblem(answer, 429, 'active_key_limit', 'later')
    expect((await client.record(key)).status).toBe(404)
    expect((await client.order(first.key, first.body)).bytes).toEqual(first.answer.bytes)
    expect((await client.order(refused.key, refused.body)).status).toBe(201)
    expectProblem(await client.order(first.key, orderBody()), 422, 'idempotency_key_reused', 'new')
  })

  test('is exact for a burst on one node', async () => {
    const client = await tenantWith({ liveKeyCap: 7 })
    const answers = await Promise.all(Array.from({ length: 30 }, () => place(client)))
    expect(answers.filter(({ answer }) => answer.status === 201)).toHaveLength(7)
    for (const { answer } of answers) if (answer.status !== 201) expectProblem(answer, 429, 'active_key_limit', 'later')
  })

  test('of zero refuses every new key', async () => {
    const client = await tenantWith({ liveKeyCap: 0 })
    expectProblem((await place(client)).answer, 429, 'active_key_limit', 'later')
  })
})
