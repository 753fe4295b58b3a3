// A replay is the first answer byte for byte, and one key stands for one request: what a request means decides, not
// how it is spelled.
import { beforeAll, describe, expect, test } from 'vitest'
import {
  type Answer,
  countCharges,
  createClient,
  freshKey,
  type OrderView,
  orderBody,
  type RecordView,
} from '../support/client'
import { expectProblem } from '../support/problem'
import { type SharedSite, shareSite } from '../support/site'
import { addApiKey } from '../support/tenant'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

function expectReplay(replay: Answer, first: Answer) {
  expect(replay.status).toBe(first.status)
  expect(replay.bytes.equals(first.bytes)).toBe(true)
  for (const name of ['location', 'content-type', 'idempotency-key', 'idempotency-expires', 'retry-after'])
    expect([name, replay.headers[name]]).toEqual([name, first.headers[name]])
  expect(first.headers['idempotent-replayed']).toBeUndefined()
  expect(replay.headers['idempotent-replayed']).toBe('true')
}

describe('a replay equals the first answer byte for byte', () => {
  test.each([
    ['an order', orderBody()],
    [
      'an order with text of every kind',
      orderBody({ note: 'Grüße "世界" \\ / \u2028 \u{1f680} \u007f \u0001\t</script>' }),
    ],
    [
      'an order of many items',
      orderBody({
        items: Array.from({ length: 100 }, (_, i) => ({ sku: `s${i}`, quantity: 1, unitPriceCents: 1 + i })),
      }),
    ],
    ['a declined order', orderBody({ paymentMethod: 'pm_declined' })],
  ])('%s', async (_title, body) => {
    const key = freshKey()
    const first = await site.client.order(key, body)
    for (let i = 0; i < 3; i++) expectReplay(await site.client.order(key, body), first)
    expect(await countCharges(site.url, body.customerId)).toBe(body.paymentMethod === 'pm_ok' ? 1 : 0)
  })

  test('a refund', async () => {
    const order = (await site.client.order(freshKey(), orderBody())).json<OrderView>()
    const key = freshKey()
    const first = await site.client.refund(order.id, key, { amountCents: 100, reason: 'too late' })
    expect(first.status).toBe(201)
    expectReplay(await site.client.refund(order.id, key, { amountCents: 100, reason: 'too late' }), first)
  })

  test('an order that was refunded since', async () => {
    const key = freshKey()
    const body = orderBody()
    const first = await site.client.order(key, body)
    const { id } = first.json<OrderView>()
    expect((await site.client.refund(id, freshKey())).status).toBe(201)
    expectReplay(await site.client.order(key, body), first)
    expect((await site.client.get(`/api/orders/${id}`)).json()).toMatchObject({
      status: 'refunded',
      refundedCents: 2500,
    })
  })

  test('whatever Prefer header the duplicate sends', async () => {
    const key = freshKey()
    const body = orderBody()
    const first = await site.client.order(key, body)
    for (const prefer of ['respond-async', 'wait=5', 'respond-async, wait=5', 'return=minimal'])
      expectReplay(await site.client.order(key, body, { prefer }), first)
  })

  test('for another API key of the tenant', async () => {
    const colleague = createClient(site.url, await addApiKey(site.databaseUrl, site.tenantId))
    const key = freshKey()
    const body = orderBody()
    const first = await site.client.order(key, body)
    expectReplay(await colleague.order(key, body), first)
    expect((await colleague.record(key)).status).toBe(200)
  })
})

test('Idempotency-Expires is the record’s expiresAt, 24 hours after the answer', async () => {
  const key = freshKey()
  const answer = await site.client.order(key, orderBody())
  const { expiresAt, completedAt } = (await site.client.record(key)).json<RecordView>()
  expect(answer.headers['idempotency-expires']).toBe(new Date(expiresAt).toUTCString())
  expect(Date.parse(expiresAt) - Date.parse(completedAt ?? '')).toBe(24 * 3_600_000)
})

