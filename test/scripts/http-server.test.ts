// A node finds a port, loses no request of those that it took, and waits for nothing else.
import http from 'node:http'
import net from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { listen, type NodeServer } from '../../scripts/http-server'

const never = () => new AbortController().signal
const MINUTE = 60_000
const opened: NodeServer[] = []

async function open(port = 0): Promise<NodeServer> {
  const server = await listen(port)
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

it('the HTTP server takes the next port when the wanted one is taken', async () => {
  const first = await open()
  const second = await open(first.port)
  expect(second.port).toBeGreaterThan(first.port)
})

it('the HTTP server notices a port that is taken on the loopback address only', async () => {
  const other = net.createServer()
  const port = await new Promise<number>((resolve) => {
    other.listen(0, '127.0.0.1', () => resolve((other.address() as net.AddressInfo).port))
  })
  expect((await open(port)).port).not.toBe(port)
  other.close()
})

it('the HTTP server holds a request that arrives before the handler is ready', async () => {
  const server = await open()
  const answer = fetch(`http://localhost:${server.port}/`)
  server.open(
    (_, response) => response.end('late'),
    () => {},
  )
  expect(await (await answer).text()).toBe('late')
})

it('the HTTP server keeps an idle connection for more than a minute, longer than proxies do', async () => {
  const server = await open()
  server.open(
    (_, response) => response.end(),
    () => {},
  )
  const { headers } = await fetch(`http://localhost:${server.port}/`)
  expect(Number(/^timeout=(\d+)$/.exec(headers.get('keep-alive')!)?.[1])).toBeGreaterThan(60)
})

it('a draining HTTP server finishes running requests, accepts no new ones, then ends', async () => {
  const server = await open()
  const arrived = gate()
  const answered = gate()
  server.open(
    async (_, response) => {
      arrived.pass()
      await answered.passed
      response.end('done')
    },
    () => {},
  )
  const agent = new http.Agent({ keepAlive: true })
  const answer = new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get({ port: server.port, agent }, resolve).on('error', reject)
  })
  await arrived.passed
  const drained = server.drain(MINUTE, never())
  await expect(fetch(`http://localhost:${server.port}/`)).rejects.toThrow()
  answered.pass()
  const response = await answer
  expect(response.headers.connection).toBe('close')
  expect((await response.toArray()).join('')).toBe('done')
  await drained
})

it('a draining HTTP server finishes an answer whose first part was already sent as keep-alive', async () => {
  const server = await open()
  const answered = gate()
  server.open(
    async (_, response) => {
      response.write('first ')
      await answered.passed
      response.end('second')
    },
    () => {},
  )
  const response = await fetch(`http://localhost:${server.port}/`)
  const drained = server.drain(MINUTE, never())
  answered.pass()
  expect(await response.text()).toBe('first second')
  await drained
})

it('a draining HTTP server does not wait for unused connections, idle ones, or endless streams', async () => {
  const server = await open()
  server.open(
    (request, response) => {
      if (request.url !== '/stream') return response.end()
      response.setHeader('content-type', 'text/event-stream')
      return response.write('data: 1\n\n')
    },
    () => {},
  )
  const spare = net.connect(server.port)
  spare.on('error', () => {})
  await new Promise((resolve) => spare.once('connect', resolve))
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
  const server = await open()
  const arrived = gate()
  server.open(
    () => arrived.pass(),
    () => {},
  )
  const answer = fetch(`http://localhost:${server.port}/`).then(
    () => 'answered',
    () => 'cut',
  )
  await arrived.passed
  await server.drain(limitMs, hurry)
  expect(await answer).toBe('cut')
}
