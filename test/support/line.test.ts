import { once } from 'node:events'
import net from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Line, openLine } from './line'

/** Long enough that something which passes would have passed. */
const A_WHILE_MS = 80
const SLOW_MS = 200

let line: Line
let server: net.Server
/** The ends of the connections that arrived, newest last, and what each was sent. */
let arrived: { socket: net.Socket; got: () => string; ended: () => boolean; error: () => string | null }[]
const dialled: net.Socket[] = []

function listenTo(socket: net.Socket) {
  let text = ''
  let hasEnded = false
  let code: string | null = null
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('end', () => {
    hasEnded = true
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    code = error.code ?? null
  })
  return { socket, got: () => text, ended: () => hasEnded, error: () => code }
}

beforeEach(async () => {
  arrived = []
  server = net.createServer({ allowHalfOpen: true }, (socket) => arrived.push(listenTo(socket)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  line = await openLine(`http://127.0.0.1:${(server.address() as net.AddressInfo).port}/path`)
})
afterEach(async () => {
  for (const socket of dialled.splice(0)) socket.destroy()
  for (const { socket } of arrived) socket.destroy()
  await line.close()
  server.close()
})

function dial() {
  const { hostname, port } = new URL(line.url)
  const socket = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  dialled.push(socket)
  return listenTo(socket)
}

/** Both ends of a fresh connection, each of which has heard the other. */
async function connected() {
  const before = arrived.length
  const near = dial()
  near.socket.write('hello')
  await vi.waitFor(() => expect(arrived[before]?.got()).toBe('hello'))
  const far = arrived[before]!
  far.socket.write('hello')
  await vi.waitFor(() => expect(near.got()).toBe('hello'))
  return { near, far }
}

const expectFresh = async () => {
  const { near, far } = await connected()
  near.socket.end()
  far.socket.end()
  await vi.waitFor(() => expect(near.ended() && far.ended()).toBe(true))
}

describe('the fault proxy without a fault', () => {
  it('keeps the path of its target’s URL and forwards every byte', async () => {
    expect(new URL(line.url).pathname).toBe('/path')
    const { near, far } = await connected()
    const sent = Buffer.alloc(3_000_000, 'abcdefg')
    const read = buffer(far.socket)
    near.socket.end(sent)
    expect((await read).equals(sent)).toBe(true)
  })

  it('counts connections until both ends are closed', async () => {
    const { near, far } = await connected()
    await connected()
    expect(line.count()).toBe(2)
    near.socket.end()
    await vi.waitFor(() => expect(far.ended()).toBe(true))
    expect(line.count()).toBe(2)
    far.socket.end()
    await vi.waitFor(() => expect(line.count()).toBe(1))
  })

  it('passes a reset on as a reset', async () => {
    const { near, far } = await connected()
    far.socket.resetAndDestroy()
    await vi.waitFor(() => expect(near.error()).toBe('ECONNRESET'))
    await vi.waitFor(() => expect(line.count()).toBe(0))
  })

  it('resets a client when its target is unreachable', async () => {
    server.close()
    const near = dial()
    await vi.waitFor(() => expect(near.error()).toBe('ECONNRESET'))
    expect(line.count()).toBe(0)
  })
})

describe('cutting the fault proxy', () => {
  it('resets both ends of a connection, and the next connection is served', async () => {
    const { near, far } = await connected()
    line.cut()
    await vi.waitFor(() => expect([near.error(), far.error()]).toEqual(['ECONNRESET', 'ECONNRESET']))
    expect(line.count()).toBe(0)
    await expectFresh()
  })
})

describe('a refusing fault proxy', () => {
  it('resets open connections and refuses new ones until it is healed', async () => {
    const { near, far } = await connected()
    line.refuse()
    await vi.waitFor(() => expect([near.error(), far.error()]).toEqual(['ECONNRESET', 'ECONNRESET']))
    const late = dial()
    await vi.waitFor(() => expect(late.error()).toBe('ECONNREFUSED'))
    const { url } = line
    await line.heal()
    expect(line.url).toBe(url)
    await expectFresh()
  })

  it('can be healed immediately', async () => {
    line.refuse()
    await line.heal()
    await expectFresh()
  })
})

describe('a silent fault proxy', () => {
  it.each(['up', 'down'] as const)(
    'leaves the other direction than the silent one (%s) alone, and delivers what waited once healed',
    async (silent) => {
      const { near, far } = await connected()
      line.silence(silent)
      near.socket.write(' up')
      far.socket.write(' down')
      const [heard, unheard] = silent === 'up' ? [near, far] : [far, near]
      await vi.waitFor(() => expect(heard.got()).toBe(silent === 'up' ? 'hello down' : 'hello up'))
      await sleep(A_WHILE_MS)
      expect(unheard.got()).toBe('hello')
      await line.heal()
      await vi.waitFor(() => expect(unheard.got()).toBe(silent === 'up' ? 'hello up' : 'hello down'))
      expect([near.error(), far.error()]).toEqual([null, null])
    },
  )

  it.each(['end', 'resetAndDestroy'] as const)('passes a hang-up (%s) on only after it is healed', async (hangUp) => {
    const { near, far } = await connected()
    line.silence('up', 'down')
    near.socket[hangUp]()
    await sleep(A_WHILE_MS)
    expect([far.ended(), far.error(), far.socket.destroyed]).toEqual([false, null, false])
    expect(line.count()).toBe(1)
    await line.heal()
    if (hangUp === 'end') await vi.waitFor(() => expect(far.ended()).toBe(true))
    else await vi.waitFor(() => expect(far.error()).toBe('ECONNRESET'))
  })

  it('accepts new connections and forwards nothing on them until it is healed', async () => {
    line.silence('up', 'down')
    const near = dial()
    await once(near.socket, 'connect')
    near.socket.write('hello')
    await vi.waitFor(() => expect(arrived).toHaveLength(1))
    arrived[0]!.socket.write('hello')
    await sleep(A_WHILE_MS)
    expect([near.got(), arrived[0]!.got()]).toEqual(['', ''])
    await line.heal()
    await vi.waitFor(() => expect([near.got(), arrived[0]!.got()]).toEqual(['hello', 'hello']))
    await expectFresh()
  })
})

describe('a swallowing fault proxy', () => {
  it('drops bytes and keeps the connection; healing cuts that connection and no other', async () => {
    const { near, far } = await connected()
    const other = await connected()
    line.swallow('down')
    far.socket.write(' lost')
    near.socket.write(' kept')
    await vi.waitFor(() => expect(far.got()).toBe('hello kept'))
    await sleep(A_WHILE_MS)
    expect([near.got(), near.error(), near.ended()]).toEqual(['hello', null, false])
    await line.heal()
    await vi.waitFor(() => expect(near.error()).toBe('ECONNRESET'))
    expect(near.got()).toBe('hello')
    other.far.socket.write(' there')
    await vi.waitFor(() => expect(other.near.got()).toBe('hello there'))
    await expectFresh()
  })
})

describe('a delaying fault proxy', () => {
  it('delays both directions and keeps the order of bytes, also when the delay changes or is healed', async () => {
    const { near, far } = await connected()
    line.delay(SLOW_MS)
    const sentAt = performance.now()
    near.socket.write('1')
    await vi.waitFor(() => expect(far.got()).toBe('hello1'))
    far.socket.write('2')
    await vi.waitFor(() => expect(near.got()).toBe('hello2'))
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(2 * SLOW_MS - 5)
    for (const [n, ms] of [60_000, 5, 30_000, 0].entries()) {
      line.delay(ms)
      near.socket.write(`${n}`)
      await sleep(20)
    }
    near.socket.end()
    await sleep(20)
    expect(far.got()).toBe('hello1')
    await line.heal()
    await vi.waitFor(() => expect([far.got(), far.ended()]).toEqual(['hello10123', true]))
    await expectFresh()
  })
})

describe('a fault proxy that closes slowly', () => {
  it('delays a hang-up, but not the bytes that were sent before it', async () => {
    const { near, far } = await connected()
    line.closeSlowly(60_000)
    far.socket.end(' bye')
    await vi.waitFor(() => expect(near.got()).toBe('hello bye'))
    await sleep(A_WHILE_MS)
    expect(near.ended()).toBe(false)
    await line.heal()
    await vi.waitFor(() => expect(near.ended()).toBe(true))
    await expectFresh()
  })

  it('delays a hang-up by the given time', async () => {
    const { near, far } = await connected()
    line.closeSlowly(SLOW_MS)
    const closedAt = performance.now()
    far.socket.end()
    await vi.waitFor(() => expect(near.ended()).toBe(true))
    expect(performance.now() - closedAt).toBeGreaterThanOrEqual(SLOW_MS - 5)
  })
})

describe('a fault proxy that forgets its connections', () => {
  it('forwards nothing more on open connections and serves new ones', async () => {
    const { near, far } = await connected()
    line.forget()
    near.socket.write('up')
    far.socket.write('down')
    await expectFresh()
    await sleep(A_WHILE_MS)
    expect([near.got(), far.got(), near.error(), far.error()]).toEqual(['hello', 'hello', null, null])
    await line.heal()
    await vi.waitFor(() => expect([near.error(), far.error()]).toEqual(['ECONNRESET', 'ECONNRESET']))
    await vi.waitFor(() => expect(line.count()).toBe(0))
  })
})

it('a closed fault proxy has no connections and no listener', async () => {
  const { near } = await connected()
  line.silence('up', 'down')
  await line.close()
  await vi.waitFor(() => expect(near.error()).toBe('ECONNRESET'))
  const late = dial()
  await vi.waitFor(() => expect(late.error()).toBe('ECONNREFUSED'))
})
