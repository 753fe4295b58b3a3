// What a body may be: media type, size, JSON, and each field at both of its ends. What is refused is not stored.
import { once } from 'node:events'
import net from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { freshKey, type OrderView, orderBody } from '../support/client'
import { expectProblem } from '../support/problem'
import { type SharedSite, shareSite } from '../support/site'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

const LIMIT = 256 * 1024
const item = { sku: 'SKU-1', quantity: 1, unitPriceCents: 1 }
const items = (changes: object) => ({ items: [{ ...item, ...changes }] })
const ofSize = (bytes: number) => {
  const text = JSON.stringify(orderBody())
  return text + ' '.repeat(bytes - Buffer.byteLength(text))
}

async function expectRefused(body: unknown, path: string | null) {
  const key = freshKey()
  const { issues } = expectProblem(await site.client.order(key, body), 400, 'invalid_request', 'same')
  if (path !== null) expect(issues?.map((issue) => issue.path)).toContain(path)
  expect(issues?.length).toBeGreaterThan(0)
  expect((await site.client.record(key)).status).toBe(404)
}

describe('the media type of an order', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON',
    ' application/json ;charset=UTF-8',
  ])('%s is accepted', async (type) => {
    expect((await site.client.order(freshKey(), orderBody(), { 'content-type': type })).status).toBe(201)
  })

  test.each([
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json-patch+json',
    'application/jsonx',
    'json',
  ])('%s is refused with 415', async (type) => {
    const answer = await site.client.order(freshKey(), orderBody(), { 'content-type': type })
    expectProblem(answer, 415, 'unsupported_media_type', 'same')
  })
})

describe('the size of a request body', () => {
  test('256 KiB are accepted, with a Content-Length and without', async () => {
    const body = ofSize(LIMIT)
    expect((await site.client.order(freshKey(), body)).status).toBe(201)
    expect((await site.client.order(freshKey(), [body.slice(0, 1000), body.slice(1000)])).status).toBe(201)
  })

  test.each([
    ['one byte over 256 KiB', LIMIT + 1],
    ['8 MiB', 8 * 1024 * 1024],
  ])('%s is refused with 413, with a Content-Length and without', async (_title, bytes) => {
    const body = ofSize(bytes)
    expectProblem(await site.client.order(freshKey(), body), 413, 'body_too_large', 'same')
    const chunks = Array.from({ length: Math.ceil(bytes / 65_536) }, (_, i) => body.slice(i * 65_536, (i + 1) * 65_536))
    expectProblem(await site.client.order(freshKey(), chunks), 413, 'body_too_large', 'same')
  })

  test('a body that is announced as too large and never sent is refused with 413', async () => {
    const { port } = new URL(site.url)
    const socket = net.connect(Number(port), 'localhost')
    socket.write(
      `POST /api/orders HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${site.apiKey}\r\n` +
        `Content-Type: application/json\r\nContent-Length: 999999999\r\n\r\n{`,
    )
    const [first] = (await once(socket, 'data')) as [Buffer]
    expect(first.toString()).toMatch(/^HTTP\/1.1 413 /)
    socket.destroy()
  })
})

describe('the JSON of an order', () => {
  test.each([
    ['nothing at all', ''],
    ['half an object', '{"customerId":"cus_1"'],
    ['a trailing comma', `${JSON.stringify(orderBody()).slice(0, -1)},}`],
    ['two values', `${JSON.stringify(orderBody())}{}`],
    ['single quotes', "{'customerId':'cus_1'}"],
    ['NaN', JSON.stringify(orderBody()).replace('1250', 'NaN')],
    ['a number with a leading zero', JSON.stringify(orderBody()).replace('1250', '01250')],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['a raw control character in a string', '{"customerId":"a\u0001b"}'],
  ])('%s is refused as malformed_json', async (_title, body) => {
    expectProblem(await site.client.order(freshKey(), body), 400, 'malformed_json', 'same')
  })

  test.each(['null', '[]', '"text"', '1', 'true', '[[[[[[[[]]]]]]]]'])('%s is refused as an order', async (body) => {
    await expectRefused(body, null)
  })

  test('a body of 100,000 nested brackets is refused like any other', async () => {
    expectProblem(await site.client.order(freshKey(), '['.repeat(200_000)), 400, 'malformed_json', 'same')
    await expectRefused('['.repeat(100_000) + ']'.repeat(100_000), null)
  })
})

