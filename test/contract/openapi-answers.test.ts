// The OpenAPI document against the wire. Every answer that a test of the contract gets is checked
// (test/support/documented-answer.ts); here each status is met once, and the check itself is tested.
import { beforeAll, expect, test } from 'vitest'
import { type Answer, freshKey, type OrderView, orderBody, REFUNDS, send, until } from '../support/client'
import { undocumentedIn } from '../support/documented-answer'
import { type SharedSite, shareSite } from '../support/site'
import { addTenant } from '../support/tenant'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

const wait = { prefer: 'wait=1' }

async function ordersOfEveryKind(): Promise<Answer[]> {
  const { client } = site
  const answers: Answer[] = []
  const keep = async (answer: Promise<Answer>) => {
    answers.push(await answer)
    return answers.at(-1)!
  }
  for (const paymentMethod of ['pm_ok', 'pm_declined', 'pm_refused_once', 'pm_error_once']) {
    const [key, body] = [freshKey(), orderBody({ paymentMethod })]
    await keep(client.order(key, body, wait))
    await keep(client.order(key, body, wait))
    await keep(client.order(key, orderBody(), wait))
  }
  await keep(client.order(freshKey(), orderBody(), { prefer: 'respond-async, wait=1' }))
  await keep(client.order(freshKey(), orderBody(), { prefer: 'respond-async' }))
  await keep(client.order(undefined, orderBody()))
  await keep(client.order('short', orderBody()))
  await keep(client.order(freshKey(), { nothing: true }))
  await keep(client.order(freshKey(), 'no json'))
  await keep(client.order(freshKey(), 'x'.repeat(300_000)))
  await keep(client.order(freshKey(), orderBody(), { 'content-type': 'text/plain' }))
  await keep(client.order(freshKey(), orderBody(), { authorization: 'Bearer nobody' }))
  for (const limit of [{ newKeysPerMinute: 0 }, { liveKeyCap: 0 }]) {
    const { apiKey } = await addTenant(site.databaseUrl, limit)
    await keep(client.order(freshKey(), orderBody(), { ...wait, authorization: `Bearer ${apiKey}` }))
  }
  const { apiKey } = await addTenant(site.databaseUrl, { retentionHours: 0.001 / 3600 })
  const [key, body, headers] = [freshKey(), orderBody(), { ...wait, authorization: `Bearer ${apiKey}` }]
  // The retention of a millisecond may not be over when a quick second request arrives.
  answers.push(
    await until(
      () => client.order(key, body, headers),
      ({ status }) => status === 410,
    ),
  )
  return answers
}

async function refundsAndReads(): Promise<Answer[]> {
  const { client } = site
  const key = freshKey()
  const order = (await client.order(key, orderBody())).json<OrderView>()
  const refundKey = freshKey()
  const refund = await client.refund(order.id, refundKey, { amountCents: 100 }, wait)
  const unpaid = (await client.order(freshKey(), orderBody({ paymentMethod: 'pm_declined' }))).status
  expect(unpaid).toBe(402)
  return [
    refund,
    await client.refund(order.id, refundKey, { amountCents: 100 }),
    await client.refund(order.id, freshKey(), { amountCents: 1_000_000 }),
    await client.refund('ord_none', freshKey()),
    await client.refund(order.id, freshKey(), { reason: 'sandbox:declined' }, wait),
    await client.refund(order.id, freshKey(), { amountCents: 100, reason: 'sandbox:error_once' }, wait),
    await client.refund(order.id, freshKey(), { amountCents: 100 }, { prefer: 'respond-async' }),
    await client.get('/api/orders?limit=1'),
    await client.get('/api/orders?limit=x'),
    await client.get(`/api/orders/${order.id}`),
    await client.get('/api/orders/none'),
    await client.get(String(refund.headers.location)),
    await client.get(`/api/orders/${order.id}/refunds/none`),
    await send(new URL(String(refund.headers.location), site.url)),
    await client.record(key),
    await client.record(refundKey, REFUNDS),
    await client.record('none'),
  ]
}

test('every answer that a client gets is in the OpenAPI document, with its code, its headers and its body', async () => {
  const answers = [...(await ordersOfEveryKind()), ...(await refundsAndReads())]
  const seen = new Set(answers.map(({ status }) => status))
  expect([...seen].sort()).toEqual([200, 201, 202, 400, 401, 402, 404, 409, 410, 413, 415, 422, 429, 503, 504])
})

test('an answer whose status, code, header, body or call is not in the OpenAPI document fails the test that gets it', async () => {
  const { client, url } = site
  const placed = { method: 'POST', url: `${url}/api/orders`, ...(await client.order(freshKey(), orderBody())) }
  const called = 'POST /api/orders answered'
  const refused = { ...placed, ...(await client.order(undefined, orderBody())) }
  const other = Buffer.from(refused.bytes.toString().replaceAll('idempotency_key_missing', 'not_found'))
  expect(undocumentedIn(placed)).toEqual([])
  expect(undocumentedIn({ ...placed, status: 226 })).toEqual([
    `${called} 226: the status is not documented (POST /api/orders)`,
  ])
  expect(undocumentedIn({ ...refused, bytes: other })).toEqual([
    `${called} 400: the code not_found is not documented (POST /api/orders)`,
  ])
  expect(undocumentedIn({ ...placed, headers: { ...placed.headers, 'x-odd': 'yes' } })).toEqual([
    `${called} 201: the header x-odd is not documented (POST /api/orders)`,
  ])
  expect(undocumentedIn({ ...placed, bytes: Buffer.from('{}') })).toContain(
    `${called} 201: its body at / must have required property 'status' (POST /api/orders)`,
  )
  expect(undocumentedIn({ ...placed, url: `${url}/api/odd` })).toEqual([
    'POST /api/odd answered 201: the document has no such call',
  ])
})