describe('a request whose JSON is spelled in another way is replayed as the same request', () => {
  const canonical = (customerId: string) =>
    `{"customerId":"${customerId}","currency":"USD","items":[{"sku":"SKU-A","quantity":2,"unitPriceCents":1250}],"paymentMethod":"pm_ok"}`
  test.each([
    ['2 as 2.0', (text: string) => text.replace(':2,', ':2.0,')],
    ['2 as 2e0', (text: string) => text.replace(':2,', ':2e0,')],
    ['2 as 0.2E+1', (text: string) => text.replace(':2,', ':0.2E+1,')],
    ['2 as 200e-2', (text: string) => text.replace(':2,', ':200e-2,')],
    [
      'members in another order',
      (text: string) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text)).reverse())),
    ],
    [
      'an item’s members in another order',
      (text: string) => text.replace(/"sku":"SKU-A",("quantity":2),("unitPriceCents":1250)/, '$2,$1,"sku":"SKU-A"'),
    ],
    ['other white space', (text: string) => JSON.stringify(JSON.parse(text), null, '\t').replaceAll('\n', '\r\n')],
    [
      'escaped characters',
      (text: string) => text.replace('SKU-A', '\\u0053KU\\u002d\\u0041').replace('"USD"', '"\\u0055SD"'),
    ],
  ])('%s', async (_title, respell) => {
    const key = freshKey()
    const text = canonical(`cus_${key}`)
    expect(respell(text)).not.toBe(text)
    const first = await site.client.order(key, text)
    expect(first.status).toBe(201)
    expectReplay(await site.client.order(key, respell(text)), first)
    expect(await countCharges(site.url, `cus_${key}`)).toBe(1)
  })
})

describe('a request with another meaning and the same key is 422', () => {
  const two = [
    { sku: 'A', quantity: 1, unitPriceCents: 100 },
    { sku: 'B', quantity: 1, unitPriceCents: 100 },
  ]
  test.each([
    ['another amount', orderBody({ items: two }), { items: [two[0], { ...two[1], quantity: 2 }] }],
    ['items in another order', orderBody({ items: two }), { items: two.toReversed() }],
    ['another currency', orderBody(), { currency: 'EUR' }],
    ['another payment method', orderBody(), { paymentMethod: 'pm_ok2' }],
    ['a note where there was none', orderBody(), { note: 'x' }],
    ['an empty note where there was none', orderBody(), { note: '' }],
    ['a note in another case', orderBody({ note: 'Note' }), { note: 'note' }],
    ['a note in another Unicode normal form', orderBody({ note: 'caf\u00e9' }), { note: 'cafe\u0301' }],
    ['a note with one more space', orderBody({ note: 'x' }), { note: 'x ' }],
  ])('%s', async (_title, body, changes) => {
    const key = freshKey()
    const first = await site.client.order(key, body)
    expectProblem(await site.client.order(key, { ...body, ...changes }), 422, 'idempotency_key_reused', 'new')
    expectReplay(await site.client.order(key, body), first)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('the same refund under the path of another order', async () => {
    const [one, other] = await Promise.all([1, 2].map(() => site.client.order(freshKey(), orderBody())))
    const key = freshKey()
    expect((await site.client.refund(one!.json<OrderView>().id, key)).status).toBe(201)
    expectProblem(await site.client.refund(other!.json<OrderView>().id, key), 422, 'idempotency_key_reused', 'new')
  })
})

test('the same key on two endpoints stands for two requests', async () => {
  const key = freshKey()
  const order = (await site.client.order(key, orderBody())).json<OrderView>()
  const refund = await site.client.refund(order.id, key)
  expect(refund.status).toBe(201)
  expect(refund.headers['idempotent-replayed']).toBeUndefined()
})

test('keys are case-sensitive', async () => {
  const key = `Key-${freshKey()}`
  const body = orderBody()
  await site.client.order(key, body)
  const other = await site.client.order(key.toUpperCase(), body)
  expect(other.status).toBe(201)
  expect(other.headers['idempotent-replayed']).toBeUndefined()
})
