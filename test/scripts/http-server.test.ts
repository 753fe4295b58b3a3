// A node finds a port, takes what HTTP allows, refuses everything else with a problem, loses no request of those that it
// read, and waits for nothing else.
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { checkPort, type Listening, listen, type NodeServer } from '../../scripts/http-server'

type Handler = Listening['handler']

const never = () => new AbortController().signal
const MINUTE = 60_000
const opened: NodeServer[] = []
const answerAtOnce: Handler = (_, response) => response.end('done')

async function open(handler: Handler = answerAtOnce, more: Partial<Listening> = {}): Promise<NodeServer> {
  const server = await listen({ port: 0, handler, ...more })
  opened.push(server)
  return server
}

afterEach(async () => {
  for (const server of opened.splice(0)) await server.drain(0, never())
})

function gate(): { passed: Promise<void>; pass: () => void } {
  let pass = () => {}
  const passed = new Promise<void>((resolve) => {
    pass = resolve
  })
  return { passed, pass }
}

/** A handler whose answers wait. */
function waiting() {
  const arrived = gate()
  const answered = gate()
  const handler = async (_: http.IncomingMessage, response: http.ServerResponse) => {
    arrived.pass()
    await answered.passed
    response.end('done')
  }
  return { arrived: arrived.passed, answer: answered.pass, handler }
}

/** All that comes back until the other side closes. */
async function exchange(server: NodeServer, sent: string, { end = false } = {}): Promise<string> {
  const socket = net.connect({ port: server.port, allowHalfOpen: true })
  socket.on('error', () => {})
  if (end) socket.end(sent)
  else socket.write(sent)
  let answered = ''
  for await (const chunk of socket) answered += chunk
  socket.destroy()
  return answered
}

function problemIn(answered: string) {
  const [head = '', body = ''] = answered.split('\r\n\r\n')
  expect(head).toMatch(/^content-type: application\/problem\+json$/m)
  expect(head).toMatch(/^connection: close$/m)
  expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`)
  expect(head).toMatch(/^x-request-id: req_/m)
  const status = Number(/^HTTP\/1\.1 (\d+) /.exec(head)?.[1])
  return { status, problem: JSON.parse(body) }
}

it('the HTTP server takes the next port when the wanted one is taken and another one will do', async () => {
  const first = await open()
  const second = await open(answerAtOnce, { port: first.port, orNext: true })
  expect(second.port).toBeGreaterThan(first.port)
})

it('the HTTP server refuses to start on a port that was asked for and is taken', async () => {
  const { port } = await open()
  await expect(open(answerAtOnce, { port })).rejects.toThrow(`port ${port} is taken.`)
  await expect(checkPort(port)).rejects.toThrow(`port ${port} is taken.`)
})

it('the HTTP server notices a port that is taken on the loopback address only', async () => {
  const other = net.createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as net.AddressInfo
  expect((await open(answerAtOnce, { port, orNext: true })).port).not.toBe(port)
  other.close()
})

it('the HTTP server keeps an idle connection for more than a minute, longer than proxies do', async () => {
  const server = await open()
  const { headers } = await fetch(`http://localhost:${server.port}/`)
  expect(Number(/^timeout=(\d+)$/.exec(headers.get('keep-alive')!)?.[1])).toBeGreaterThan(60)
})

