// A body is read to its end or not at all; whose sender has gone before anybody asked for it breaks off at once.
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NodeIncoming, type ReadBody, readWhole } from '../../lib/fast-path/node-incoming'

const LIMIT = 100

let server: http.Server
let taken: (request: IncomingMessage, response: ServerResponse) => void
beforeAll(async () => {
  server = http.createServer((request, response) => taken(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** The server's side of a request whose head has come, and of its 20 bytes those that are given. */
async function arrive(
  bytes = '{',
): Promise<{ request: IncomingMessage; response: ServerResponse; socket: net.Socket }> {
  const arrived = new Promise<{ request: IncomingMessage; response: ServerResponse }>((resolve) => {
    taken = (request, response) => resolve({ request, response })
  })
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\n${bytes}`)
  return { ...(await arrived), socket }
}

async function hangUp({ request, socket }: Awaited<ReturnType<typeof arrive>>): Promise<void> {
  request.on('error', () => {})
  // Not `once`, which takes the error before it for the end of the world.
  const closed = new Promise((resolve) => request.on('close', resolve))
  socket.destroy()
  await closed
}

it('the read of a body fails at once when its client has already disconnected', async () => {
  const call = await arrive()
  await hangUp(call)
  const incoming = new NodeIncoming(call.request, call.response, 0)
  await expect(incoming.read(LIMIT)).rejects.toThrow('its sender has gone')
  expect(incoming.signal.aborted).toBe(true)
})

it('the read of a body fails when its client disconnects during the read', async () => {
  const call = await arrive()
  const incoming = new NodeIncoming(call.request, call.response, 0)
  const { signal } = incoming
  const read = incoming.read(LIMIT)
  expect(signal.aborted).toBe(false)
  await Promise.all([expect(read).rejects.toThrow('aborted'), hangUp(call)])
  expect(signal.aborted).toBe(true)
})

it('a body is delivered once, even if the request fails after its end', async () => {
  const call = await arrive()
  const told: ReadBody[] = []
  const whole = new Promise<void>((resolve) =>
    readWhole(call.request, LIMIT, (body) => {
      told.push(body)
      resolve()
    }),
  )
  call.socket.write('x'.repeat(19))
  await whole
  call.request.emit('error', new Error('too late'))
  expect(told.map(String)).toEqual([`{${'x'.repeat(19)}`])
  call.socket.destroy()
})

it.each([
  ['20 bytes', 20, 'x'.repeat(20)],
  ['null when it is above the limit', 19, null],
])('a body that has fully arrived is delivered at once: %s', async (_, limit, expected) => {
  const call = await arrive('x'.repeat(20))
  await expect.poll(() => call.request.complete).toBe(true)
  const told: (string | null)[] = []
  readWhole(call.request, limit, (body) => told.push(body && String(body)))
  expect(told).toEqual([expected])
  call.socket.destroy()
})

it('an empty body that has arrived is delivered as empty', async () => {
  const arrived = new Promise<IncomingMessage>((resolve) => {
    taken = resolve
  })
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n')
  const request = await arrived
  await expect.poll(() => request.complete).toBe(true)
  const told: ReadBody[] = []
  readWhole(request, LIMIT, (body) => told.push(body))
  expect(told).toEqual([Buffer.alloc(0)])
  socket.destroy()
})