describe('an order at the limits of each field', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => ({ ...item, sku: `SKU-${i}` }))
  test.each([
    ['customerId of 1 character', { customerId: 'c' }],
    ['customerId of 64 characters', { customerId: 'c'.repeat(64) }],
    ['customerId of 64 characters beyond the BMP', { customerId: '😀'.repeat(64) }],
    ['sku of 1 character', items({ sku: 's' })],
    ['sku of 64 characters', items({ sku: 's'.repeat(64) })],
    ['1 item', { items: [item] }],
    ['100 items', { items: hundred }],
    ['quantity 1', items({ quantity: 1 })],
    ['quantity 1000', items({ quantity: 1000 })],
    ['unitPriceCents 1', items({ unitPriceCents: 1 })],
    ['unitPriceCents 100 000 000', items({ unitPriceCents: 100_000_000 })],
    ['a total of 2 000 000 000', items({ quantity: 20, unitPriceCents: 100_000_000 })],
    ['an empty note', { note: '' }],
    ['a note of 500 characters', { note: 'n'.repeat(500) }],
    ['a note of 500 characters beyond the BMP', { note: '😀'.repeat(500) }],
    ['another currency', { currency: 'JPY' }],
    ['a payment method that is not listed', { paymentMethod: 'pm_card_visa' }],
    ['text in any script', { note: 'Grüße, 世界, \u200f\u{1f469}\u200d\u{1f680} \t\n\u0001' }],
  ])('%s is accepted', async (_title, changes) => {
    const body = orderBody(changes)
    const answer = await site.client.order(freshKey(), body)
    expect({ status: answer.status, body: answer.bytes.toString() }).toMatchObject({ status: 201 })
    const order = answer.json<OrderView>()
    expect(order).toMatchObject({ customerId: body.customerId, items: body.items, note: body.note ?? null })
    expect(order.amountCents).toBe(
      body.items.reduce((sum, { quantity, unitPriceCents }) => sum + quantity * unitPriceCents, 0),
    )
    expect((await site.client.get(`/api/orders/${order.id}`)).json()).toStrictEqual(order)
  })

  test.each([
    ['customerId of 0 characters', { customerId: '' }, 'customerId'],
    ['customerId of 65 characters', { customerId: 'c'.repeat(65) }, 'customerId'],
    ['customerId that is a number', { customerId: 1042 }, 'customerId'],
    ['no customerId', { customerId: undefined }, 'customerId'],
    ['sku of 0 characters', items({ sku: '' }), 'items[0].sku'],
    ['sku of 65 characters', items({ sku: 's'.repeat(65) }), 'items[0].sku'],
    ['no sku', items({ sku: undefined }), 'items[0].sku'],
    ['no items', { items: [] }, 'items'],
    ['items missing', { items: undefined }, 'items'],
    ['101 items', { items: [...hundred, item] }, 'items'],
    ['quantity 0', items({ quantity: 0 }), 'items[0].quantity'],
    ['quantity 1001', items({ quantity: 1001 }), 'items[0].quantity'],
    ['quantity -1', items({ quantity: -1 }), 'items[0].quantity'],
    ['quantity 1.5', items({ quantity: 1.5 }), 'items[0].quantity'],
    ['quantity as text', items({ quantity: '1' }), 'items[0].quantity'],
    ['quantity null', items({ quantity: null }), 'items[0].quantity'],
    ['unitPriceCents 0', items({ unitPriceCents: 0 }), 'items[0].unitPriceCents'],
    ['unitPriceCents 0.5', items({ unitPriceCents: 0.5 }), 'items[0].unitPriceCents'],
    ['unitPriceCents 100 000 001', items({ unitPriceCents: 100_000_001 }), 'items[0].unitPriceCents'],
    ['a total of 2 000 000 001', { items: [{ ...item, quantity: 20, unitPriceCents: 100_000_000 }, item] }, 'items'],
    ['a note of 501 characters', { note: 'n'.repeat(501) }, 'note'],
    ['currency in small letters', { currency: 'usd' }, 'currency'],
    ['currency of two letters', { currency: 'US' }, 'currency'],
    ['a currency that does not exist', { currency: 'ZZZ' }, 'currency'],
    ['no currency', { currency: undefined }, 'currency'],
    ['no payment method', { paymentMethod: undefined }, 'paymentMethod'],
    ['an empty payment method', { paymentMethod: '' }, 'paymentMethod'],
  ])('%s is refused', async (_title, changes, path) => {
    await expectRefused({ ...orderBody(), ...changes }, path)
  })

  test('a number that is too large for a double is refused', async () => {
    await expectRefused(JSON.stringify(orderBody()).replace('1250', '1e999'), 'items[0].unitPriceCents')
  })
})

