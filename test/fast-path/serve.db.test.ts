// The fast path on Node's own server: the same answers as through Next, byte for byte, replays without a statement, and
// only for what plainly names a keyed route.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { KEYED_ROUTES } from '../../app/api/keyed-routes'
import { openFastPath } from '../../lib/fast-path/serve'
import { type Counted, openCounted } from '../metrics/counted'
import { orderOf } from '../metrics/node'
import { recordStatements } from '../support/boundary'

const ELSEWHERE = 418
const PATIENCE = { timeout: 30_000, interval: 20 }

let site: Counted
let server: http.Server
let origin: string
let statements: string[]
beforeAll(async () => {
  site = await openCounted()
  statements = recordStatements(site.node.store.pool)
  const take = openFastPath(site.node, KEYED_ROUTES)
  server = http.createServer((request, response) => {
    if (!take(request, response)) response.writeHead(ELSEWHERE).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => site.newTenant())
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await site.close()
})

const headersFor = (key: string) => ({
  authorization: `Bearer ${site.tenant.apiKey}`,
  'content-type': 'application/json',
  'idempotency-key': key,
})

function post(path: string, body: unknown, key: string = randomUUID()) {
  return fetch(origin + path, { method: 'POST', headers: headersFor(key), body: JSON.stringify(body) })
}

/** The statements on the tables of a keyed request, without those that write down replays every two seconds. */
async function asked(work: () => Promise<unknown>): Promise<number> {
  const before = statements.length
  await work()
  return statements
    .slice(before)
    .filter((text) => /idempotency_records|misuse/.test(text) && !text.includes('replay_count')).length
}

/** Until this order is replayed from memory. */
const cached = (key: string, body: unknown) =>
  vi.waitFor(async () => expect(await asked(() => post('/api/orders', body, key))).toBe(0), PATIENCE)

async function told(response: Response) {
  const own = ['date', 'connection', 'keep-alive', 'content-length', 'x-request-id']
  return {
    status: response.status,
    headers: [...response.headers].filter(([name]) => !own.includes(name)).sort(),
    body: await response.text(),
  }
}

describe('a keyed request', () => {
  it('gets the same answer from Node’s server as from Next’s route', async () => {
    const sent = { key: randomUUID(), body: orderOf() }
    expect((await post('/api/orders', sent.body, sent.key)).status).toBe(201)
    expect(await told(await post('/api/orders', sent.body, sent.key))).toEqual(await told(await site.order(sent)))
    const bad = { key: randomUUID(), body: { currency: 'nothing' } }
    expect(await told(await post('/api/orders', bad.body, bad.key))).toEqual(await told(await site.order(bad)))
  })

  it.each(['plain', 'Grüße', '世界'])('is replayed with the same bytes: %s', async (note) => {
    const order = { ...orderOf(), note }
    const bytes = async (key: string) => Buffer.from(await (await post('/api/orders', order, key)).arrayBuffer())
    // Until the LISTEN connection is there.
    await vi.waitFor(async () => {
      const key = randomUUID()
      const first = await bytes(key)
      expect(JSON.parse(first.toString())).toMatchObject({ note })
      expect(await asked(async () => expect(await bytes(key)).toEqual(first))).toBe(0)
    }, PATIENCE)
  })

  it('is replayed without a statement when its bytes come again, and from the store in another spelling', async () => {
    const { items, ...rest } = orderOf()
    const key = randomUUID()
    const first = await told(await post('/api/orders', { items, ...rest }, key))
    await cached(key, { items, ...rest })
    const spelled = async (body: unknown, spelling: string) => {
      let answer: Awaited<ReturnType<typeof told>> | undefined
      const statements = await asked(async () => {
        answer = await told(await post('/api/orders', body, spelling))
      })
      expect(statements).toBeGreaterThan(0)
      expect(answer).toMatchObject({ status: 201, body: first.body })
      expect(answer?.headers).toContainEqual(['idempotent-replayed', 'true'])
    }
    await spelled({ items, ...rest }, `"${key}"`)
    await spelled({ ...rest, items }, key)
    expect((await post('/api/orders', orderOf(), key)).status).toBe(422)
  })

  it('is counted as a replay, on its record too, whether memory or the store answers it', async () => {
    const key = randomUUID()
    const body = orderOf()
    await post('/api/orders', body, key)
    await cached(key, body)
    const replays = async () => (await site.counters()).reserve_replay ?? 0
    const before = await replays()
    expect(await asked(() => post('/api/orders', body, key))).toBe(0)
    await post('/api/orders', body, `"${key}"`)
    expect(await replays()).toBe(before + 2)
    await site.node.metrics.flush()
    const [row] = await site.sqlOf<{ replay_count: number }>(
      'SELECT replay_count FROM idempotency_records WHERE key = $1',
      key,
    )
    expect(row).toEqual({ replay_count: before + 2 })
  })

  it('is answered with 410 after an operator has ended its key, not from memory', async () => {
    const key = randomUUID()
    const body = orderOf()
    await post('/api/orders', body, key)
    await cached(key, body)
    await site.sqlOf(`UPDATE idempotency_records SET expires_at = clock_timestamp() WHERE key = $1`, key)
    await vi.waitFor(async () => expect((await post('/api/orders', body, key)).status).toBe(410), PATIENCE)
  })

  it('is handled with the parameters of its path', async () => {
    const { id } = await (await post('/api/orders', orderOf())).json()
    expect(await (await post(`/api/orders/${id}/refunds?by=curl`, {})).json()).toMatchObject({ orderId: id })
    expect((await post('/api/orders/ord_nobody/refunds', {})).status).toBe(404)
  })

  it('that is too large gets 413, and its connection stays usable', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const ask = async (body: string) => {
      const request = http.request(`${origin}/api/orders`, { method: 'POST', agent, headers: headersFor(randomUUID()) })
      request.end(body)
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      response.resume()
      await once(response, 'end')
      return response.statusCode
    }
    expect(await ask(`"${'x'.repeat(300_000)}"`)).toBe(413)
    expect(await ask(JSON.stringify(orderOf()))).toBe(201)
    agent.destroy()
  })

  it('without an API key gets 401 although its announced body never comes', async () => {
    const socket = net.connect(Number(new URL(origin).port), '127.0.0.1')
    socket.write('POST /api/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /)
    socket.destroy()
  })

  it('with an API key and a wrong content type gets 415 although its announced body never comes', async () => {
    expect((await post('/api/orders', orderOf())).status).toBe(201)
    const socket = net.connect(Number(new URL(origin).port), '127.0.0.1')
    const headers = { ...headersFor(randomUUID()), 'content-type': 'text/plain', 'content-length': 100 }
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`POST /api/orders HTTP/1.1\r\nhost: x\r\n${head.join('')}\r\n{`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 415 /)
    socket.destroy()
  })

  it('that fails with a bug loses its connection, and the next request is answered', async () => {
    const sent = { key: randomUUID(), body: orderOf() }
    await post('/api/orders', sent.body, sent.key)
    await cached(sent.key, sent.body)
    const counting = vi.spyOn(site.node.metrics, 'replayed').mockImplementationOnce(() => {
      throw new Error('a bug')
    })
    await expect(post('/api/orders', sent.body, sent.key)).rejects.toThrow()
    expect(counting).toHaveBeenCalledOnce()
    counting.mockRestore()
    expect((await post('/api/orders', sent.body, sent.key)).status).toBe(201)
  })

  it('is timed from its arrival, its body included', async () => {
    await post('/api/orders', orderOf())
    const answered = vi.spyOn(site.node.metrics, 'answered')
    const body = JSON.stringify(orderOf())
    const headers = { ...headersFor(randomUUID()), 'content-length': body.length }
    const request = http.request(`${origin}/api/orders`, { method: 'POST', headers })
    request.write(body.slice(0, 1))
    await new Promise((resolve) => setTimeout(resolve, 300))
    request.end(body.slice(1))
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    const seconds = answered.mock.calls.at(-1)![2]
    answered.mockRestore()
    expect(seconds).toBeGreaterThan(0.29)
  })

  it('whose API key is revoked while its body arrives gets 401, not the cached response', async () => {
    const sent = { key: randomUUID(), body: orderOf() }
    await post('/api/orders', sent.body, sent.key)
    const body = JSON.stringify(sent.body)
    const headers = { ...headersFor(sent.key), 'content-length': body.length }
    await cached(sent.key, sent.body)
    const acceptedMs = performance.now()
    const request = http.request(`${origin}/api/orders`, { method: 'POST', headers })
    request.write(body.slice(0, 1))
    await once(server, 'request')
    const authenticate = vi.spyOn(site.node.authenticator, 'authenticate').mockResolvedValue(null)
    await vi.waitFor(() => expect(performance.now() - acceptedMs).toBeGreaterThan(1000), PATIENCE)
    request.end(body.slice(1))
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    authenticate.mockRestore()
    expect(response.statusCode).toBe(401)
  })

  it('whose client disconnects in the middle of the body leaves no record', async () => {
    const key = randomUUID()
    const before = (await site.sqlOf<{ n: number }>('SELECT count(*)::int AS n FROM idempotency_records'))[0]!.n
    server.closeIdleConnections()
    await vi.waitFor(async () => expect(await connections()).toBe(0), PATIENCE)
    const socket = net.connect(Number(new URL(origin).port), '127.0.0.1')
    const head = Object.entries(headersFor(key)).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`POST /api/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n${head.join('')}\r\n{`)
    await vi.waitFor(async () => expect(await connections()).toBe(1), PATIENCE)
    socket.destroy()
    await vi.waitFor(async () => expect(await connections()).toBe(0), PATIENCE)
    expect(await site.sqlOf('SELECT count(*)::int AS n FROM idempotency_records')).toEqual([{ n: before }])
  })
})

const connections = () =>
  new Promise<number>((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

it.each([
  ['another method', 'GET', '/api/orders'],
  ['a slash at the end', 'POST', '/api/orders/'],
  ['a spelling with escapes', 'POST', '/api/%6frders'],
  ['a parameter with escapes', 'POST', '/api/orders/ord%5f1/refunds'],
  ['a longer path', 'POST', '/api/orders/ord_1/refunds/ref_1'],
  ['a path that only begins the same', 'POST', '/api/orders-of-others'],
  ['a path with the name of its parameter', 'POST', '/api/orders/{id}/refunds'],
  ['another route', 'POST', '/api/webhooks/sandbox'],
])('a request with %s is left to Next', async (_, method, path) => {
  // Not fetch, which would spell some of them in its own way.
  const request = http.request(origin, { method, path }).end()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.resume()
  expect(response.statusCode).toBe(ELSEWHERE)
})
