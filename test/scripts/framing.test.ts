// Where one request ends and the next begins is beyond doubt: what two readers could take for two different things is
// refused before any code of ours sees it, and its connection is closed.
import { once } from 'node:events'
import net from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { listen, type NodeServer } from '../../scripts/http-server'

let server: NodeServer
let seen: string[]
beforeAll(async () => {
  server = await listen(0)
  server.open(
    (request, response) => {
      seen.push(`${request.method} ${request.url}`)
      request.resume().on('end', () => response.end('ok'))
      request.on('error', () => {})
    },
    (_, socket) => socket.destroy(),
  )
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
  ['both ways to say how long', `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
  ['two lengths', `Content-Length: 0\r\nContent-Length: 60\r\n\r\n${SMUGGLED}`],
  ['a length that is no number', `Content-Length: 0x10\r\n\r\n${SMUGGLED}`],
  ['an encoding after chunked', `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${SMUGGLED}`],
  ['an encoding that nobody knows', `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
  ['a space before the colon', `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
  ['a chunk whose size is no number', `Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n${SMUGGLED}`],
])('%s: 400, and what follows is no request', async (_, rest) => {
  const answered = await send(`POST /first HTTP/1.1\r\nHost: x\r\n${rest}`)
  expect(answered).toMatch(/^HTTP\/1\.1 400 /)
  expect(answered).not.toContain('200 OK')
  expect(seen).not.toContain('POST /smuggled')
})

it('a header in which another one is hidden is refused', async () => {
  expect(await send('GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\rX-Injected: b\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  expect(await send('GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\0b\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  expect(seen).toEqual([])
})

it('a head that is larger than any of ours is refused', async () => {
  expect(await send(`GET / HTTP/1.1\r\nHost: x\r\nX-Filler: ${'x'.repeat(64 * 1024)}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 431 /,
  )
  expect(seen).toEqual([])
})

it('what is plain is taken, one request after the other', async () => {
  const answered = await send(`POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}${SMUGGLED}`)
  expect(answered.match(/200 OK/g)).toHaveLength(2)
  expect(seen).toEqual(['POST /first', 'POST /smuggled'])
})
