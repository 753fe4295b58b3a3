// Reading: orders, their list, refunds, the document of the API, and what a load balancer asks.
import { beforeAll, describe, expect, test } from 'vitest'
import {
  ADMIN_TOKEN,
  charges,
  createClient,
  freshKey,
  type OrderView,
  orderBody,
  type RefundView,
  send,
} from '../support/client'
import { expectProblem } from '../support/problem'
import { type SharedSite, shareSite } from '../support/site'
import { addTenant } from '../support/tenant'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

const cursorOf = (position: unknown) => Buffer.from(JSON.stringify(position)).toString('base64url')

describe('an order', () => {
  test('is returned by GET as its POST answered, and is found by HEAD', async () => {
    const order = (await site.client.order(freshKey(), orderBody())).json<OrderView>()
    const read = await site.client.get(`/api/orders/${order.id}`)
    expect(read.status).toBe(200)
    expect(read.headers['content-type']).toBe('application/json')
    expect(read.headers['cache-control']).toBe('no-store')
    expect(read.json()).toStrictEqual(order)
    expect((await site.client.send(`/api/orders/${order.id}`, { method: 'HEAD' })).status).toBe(200)
  })

  test.each([
    'ord_none',
    '%00',
    'ord_%00',
    '%F0%9F%98%80',
    "ord_'%20OR%201=1",
    'x'.repeat(3000),
    encodeURIComponent('../orders'),
  ])('with the unknown id %s is 404', async (id) => {
    expectProblem(await site.client.get(`/api/orders/${id}`), 404, 'order_not_found', 'none')
  })
})

describe('the order list', () => {
  interface Page {
    items: OrderView[]
    nextCursor: string | null
  }
  let mine: ReturnType<typeof createClient>
  const ids: string[] = []
  beforeAll(async () => {
    mine = createClient(site.url, (await addTenant(site.databaseUrl)).apiKey)
    // In bursts, so that some of them share a millisecond.
    for (let burst = 0; burst < 3; burst++) {
      const made = await Promise.all(Array.from({ length: 8 }, () => mine.order(freshKey(), orderBody())))
      ids.push(...made.map((answer) => answer.json<OrderView>().id))
    }
  })

  const page = async (query: string) => {
    const answer = await mine.get(`/api/orders${query}`)
    expect(answer.status).toBe(200)
    return answer.json<Page>()
  }

  test('is newest first, 20 at a time, with whole orders', async () => {
    const first = await page('')
    expect(Object.keys(first).sort()).toEqual(['items', 'nextCursor'])
    expect(first.items).toHaveLength(20)
    const times = first.items.map((order) => Date.parse(order.createdAt))
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    const [newest] = first.items
    expect((await mine.get(`/api/orders/${newest?.id}`)).json()).toStrictEqual(newest)
  })

  test.each([1, 5, 7, 24, 100])('in pages of %i shows each order once, and then ends', async (limit) => {
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const shown: Page = await page(`?limit=${limit}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
      expect(shown.items.length).toBeLessThanOrEqual(limit)
      seen.push(...shown.items.map((order) => order.id))
      cursor = shown.nextCursor
    }
    expect(seen.length).toBe(24)
    expect(new Set(seen)).toEqual(new Set(ids))
  })

  test('does not shift its next page when a new order is placed', async () => {
    const first = await page('?limit=20')
    const added = await mine.order(freshKey(), orderBody())
    const second = await page(`?limit=20&cursor=${first.nextCursor}`)
    expect(second.items).toHaveLength(4)
    expect(second.nextCursor).toBeNull()
    ids.push(added.json<OrderView>().id)
    expect((await page('?limit=1')).items[0]?.id).toBe(ids.at(-1))
  })

  test('is empty for a tenant without orders', async () => {
    const fresh = createClient(site.url, (await addTenant(site.databaseUrl)).apiKey)
    expect((await fresh.get('/api/orders')).json()).toStrictEqual({ items: [], nextCursor: null })
  })

  test.each(['0', '101', '-1', '1.5', 'ten', ''])('refuses limit=%s', async (limit) => {
    const { issues } = expectProblem(await mine.get(`/api/orders?limit=${limit}`), 400, 'invalid_request', 'same')
    expect(issues?.map((issue) => issue.path)).toEqual(['limit'])
  })

  test.each([
    ['not base64', '%%%'.replaceAll('%', '%25')],
    ['not JSON', 'bm90IGpzb24'],
    ['another shape', cursorOf({ page: 2 })],
    ['an invalid time', cursorOf({ createdAt: 'yesterday', id: 'ord_1' })],
    ['a year that PostgreSQL does not have', cursorOf({ createdAt: '0000-01-01T00:00:00.000Z', id: 'ord_1' })],
    ['an id with a NUL', cursorOf({ createdAt: '2026-01-01T00:00:00.000Z', id: 'ord_\0' })],
    ['empty', ''],
  ])('refuses a bad cursor: %s', async (_title, cursor) => {
    const { issues } = expectProblem(await mine.get(`/api/orders?cursor=${cursor}`), 400, 'invalid_request', 'same')
    expect(issues?.map((issue) => issue.path)).toEqual(['cursor'])
  })
})

describe('a refund', () => {
  test('is returned as its POST answered, and is 404 under another order', async () => {
    const [order, other] = await Promise.all(
      [1, 2].map(async () => (await site.client.order(freshKey(), orderBody())).json<OrderView>()),
    )
    const made = await site.client.refund(order!.id, freshKey(), { amountCents: 5, reason: 'a scratch' })
    const refund = made.json<RefundView>()
    const read = await site.client.get(made.headers.location as string)
    expect(read.status).toBe(200)
    expect(read.json()).toStrictEqual(refund)
    for (const path of [`${other!.id}/refunds/${refund.id}`, `${order!.id}/refunds/ref_none`, `%00/refunds/%00`])
      expectProblem(await site.client.get(`/api/orders/${path}`), 404, 'refund_not_found', 'none')
  })
})

describe('without authentication', () => {
  test.each([
    '/api/orders',
    '/api/orders/ord_1',
    '/api/orders/ord_1/refunds/ref_1',
    '/api/idempotency-keys/0123456789abcdef',
  ])('GET %s is 401', async (path) => {
    const answer = await send(new URL(path, site.url))
    expectProblem(answer, 401, 'unauthenticated', 'same')
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
  })

  test('the sandbox’s charges are 401, even with a tenant’s API key', async () => {
    expectProblem(await send(`${site.url}/api/sandbox/charges?customerId=c`), 401, 'unauthenticated', 'same')
    expectProblem(await site.client.get('/api/sandbox/charges?customerId=c'), 401, 'unauthenticated', 'same')
  })

  test('the OpenAPI document, health and readiness are public', async () => {
    for (const path of ['/api/openapi.json', '/api/health', '/api/ready'])
      expect({ path, status: (await send(new URL(path, site.url))).status }).toEqual({ path, status: 200 })
  })
})

test('the sandbox lists a customer’s charges and refunds, and nothing for an unknown customer', async () => {
  const body = orderBody()
  const order = (await site.client.order(freshKey(), body)).json<OrderView>()
  await site.client.refund(order.id, freshKey(), { amountCents: 500 })
  const booked = await charges(site.url, body.customerId)
  const common = {
    ref: expect.stringMatching(/\S/),
    customerId: body.customerId,
    orderId: order.id,
    status: 'succeeded',
  }
  const createdAt = expect.stringMatching(/Z$/)
  expect(booked.toSorted((a, b) => a.kind.localeCompare(b.kind))).toStrictEqual([
    { ...common, kind: 'charge', amountCents: 2500, createdAt },
    { ...common, kind: 'refund', amountCents: 500, createdAt },
  ])
  expect(booked.find((entry) => entry.kind === 'charge')?.ref).toBe(order.payment?.providerRef)
  expect(await charges(site.url, 'nobody')).toEqual([])
})

test('the sandbox’s list with a limit goes on at its cursor, and ends with nextCursor null', async () => {
  const { customerId } = orderBody()
  for (let i = 0; i < 3; i++) await site.client.order(freshKey(), orderBody({ customerId }))
  const page = async (query: string) => {
    const answer = await send(`${site.url}/api/sandbox/charges?customerId=${customerId}${query}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    })
    expect(answer.status).toBe(200)
    return answer.json<{ items: object[]; nextCursor: string | null }>()
  }
  const { items, nextCursor } = await page('')
  expect(items).toHaveLength(3)
  expect(nextCursor).toBeNull()
  const first = await page('&limit=2')
  const second = await page(`&limit=2&cursor=${first.nextCursor}`)
  expect([...first.items, ...second.items]).toEqual(items)
  expect(second.nextCursor).toBeNull()
})

