// Where one request ends and the next begins is beyond doubt: what two readers could take for two different things is
// refused before any code of ours sees it, and its connection is closed.
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import net from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { listen, type NodeServer } from '../../scripts/http-server'

let server: NodeServer
let seen: string[]
beforeAll(async () => {
  const handler = (request: IncomingMessage, response: ServerResponse) => {
    seen.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => response.end('ok'))
    request.on('error', () => {})
  }
  server = await listen({ port: 0, handler })
})
afterAll(() => server.drain(0, new AbortController().signal))
beforeEach(() => {
  seen = []
})

/** All that comes back until the other side closes. */
async function send(lines: string): Promise<string> {
  const socket = net.connect(server.port, '127.0.0.1')
  let answered = ''
  socket.on('data', (chunk) => {
    answered += chunk
  })
  socket.on('error', () => {})
  socket.end(lines)
  await once(socket, 'close')
  return answered
}

const SMUGGLED = 'POST /smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'

it.each([
  ['a length and an encoding', `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
  ['two Content-Length headers', `Content-Length: 0\r\nContent-Length: 60\r\n\r\n${SMUGGLED}`],
  ['a Content-Length that is no number', `Content-Length: 0x10\r\n\r\n${SMUGGLED}`],
  ['a transfer encoding after chunked', `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${SMUGGLED}`],
  ['an unknown transfer encoding', `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
  ['a space before a header’s colon', `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
  ['a chunk whose size is no number', `Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n${SMUGGLED}`],
])('a request with %s gets 400, and the bytes after it are not read as a request', async (_, rest) => {
  const answered = await send(`POST /first HTTP/1.1\r\nHost: x\r\n${rest}`)
  expect(answered).toMatch(/^HTTP\/1\.1 400 /)
  expect(answered).not.toContain('200 OK')
  expect(seen).not.toContain('POST /smuggled')
})

it('a request with a CR or NUL inside a header value gets 400', async () => {
  expect(await send('GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\rX-Injected: b\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  expect(await send('GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\0b\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  expect(seen).toEqual([])
})

it('a request with 64 KiB of headers gets 431', async () => {
  expect(await send(`GET / HTTP/1.1\r\nHost: x\r\nX-Filler: ${'x'.repeat(64 * 1024)}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 431 /,
  )
  expect(seen).toEqual([])
})

it('two pipelined requests with plain framing are both served, in order', async () => {
  const answered = await send(`POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}${SMUGGLED}`)
  expect(answered.match(/200 OK/g)).toHaveLength(2)
  expect(seen).toEqual(['POST /first', 'POST /smuggled'])
})
