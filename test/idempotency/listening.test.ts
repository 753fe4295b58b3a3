// Who waits for the end of an attempt never waits for the line to the database instead.
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { openNotifications } from '../../lib/db/notifications'
import { openWaiting } from '../../lib/idempotency/waiting'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Lets everybody in, as PostgreSQL does, and says no more. */
async function startMute() {
  const authenticationOk = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0])
  const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
  const sockets: net.Socket[] = []
  const server = net.createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', () => socket.write(Buffer.concat([authenticationOk, readyForQuery])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { sockets, url: `postgresql://onceover@127.0.0.1:${(server.address() as net.AddressInfo).port}/onceover` }
}

it('a waiter learns that it can’t listen when the LISTEN connection falls silent after connecting', async () => {
  const { url, sockets } = await startMute()
  const line = openNotifications(url)
  closing.push(() => line.close())
  const waiting = openWaiting(line)
  const expectation = waiting.expect('idem_1')
  expect(await expectation.listening).toBe(false)
  // The connection is given back too.
  expect(sockets).toHaveLength(1)
  if (!sockets[0]!.closed) await once(sockets[0]!, 'close')
  expectation.cancel()
})
