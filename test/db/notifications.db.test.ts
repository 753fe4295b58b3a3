// A line that has ended stays ended, whoever asks for it.
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { openNotifications } from '../../lib/db/notifications'
import { cloneDatabase } from '../support/database'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

it('a closed LISTEN connection does not connect when listen() is called, which returns false', async () => {
  let connections = 0
  const server = net.createServer((socket) => {
    connections++
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close())
  const line = openNotifications(
    `postgresql://onceover@127.0.0.1:${(server.address() as net.AddressInfo).port}/onceover`,
  )
  await line.close()
  expect(await line.listen()).toBe(false)
  expect(line.isCurrent()).toBe(false)
  expect(connections).toBe(0)
})

it('a LISTEN connection that is closed is no longer current, and does not come back', async () => {
  const database = await cloneDatabase()
  closing.push(() => database.drop())
  const line = openNotifications(database.url)
  let lost = 0
  line.onLost(() => lost++)
  expect(await line.listen()).toBe(true)
  expect(line.isCurrent()).toBe(true)
  await line.close()
  expect(line.isCurrent()).toBe(false)
  expect(await line.listen()).toBe(false)
  expect(lost).toBe(1)
})

it('a channel that is added after listen() is refused: its notifications would not be heard', async () => {
  const line = openNotifications('postgresql://postgres@127.0.0.1:1/nowhere')
  closing.push(() => line.close())
  line.on('early', () => {})
  await line.listen()
  line.on('early', () => {})
  expect(() => line.on('late', () => {})).toThrow('late was not known when LISTEN began')
})
