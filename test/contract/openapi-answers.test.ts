// The OpenAPI document against the wire: what a client really gets, with its status, code and headers, is in the
// document of that call.
import { beforeAll, expect, test } from 'vitest'
import { openApi } from '../../lib/http/openapi'
import { type Answer, freshKey, type OrderView, orderBody, REFUNDS, send, until } from '../support/client'
import { type SharedSite, shareSite } from '../support/site'
import { addTenant } from '../support/tenant'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

/** Headers that belong to every answer of a server, or to the connection; the document is about the others. */
const OF_THE_SERVER = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'vary',
  'date',
  'content-length',
  'content-type',
  'cache-control',
  'content-security-policy',
  'x-content-type-options',
])

interface Call {
  operation: string
  answer: Answer
}

/** What is wrong with an answer by the document: nothing, if all is well. */
function undocumented({ operation, answer }: Call): string[] {
  const [method, path] = operation.split(' ') as [string, string]
  const response = openApi.paths?.[path]?.[method.toLowerCase() as 'get']?.responses?.[String(answer.status) as '200']
  if (!response) return [`${operation} ${answer.status}`]
  const type = String(answer.headers['content-type'])
  const content = response.content?.[type]
  const code = type === 'application/problem+json' ? answer.json<{ code: string }>().code : null
  const names = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()))
  return [
    ...(content ? [] : [`${operation} ${answer.status} ${type}`]),
    ...(code && !(code in (content?.examples ?? {})) ? [`${operation} ${answer.status} ${code}`] : []),
    ...Object.keys(answer.headers)
      .filter((name) => !OF_THE_SERVER.has(name) && !names.has(name))
      .map((name) => `${operation} ${answer.status} ${code ?? ''} ${name}`),
  ]
}

const ORDER = 'POST /api/orders'
const REFUND = 'POST /api/orders/{id}/refunds'
const wait = { prefer: 'wait=1' }

async function ordersOfEveryKind(): Promise<Call[]> {
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
  return answers.map((answer) => ({ operation: ORDER, answer }))
}

async function refundsAndReads(): Promise<Call[]> {
  const { client } = site
  const key = freshKey()
  const order = (await client.order(key, orderBody())).json<OrderView>()
  const refundKey = freshKey()
  const refund = await client.refund(order.id, refundKey, { amountCents: 100 }, wait)
  const unpaid = (await client.order(freshKey(), orderBody({ paymentMethod: 'pm_declined' }))).status
  expect(unpaid).toBe(402)
  const of = (operation: string, ...answers: Answer[]): Call[] => answers.map((answer) => ({ operation, answer }))
  return [
    ...of(
      REFUND,
      refund,
      await client.refund(order.id, refundKey, { amountCents: 100 }),
      await client.refund(order.id, freshKey(), { amountCents: 1_000_000 }),
      await client.refund('ord_none', freshKey()),
      await client.refund(order.id, freshKey(), { reason: 'sandbox:declined' }, wait),
      await client.refund(order.id, freshKey(), { amountCents: 100, reason: 'sandbox:error_once' }, wait),
      await client.refund(order.id, freshKey(), { amountCents: 100 }, { prefer: 'respond-async' }),
    ),
    ...of('GET /api/orders', await client.get('/api/orders?limit=1'), await client.get('/api/orders?limit=x')),
    ...of('GET /api/orders/{id}', await client.get(`/api/orders/${order.id}`), await client.get('/api/orders/none')),
    ...of(
      'GET /api/orders/{id}/refunds/{refundId}',
      await client.get(String(refund.headers.location)),
      await client.get(`/api/orders/${order.id}/refunds/none`),
      await send(new URL(String(refund.headers.location), site.url)),
    ),
    ...of(
      'GET /api/idempotency-keys/{key}',
      await client.record(key),
      await client.record(refundKey, REFUNDS),
      await client.record('none'),
    ),
  ]
}

test('every answer that a client gets is in the OpenAPI document, with its code and its headers', async () => {
  const calls = [...(await ordersOfEveryKind()), ...(await refundsAndReads())]
  expect(calls.flatMap(undocumented)).toEqual([])
  const seen = new Set(calls.map(({ answer }) => answer.status))
  expect([...seen].sort()).toEqual([200, 201, 202, 400, 401, 402, 404, 409, 410, 413, 415, 422, 429, 503, 504])
})

test('the OpenAPI check reports a status or a header that is not in the document', async () => {
  const answer = await site.client.order(freshKey(), orderBody())
  expect(undocumented({ operation: 'GET /api/orders', answer })).toEqual(['GET /api/orders 201'])
  const odd = { ...answer, headers: { ...answer.headers, 'x-undocumented': 'yes' } }
  expect(undocumented({ operation: ORDER, answer: odd })).toEqual([`${ORDER} 201  x-undocumented`])
})