describe('a NUL or a lone surrogate in a text of an order is refused', () => {
  const spelled = (changes: object, text: string) =>
    JSON.stringify({ ...orderBody(), ...changes }).replace('TEXT', text)
  test.each([
    ['customerId', { customerId: 'a TEXT' }],
    ['items[0].sku', items({ sku: 'a TEXT' })],
    ['note', { note: 'a TEXT' }],
    ['paymentMethod', { paymentMethod: 'a TEXT' }],
  ])('in %s', async (path, changes) => {
    await expectRefused(spelled(changes, '\\u0000'), path)
    await expectRefused(spelled(changes, '\\ud800'), path)
    await expectRefused(spelled(changes, '\\udc00\\ud800'), path)
    const pair = await site.client.order(freshKey(), spelled({ note: 'TEXT' }, '\\ud83d\\ude00'))
    expect(pair.json<OrderView>().note).toBe('😀')
  })

  test('in currency', async () => {
    await expectRefused(spelled({ currency: 'TEXT' }, 'US\\u0000'), 'currency')
    await expectRefused(spelled({ currency: 'TEXT' }, 'US\\ud800'), 'currency')
  })
})

describe('unknown fields of an order are refused', () => {
  const withMember = (name: string) => JSON.stringify(orderBody()).replace('{', `{"${name}":{"a":1},`)
  test.each(['tenantId', 'id', 'amountCents', 'constructor', 'toString', '__proto__', ''])(
    '%j in the order',
    async (name) => {
      await expectRefused(withMember(name), null)
    },
  )

  test.each(['discount', '__proto__'])('%j in an item', async (name) => {
    await expectRefused(JSON.stringify(orderBody()).replace('[{', `[{"${name}":1,`), null)
  })

  test('a known field in another letter case', async () => {
    const { customerId, ...rest } = orderBody()
    await expectRefused({ ...rest, CustomerId: customerId }, 'customerId')
  })
})

describe('a refund', () => {
  let orderId: string
  beforeAll(async () => {
    orderId = (await site.client.order(freshKey(), orderBody())).json<OrderView>().id
  })

  test.each([
    ['amountCents 0', { amountCents: 0 }],
    ['amountCents -1', { amountCents: -1 }],
    ['amountCents 1.5', { amountCents: 1.5 }],
    ['amountCents as text', { amountCents: '1' }],
    ['an unknown field', { amount: 1 }],
    ['a reason with a NUL', { reason: 'a\0b' }],
    ['a reason with a lone surrogate', { reason: 'a\ud800' }],
    ['a list as its body', []],
  ])('with %s is refused', async (_title, body) => {
    const key = freshKey()
    const text = JSON.stringify(body)
    expectProblem(await site.client.refund(orderId, key, text), 400, 'invalid_request', 'same')
    expect((await site.client.record(key, 'POST /api/orders/{id}/refunds')).status).toBe(404)
  })
})

test.each([
  ['an unknown API key', 401, { authorization: 'Bearer nobody' }],
  ['a wrong media type', 415, { 'content-type': 'text/plain' }],
  ['a body that is too large', 413, {}],
])(
  'a client that is refused while still sending gets the answer, not a broken connection: %s',
  async (_title, status, headers) => {
    const body = ofSize(8 * 1024 * 1024)
    const answers = await Promise.all(Array.from({ length: 5 }, () => site.client.order(freshKey(), body, headers)))
    expect(answers.map((answer) => answer.status)).toEqual(Array(5).fill(status))
  },
)
