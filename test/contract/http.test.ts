// What HTTP itself asks of a node, whatever the address.
import { once } from 'node:events'
import net from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { type Answer, freshKey, orderBody, type ProblemView, type Sending, send } from '../support/client'
import { type SharedSite, shareSite } from '../support/site'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

const ask = (path: string, sending?: Sending): Promise<Answer> => send(new URL(path, site.url), sending)

/** All that comes back until the other side closes. */
async function exchange(sent: string, { end = false } = {}): Promise<string> {
  const socket = net.connect({ port: Number(new URL(site.url).port), allowHalfOpen: true })
  if (end) socket.end(sent)
  else socket.write(sent)
  let answered = ''
  for await (const chunk of socket) answered += chunk
  return answered
}

function orderText(key: string): string {
  const body = JSON.stringify(orderBody())
  return (
    `POST /api/orders HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${site.apiKey}\r\nIdempotency-Key: ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  )
}

test.each([
  ['POST', '/robots.txt', 'GET, HEAD'],
  ['DELETE', '/docs', 'GET, HEAD'],
  ['PUT', '/login', 'GET, HEAD, POST'],
  ['TRACE', '/', 'GET, HEAD, POST'],
  ['DELETE', '/api/orders', 'GET, HEAD, POST, OPTIONS'],
  ['PATCH', '/api/orders/ord_1', 'GET, HEAD, OPTIONS'],
  ['GET', '/api/orders/ord_1/refunds', 'POST, OPTIONS'],
  ['GET', '/api/admin/keys/bulk', 'POST, OPTIONS'],
  ['PUT', '/api/webhooks/stripe', 'POST, OPTIONS'],
])('%s %s gets 405 with the methods that it allows', async (method, path, allow) => {
  const answer = await ask(path, { method, headers: { 'x-request-id': 'mine-405' } })
  expect(answer.status).toBe(405)
  expect(answer.headers).toMatchObject({
    allow,
    'content-type': 'application/problem+json',
    'x-request-id': 'mine-405',
  })
  expect(answer.json<ProblemView>()).toMatchObject({ status: 405, code: 'method_not_allowed' })
})

test('OPTIONS of an API address lists its methods', async () => {
  const { status, headers } = await ask('/api/orders', { method: 'OPTIONS' })
  expect(status).toBe(204)
  expect(String(headers.allow).split(', ').sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST'])
})

test.each(['/', '/docs', '/robots.txt', '/api/health', '/api/orders'])(
  '%s is answered with Strict-Transport-Security behind TLS and only there',
  async (path) => {
    const behindTls = await ask(path, { headers: { 'x-forwarded-proto': 'https, http' } })
    expect(behindTls.headers['strict-transport-security']).toBe('max-age=31536000')
    expect((await ask(path)).headers['strict-transport-security']).toBeUndefined()
  },
)

test('an order behind TLS is answered with Strict-Transport-Security', async () => {
  const answer = await site.client.order(freshKey(), orderBody(), { 'x-forwarded-proto': 'https' })
  expect(answer.status).toBe(201)
  expect(answer.headers['strict-transport-security']).toBe('max-age=31536000')
})

test.each(['/api/health', '/docs', '/login'])(
  'an absolute-form target for %s is served and not redirected',
  async (path) => {
    const answered = await exchange(
      `GET http://elsewhere.example${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    )
    expect(answered).toMatch(/^HTTP\/1\.1 200 /)
  },
)

test('an absolute-form target that Next redirects leads to no host of the client’s', async () => {
  for (const path of ['/login/', '//other.example/a', '/keys']) {
    const answered = await exchange(
      `GET http://elsewhere.example${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    )
    const [, location] = /^location: (.*)\r$/im.exec(answered)!
    expect(location).toMatch(/^\/(?!\/)/)
  }
})

test('an order whose client closes its side of the connection after sending gets its answer', async () => {
  const key = freshKey()
  expect(await exchange(orderText(key), { end: true })).toMatch(/^HTTP\/1\.1 201 /)
  expect(await exchange(orderText(key))).toMatch(/^HTTP\/1\.1 422 /)
})

test('an order that offers HTTP/2, as Java’s HttpClient does, is placed', async () => {
  const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk'
  const socket = net.connect(Number(new URL(site.url).port))
  socket.write(orderText(freshKey()).replace('Connection: close', offer))
  const [answered] = await once(socket, 'data')
  expect(String(answered)).toMatch(/^HTTP\/1\.1 201 /)
  socket.destroy()
})

test('an order with two Host headers gets a problem and no record', async () => {
  const key = freshKey()
  const answered = await exchange(orderText(key).replace('Host: a', 'Host: a\r\nHost: b'))
  expect(answered).toMatch(/^HTTP\/1\.1 400 /)
  expect(answered).toContain('"code":"malformed_request"')
  expect((await site.client.record(key)).status).toBe(404)
})