it.each([
  ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
  ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n', 400, 'malformed_request'],
  ['a bad request line', 'GET\r\n\r\n', 400, 'malformed_request'],
  ['a target that is no path', 'GET somewhere HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'malformed_request'],
  ['a bad header', 'GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n', 400, 'malformed_request'],
  [
    'two lengths',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    400,
    'malformed_request',
  ],
  ['a bad chunk', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400, 'malformed_request'],
  ['32 KiB of headers', `GET / HTTP/1.1\r\nHost: a\r\nx: ${'x'.repeat(32_768)}\r\n\r\n`, 431, 'headers_too_large'],
  ['the method CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405, 'method_not_allowed'],
])('a request with %s is refused with a problem', async (_, sent, status, code) => {
  // Of a request whose body breaks, the handler has the beginning.
  const server = await open((request, response) => request.resume().on('end', () => response.end('done')))
  const refused = problemIn(await exchange(server, sent, { end: true }))
  expect(refused).toMatchObject({ status, problem: { status, code } })
})

it('a request that breaks after another one on its connection is refused after the other’s answer', async () => {
  const { arrived, answer, handler } = waiting()
  const server = await open(handler)
  const answered = exchange(server, 'GET / HTTP/1.1\r\nHost: a\r\n\r\nbroken\r\n\r\n')
  await arrived
  answer()
  const [first, refused] = (await answered).split(/(?=HTTP\/1\.1 400)/) as [string, string]
  expect(first).toMatch(/^HTTP\/1\.1 200 .*done$/s)
  expect(problemIn(refused).problem.code).toBe('malformed_request')
})

it.each([
  ['head', 'POST / HTTP/1.1\r\nHost: a\r\nx'],
  ['body', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{'],
])('a request whose %s is not there within the time limit gets 408', async (_, sent) => {
  const server = await open((request, response) => request.resume().on('end', () => response.end('done')), {
    requestLimitMs: 300,
  })
  expect(problemIn(await exchange(server, sent))).toMatchObject({ status: 408, problem: { code: 'request_timeout' } })
})

it('a connection on which nothing is sent within the time limit is closed without an answer', async () => {
  expect(await exchange(await open(answerAtOnce, { requestLimitMs: 300 }), '')).toBe('')
})

it('an absolute-form target is served as its path, whatever its host', async () => {
  const server = await open((request, response) => response.end(request.url))
  const answered = await exchange(server, 'GET http://elsewhere/a?b=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  expect(answered).toMatch(/\r\n\r\n\/a\?b=1$/)
})

it('an offer of HTTP/2 by Upgrade is ignored, and the request with its body is answered', async () => {
  const server = await open(async (request, response) => response.end((await request.toArray()).join('')))
  const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB'
  const sent = `POST / HTTP/1.1\r\nHost: a\r\n${offer}\r\nContent-Length: 4\r\n\r\nbody`
  const socket = net.connect(server.port)
  socket.write(sent)
  await once(socket, 'readable')
  expect(String(socket.read())).toMatch(/^HTTP\/1\.1 200 .*body/s)
  // The connection goes on.
  socket.write(sent)
  await once(socket, 'readable')
  expect(String(socket.read())).toMatch(/^HTTP\/1\.1 200 /)
  socket.destroy()
})

it('a client that sends all of a POST and closes its side of the connection gets the answer', async () => {
  const { arrived, answer, handler } = waiting()
  const server = await open(handler)
  const answered = exchange(server, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}', { end: true })
  await arrived
  // The end of the client's side is read with it or in the next turn.
  await new Promise(setImmediate)
  answer()
  expect(await answered).toMatch(/^HTTP\/1\.1 200 .*done$/s)
})

it('a draining HTTP server finishes running requests, accepts no new ones, then ends', async () => {
  const { arrived, answer, handler } = waiting()
  const server = await open(handler)
  const agent = new http.Agent({ keepAlive: true })
  const response = new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get({ port: server.port, agent }, resolve).on('error', reject)
  })
  await arrived
  const drained = server.drain(MINUTE, never())
  await expect(fetch(`http://localhost:${server.port}/`)).rejects.toThrow()
  answer()
  expect((await response).headers.connection).toBe('close')
  expect((await (await response).toArray()).join('')).toBe('done')
  await drained
})

it('a draining HTTP server finishes an answer whose first part was already sent as keep-alive', async () => {
  const answered = gate()
  const server = await open(async (_, response) => {
    response.write('first ')
    await answered.passed
    response.end('second')
  })
  const response = await fetch(`http://localhost:${server.port}/`)
  const drained = server.drain(MINUTE, never())
  answered.pass()
  expect(await response.text()).toBe('first second')
  await drained
})

it('a draining HTTP server answers a request of which it has read only a part', async () => {
  const server = await open()
  const socket = net.connect(server.port)
  const answered = socket.toArray()
  // The second one's beginning comes with the first one, so it is read before the drain begins.
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT')
  await once(socket, 'data')
  const drained = server.drain(MINUTE, never())
  await new Promise(setImmediate)
  socket.write('TP/1.1\r\nHost: a\r\n\r\n')
  const text = (await answered).join('')
  expect(text.match(/connection: close/gi)).toHaveLength(1)
  expect(text).toMatch(/done$/)
  await drained
})

it('a draining HTTP server answers requests that the system received before it stopped', async () => {
  const server = await open()
  const sockets = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const socket = net.connect(server.port)
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      await once(socket, 'data')
      return socket
    }),
  )
  const answers = sockets.map((socket) => socket.toArray())
  // On the loopback device the bytes are in the server's buffers as soon as they are written here.
  for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await server.drain(MINUTE, never())
  for (const answer of answers) expect((await answer).join('')).toMatch(/^HTTP\/1\.1 200 .*connection: close.*done$/is)
})

