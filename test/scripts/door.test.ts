// Whoever connects is given to the process that has the fewest, and to another one where that process does not take it.
import { once } from 'node:events'
import net, { type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { type Door, openDoor, type Seat } from '../../scripts/door'

const opened: { door: Door; clients: Socket[] }[] = []
afterEach(() => {
  for (const { door, clients } of opened.splice(0)) {
    door.close()
    for (const client of clients) client.destroy()
  }
})

/** A door, what its processes were given (as the client's port, by its order), and somebody to connect. */
async function open() {
  const door = await openDoor(0)
  const clients: Socket[] = []
  const given: { who: string; connection: number; socket: Socket }[] = []
  const heard: (() => void)[] = []
  opened.push({ door, clients })
  return {
    door,
    clients,
    given,
    whoGot: () => given.map(({ who }) => who),
    admit: (who: string): Seat =>
      door.admit((connection, socket) => {
        given.push({ who, connection, socket })
        for (const hear of heard.splice(0)) hear()
      }),
    async connect(): Promise<Socket> {
      const client = net.connect(door.port, 'localhost')
      client.on('error', () => {})
      clients.push(client)
      await once(client, 'connect')
      return client
    },
    async untilGiven(count: number): Promise<void> {
      while (given.length < count) await new Promise<void>((resolve) => heard.push(resolve))
    },
  }
}

it('connections are distributed in turn when all processes have equally many', async () => {
  const { admit, connect, untilGiven, whoGot } = await open()
  for (const who of ['a', 'b', 'c']) admit(who)
  for (let count = 1; count <= 6; count++) {
    await connect()
    await untilGiven(count)
  }
  expect(whoGot()).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
})

it('a connection goes to the process with the fewest: a new one, or one whose clients disconnected', async () => {
  const { admit, connect, untilGiven, whoGot } = await open()
  const a = admit('a')
  for (let count = 1; count <= 3; count++) {
    await connect()
    await untilGiven(count)
  }
  admit('b')
  await connect()
  await untilGiven(4)
  for (let count = 1; count <= 3; count++) a.ended()
  await connect()
  await untilGiven(5)
  expect(whoGot()).toEqual(['a', 'a', 'a', 'b', 'a'])
})

it('connections that arrive before the first process wait for it', async () => {
  const { admit, connect, untilGiven, whoGot } = await open()
  await connect()
  await connect()
  admit('a')
  await untilGiven(2)
  expect(whoGot()).toEqual(['a', 'a'])
})

it('a connection that a dying process has not taken goes unread to another process', async () => {
  const { admit, connect, given, untilGiven, whoGot } = await open()
  const a = admit('a')
  await connect()
  await untilGiven(1)
  const client = await connect()
  client.write('all of it')
  await untilGiven(2)
  a.took(given[0]!.connection)
  expect(given[0]!.socket.destroyed).toBe(true)
  admit('b')
  a.leave()
  await untilGiven(3)
  expect(whoGot()).toEqual(['a', 'a', 'b'])
  expect(given[2]!.socket).toBe(given[1]!.socket)
  const [read] = await once(given[2]!.socket.resume(), 'data')
  expect(String(read)).toBe('all of it')
})

it('a connection that a process refuses goes to another, and the refusing process gets no more', async () => {
  const { admit, connect, given, untilGiven, whoGot } = await open()
  const a = admit('a')
  admit('b')
  await connect()
  await untilGiven(1)
  a.refused(given[0]!.connection)
  await connect()
  await untilGiven(3)
  expect(whoGot()).toEqual(['a', 'b', 'b'])
})

it('a closed door refuses new connections and closes waiting ones', async () => {
  const { door, connect } = await open()
  const waiting = await connect()
  const closed = once(waiting, 'close')
  door.close()
  await closed
  await expect(connect()).rejects.toThrow('ECONNREFUSED')
})
