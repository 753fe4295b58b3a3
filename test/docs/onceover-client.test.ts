// The client that the guide shows, against a server that answers as it is told: when it tries again, with what, after how
// long, and when it stops.
import http, { type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type ClientOptions, createClient, NotKnownYet, Refused } from '../../app/docs/_examples/onceover-client'
import { PROBLEM_CODES } from '../../lib/http/openapi-problem'
import { PROBLEMS, type ProblemCode, problem } from '../../lib/http/problem'

const KEY = 'purchase-0123456789'
const ORDER = { customerId: 'cus_1', items: [1, 2] }

interface Reply {
  status: number
  headers?: Record<string, string>
  body?: string
}
type Script = Reply | 'hang up' | 'silence' | 'half an answer'

interface Received {
  method?: string
  headers: IncomingHttpHeaders
  body: string
}

const MADE: Reply = { status: 201, headers: { 'content-type': 'application/json' }, body: '{"id":"ord_1"}' }
const TOO_BUSY = problem('payment_provider_unavailable')

let close: () => void
afterEach(() => close?.())

/** A server that gives one answer after the other, and the last one again and again. */
async function scripted(scripts: readonly Script[], options: Partial<ClientOptions> = {}) {
  const received: Received[] = []
  const pauses: number[] = []
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const script = scripts[Math.min(received.length, scripts.length - 1)]!
    received.push({ method: request.method, headers: request.headers, body })
    if (script === 'hang up') request.socket.destroy()
    else if (script === 'half an answer') {
      response.writeHead(201, { 'content-length': '100' })
      response.write('{"id":', () => request.socket.destroy())
    } else if (script !== 'silence') response.writeHead(script.status, script.headers).end(script.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => {
    server.close()
    server.closeAllConnections()
  }
  const client = createClient({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey: 'oo_live_1',
    random: () => 1,
    pause: async (ms) => void pauses.push(ms),
    ...options,
  })
  return { client, received, pauses }
}

const order = (client: ReturnType<typeof createClient>) => client.post('/api/orders', KEY, ORDER)

describe('the example client of the guide', () => {
  it('sends the key quoted and returns the answer', async () => {
    const expires = 'Mon, 17 Nov 2025 13:58:02 GMT'
    const replay = { ...MADE, headers: { 'idempotent-replayed': 'true', 'idempotency-expires': expires } }
    const { client, received } = await scripted([replay])
    expect(await order(client)).toEqual({
      status: 201,
      body: { id: 'ord_1' },
      replayed: true,
      expiresAt: new Date(expires),
      tries: 1,
    })
    expect(received[0]).toMatchObject({
      method: 'POST',
      headers: { authorization: 'Bearer oo_live_1', 'idempotency-key': `"${KEY}"`, prefer: 'wait=10' },
      body: JSON.stringify(ORDER),
    })
  })

  it('escapes quotes and backslashes in the key', async () => {
    const { client, received } = await scripted([MADE])
    await client.post('/api/orders', 'a "quoted" \\ key', ORDER)
    expect(received[0]!.headers['idempotency-key']).toBe('"a \\"quoted\\" \\\\ key"')
  })

  it.each<[string, Script]>([
    ['a cut connection', 'hang up'],
    ['half an answer', 'half an answer'],
    ['no answer in time', 'silence'],
    ['an error page of a proxy', { status: 502, body: '<h1>Bad gateway</h1>' }],
    ['a page with status 200 that is not from Onceover', { status: 200, body: '<h1>Sign in to the Wi-Fi</h1>' }],
    ['a 429 of a proxy', { status: 429 }],
  ])('sends the same bytes with the same key again after %s', async (_, script) => {
    const { client, received } = await scripted([script, script, MADE], { timeoutMs: 200 })
    expect((await order(client)).tries).toBe(3)
    expect(new Set(received.map(({ body }) => body)).size).toBe(1)
    expect(new Set(received.map(({ headers }) => headers['idempotency-key']))).toEqual(new Set([`"${KEY}"`]))
  })

  it.each(PROBLEM_CODES.filter((code) => PROBLEMS[code].retry === 'later'))('tries again after %s', async (code) => {
    const { client, received } = await scripted([problem(code), MADE])
    expect((await order(client)).status).toBe(201)
    expect(received).toHaveLength(2)
  })

  it.each(PROBLEM_CODES.filter((code) => PROBLEMS[code].retry !== 'later'))('does not retry after %s', async (code) => {
    const { client, received } = await scripted([problem(code), MADE])
    const error = await order(client).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(Refused)
    expect(error).toMatchObject({ status: PROBLEMS[code].status, problem: { code } })
    expect(received).toHaveLength(1)
  })

  it.each([302, 307, 308, 404])('neither retries nor follows a %i that is not from Onceover', async (status) => {
    const { client, received } = await scripted([{ status, headers: { location: '/elsewhere' } }, MADE])
    await expect(order(client)).rejects.toMatchObject({ name: 'Refused', status, problem: null })
    expect(received).toHaveLength(1)
  })

  it('asks again for the answer of a request that was accepted with 202', async () => {
    const accepted: Reply = { status: 202, headers: { 'retry-after': '3' }, body: '{"state":"pending"}' }
    const { client, received, pauses } = await scripted([accepted, MADE], { firstDelayMs: 0 })
    const answer = await client.post('/api/orders', KEY, ORDER, { respondAsync: true })
    expect(answer).toMatchObject({ status: 201, body: { id: 'ord_1' } })
    expect(pauses).toEqual([3000])
    expect(received.map(({ headers }) => headers.prefer)).toEqual(Array(2).fill('respond-async, wait=10'))
  })

  it('sends the creation time of the key with every try', async () => {
    const madeAt = new Date('2025-11-16T13:58:02Z')
    const { client, received } = await scripted([TOO_BUSY, MADE])
    await client.post('/api/orders', KEY, ORDER, { madeAt })
    expect(received.map(({ headers }) => headers.date)).toEqual(Array(2).fill('Sun, 16 Nov 2025 13:58:02 GMT'))
  })

  it('sends a GET without a key', async () => {
    const { client, received } = await scripted([TOO_BUSY, { status: 200, body: '{"id":"ord_1"}' }])
    expect((await client.get('/api/orders/ord_1')).body).toEqual({ id: 'ord_1' })
    expect(received[1]!.headers['idempotency-key']).toBeUndefined()
  })
})

describe('the example client between two tries', () => {
  it('doubles its delay up to the longest when the server names no time', async () => {
    const { client, pauses } = await scripted([...Array<Script>(6).fill('hang up'), MADE], {
      firstDelayMs: 100,
      longestDelayMs: 1000,
    })
    await order(client)
    expect(pauses).toEqual([100, 200, 400, 800, 1000, 1000])
  })

  it('waits for a random part of its delay, so that clients do not return all at once', async () => {
    const { client, pauses } = await scripted(['hang up', 'hang up', MADE], { firstDelayMs: 100, random: () => 0.25 })
    await order(client)
    expect(pauses).toEqual([25, 50])
  })

  it.each([0, 0.5, 1])('never waits less than Retry-After, whatever the random number is: %d', async (drawn) => {
    const later = problem('rate_limited', { afterSeconds: 7 })
    const { client, pauses } = await scripted([later, MADE], { firstDelayMs: 100, random: () => drawn })
    await order(client)
    expect(pauses).toEqual([7000 + drawn * 100])
  })

  it('waits the seconds of the problem body when a proxy has dropped Retry-After', async () => {
    const { status, headers, body } = problem('rate_limited', { afterSeconds: 7 })
    const { 'retry-after': _, ...kept } = headers
    const { client, pauses } = await scripted([{ status, headers: kept, body }, MADE], { firstDelayMs: 0 })
    await order(client)
    expect(pauses).toEqual([7000])
  })

  it('waits until a Retry-After that is a date', async () => {
    const inTenSeconds = new Date(Date.now() + 10_000).toUTCString()
    const { client, pauses } = await scripted([{ status: 503, headers: { 'retry-after': inTenSeconds } }, MADE], {
      firstDelayMs: 0,
    })
    await order(client)
    expect(pauses[0]).toBeGreaterThan(5000)
    expect(pauses[0]).toBeLessThanOrEqual(10_000)
  })

  it('gives up at once when the server names a time beyond its limit, and reports that time', async () => {
    const unknown = problem('idempotency_outcome_unknown', { afterSeconds: 600 })
    const { client, received, pauses } = await scripted([unknown], { giveUpAfterMs: 120_000, firstDelayMs: 0 })
    const error = await order(client).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(NotKnownYet)
    expect(error).toMatchObject({ retryAfterMs: 600_000, cause: { code: 'idempotency_outcome_unknown' } })
    expect({ tries: received.length, pauses }).toEqual({ tries: 1, pauses: [] })
  })

  it('gives up when its time limit is over, with the last error as the cause', async () => {
    const { client } = await scripted(['hang up'], {
      giveUpAfterMs: 150,
      firstDelayMs: 20,
      pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    })
    await expect(order(client)).rejects.toMatchObject({ name: 'NotKnownYet', cause: expect.any(TypeError) })
  })

  it('does not retry a request that can’t be sent at all', async () => {
    const { client, received, pauses } = await scripted([MADE])
    await expect(client.post('/api/orders', 'a key\nwith a line break', ORDER)).rejects.toThrow(TypeError)
    expect({ received, pauses }).toEqual({ received: [], pauses: [] })
  })
})

// Keeps the list above honest: what a program may send again by itself is what names a time.
it('every problem with a retry time tells the client to keep its key', () => {
  for (const code of PROBLEM_CODES) {
    const { retry } = JSON.parse(problem(code as ProblemCode).body)
    if (retry.afterSeconds !== null) expect(retry).toMatchObject({ sameKey: true, newKey: false })
  }
})