it('a draining HTTP server answers both of two requests that share a connection', async () => {
  const [first, second] = [waiting(), waiting()]
  const server = await open((request, response) => (request.url === '/1' ? first : second).handler(request, response))
  const socket = net.connect(server.port)
  const answered = socket.toArray()
  socket.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n')
  await first.arrived
  const drained = server.drain(MINUTE, never())
  socket.write('GET /2 HTTP/1.1\r\nHost: a\r\n\r\n')
  await second.arrived
  first.answer()
  second.answer()
  const text = (await answered).join('')
  expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
  expect(text.match(/connection: close/gi)).toHaveLength(1)
  await drained
})

it('a draining HTTP server does not wait for unused connections, idle ones, or endless streams', async () => {
  const server = await open((request, response) => {
    if (request.url !== '/stream') return response.end()
    response.setHeader('content-type', 'text/event-stream')
    return response.write('data: 1\n\n')
  })
  const spare = net.connect(server.port)
  spare.on('error', () => {})
  await once(spare, 'connect')
  await (await fetch(`http://localhost:${server.port}/`)).text()
  const stream = await fetch(`http://localhost:${server.port}/stream`)
  const ended = stream.text().catch(() => 'cut')
  await server.drain(MINUTE, never())
  await ended
})

it.each([
  ['the time limit is over', () => drainWhileHanging(50, never())],
  ['it gets the signal to hurry', () => drainWhileHanging(MINUTE, AbortSignal.abort())],
])('a draining HTTP server cuts hanging requests when %s', async (_, run) => {
  await run()
})

async function drainWhileHanging(limitMs: number, hurry: AbortSignal): Promise<void> {
  const arrived = gate()
  const server = await open(() => arrived.pass())
  const answer = fetch(`http://localhost:${server.port}/`).then(
    () => 'answered',
    () => 'cut',
  )
  await arrived.passed
  await server.drain(limitMs, hurry)
  expect(await answer).toBe('cut')
}

it('in many rounds of stops under traffic, no request that a handler got goes without its answer', async () => {
  for (let round = 0; round < 20; round++) {
    let taken = 0
    const server = await open(async (_, response) => {
      taken++
      await new Promise(setImmediate)
      response.end('done')
    })
    const agent = new http.Agent({ keepAlive: true })
    let answered = 0
    let going = true
    const customer = async () => {
      while (going)
        await new Promise<void>((resolve) => {
          const request = http.get({ port: server.port, agent }, async (response) => {
            if ((await response.toArray()).join('') === 'done') answered++
            resolve()
          })
          request.on('error', () => {
            going = false
            resolve()
          })
        })
    }
    const customers = Promise.all(Array.from({ length: 8 }, customer))
    while (answered < 40) await new Promise(setImmediate)
    await server.drain(MINUTE, never())
    going = false
    await customers
    agent.destroy()
    expect(answered).toBe(taken)
  }
})