test.each(['limit=0', 'limit=1001', 'cursor=nonsense'])('the sandbox refuses a list with %s', async (query) => {
  const answer = await send(`${site.url}/api/sandbox/charges?customerId=cus_1&${query}`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  expectProblem(answer, 400, 'invalid_request', 'same')
})

test.each(['%00', '', 'x'.repeat(65)])('the sandbox refuses an invalid customer id: %s', async (customerId) => {
  const answer = await send(`${site.url}/api/sandbox/charges?customerId=${customerId}`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  expectProblem(answer, 400, 'invalid_request', 'same')
})

test('the OpenAPI document is version 3.1 and names the client’s calls and every status of an order', async () => {
  const answer = await send(`${site.url}/api/openapi.json`)
  expect(answer.headers['content-type']).toMatch(/^application\/json/)
  const document = answer.json<{ openapi: string; paths: Record<string, Record<string, { responses: object }>> }>()
  expect(document.openapi).toMatch(/^3\.1\./)
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  for (const call of [
    'POST /api/orders',
    'GET /api/orders',
    'GET /api/orders/{id}',
    'POST /api/orders/{id}/refunds',
    'GET /api/orders/{id}/refunds/{refundId}',
    'GET /api/idempotency-keys/{key}',
    'GET /api/health',
    'GET /api/ready',
  ])
    expect(calls).toContain(call)
  const statuses = Object.keys(document.paths['/api/orders']?.post?.responses ?? {})
  for (const status of [201, 202, 400, 401, 402, 408, 409, 410, 413, 415, 422, 429, 500, 503, 504])
    expect(statuses).toContain(String(status))
})

test('an unknown API path gets a 404 problem document, not an HTML page', async () => {
  expectProblem(await site.client.get('/api/order'), 404, 'not_found', 'none')
})
