// What comes in one turn of the event loop: all of it is looked at before the first is answered, replays are sent before
// anything else begins, and what happens to one of them is nobody else's.
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import v8 from 'node:v8'
import vm from 'node:vm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FastPathServices, Replays } from '../../lib/fast-path/replays'
import { type FastPath, openFastPath } from '../../lib/fast-path/serve'
import type { KeyedRoute } from '../../lib/http/keyed'

/** The body says whether a request is a replay; `log` gets what was done, in order. */
function replaysOf(log: string[]): Replays {
  return {
    headOf: () => ({ caller: '', text: '', bodyLength: 0, requestId: null }),
    mayFind: () => true,
    find: (_, bytes) => {
      const body = String(bytes)
      log.push(`look ${body}`)
      if (body.startsWith('bug')) throw new Error('a bug')
      if (!body.startsWith('again')) return undefined
      return { status: 200, head: ['content-length', String(body.length)], body, encoding: 'latin1' }
    },
    begin: () => () => {},
  }
}

function open(log: string[] = [], replays = replaysOf(log)): FastPath {
  const route: Pick<KeyedRoute, 'answer'> = {
    async answer(incoming) {
      const body = `ran ${await incoming.read(100)}`
      log.push(body)
      return { status: 201, headers: {}, body }
    },
  }
  return openFastPath({} as FastPathServices, { 'POST /api/things': route }, replays)
}

let server: http.Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

type Take = (request: IncomingMessage, response: ServerResponse) => unknown

async function serve(take: Take): Promise<number> {
  server = http.createServer(take).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const request = (body: string, head = '') =>
  `POST /api/things HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n${head}\r\n${body}`

/** All that is sent back until the connection ends, without heads. */
async function bodies(socket: net.Socket): Promise<string[]> {
  let all = ''
  socket.on('data', (chunk) => {
    all += chunk
  })
  await once(socket, 'close')
  return all.split('HTTP/1.1 ').flatMap((answer) => answer.split('\r\n\r\n').slice(1))
}

const CLOSE = 'connection: close\r\n'

it('requests of one event-loop turn are all inspected first, then replays are sent, then the others run', async () => {
  const log: string[] = []
  const take = open(log)
  const port = await serve((request, response) => {
    const { writeHead } = response
    response.writeHead = (...head: unknown[]) => {
      log.push(`send ${head[0]}`)
      return Reflect.apply(writeHead, response, head)
    }
    take(request, response)
  })
  const socket = net.connect(port, '127.0.0.1')
  const all = ['again 1', 'new 2', 'again 3', 'new 4'].map((body) => request(body))
  // In one piece, so they arrive in one turn.
  socket.write([...all, request('again 5', CLOSE)].join(''))
  expect(await bodies(socket)).toEqual(['again 1', 'ran new 2', 'again 3', 'ran new 4', 'again 5'])
  expect(log).toEqual([
    ...['look again 1', 'look new 2', 'look again 3', 'look new 4', 'look again 5'],
    ...['send 200', 'send 200', 'send 200'],
    ...['ran new 2', 'ran new 4'],
    ...['send 201', 'send 201'],
  ])
})

it('a request that throws does not break the other requests of its event-loop turn', async () => {
  const port = await serve(together(3, open()))
  const sockets = ['again 1', 'bug 2', 'new 3'].map((body) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.write(request(body, CLOSE))
    return bodies(socket)
  })
  const [replayed, broken, ran] = await Promise.all(sockets)
  expect(replayed).toEqual(['again 1'])
  expect(broken).toEqual([])
  expect(ran).toEqual(['ran new 3'])
})

it('a complete request does not wait for one of its event-loop turn whose body is still arriving', async () => {
  const port = await serve(together(2, open()))
  const slow = net.connect(port, '127.0.0.1')
  slow.write(request('again 1', CLOSE).slice(0, -1))
  const quick = net.connect(port, '127.0.0.1')
  quick.write(request('again 2', CLOSE))
  expect(await bodies(quick)).toEqual(['again 2'])
  const late = bodies(slow)
  slow.write('1')
  expect(await late).toEqual(['again 1'])
})

it('pipelined requests on one connection are answered before too many are pending', async () => {
  const asked = 2000
  const take = open()
  let unanswered = 0
  let most = 0
  const port = await serve((request, response) => {
    most = Math.max(most, ++unanswered)
    response.once('finish', () => unanswered--)
    take(request, response)
  })
  const socket = net.connect(port, '127.0.0.1')
  socket.write(request('again').repeat(asked - 1) + request('again', CLOSE))
  expect(await bodies(socket)).toHaveLength(asked)
  // Its last one can't be a whole one yet, and is waited for.
  expect(most).toBeLessThan(600)
})

describe('the body of an answered request is garbage-collected', () => {
  v8.setFlagsFromString('--expose-gc')
  const collect: () => void = vm.runInNewContext('gc')
  const held: WeakRef<Buffer>[] = []
  const replays = replaysOf([])
  const telling = (): FastPath =>
    open([], {
      ...replays,
      find(head, body, arrivedMs) {
        held.push(new WeakRef(body))
        return replays.find(head, body, arrivedMs)
      },
    })
  const left = () => {
    collect()
    return held.filter((body) => body.deref()).length
  }
  beforeEach(() => {
    held.length = 0
  })

  it('on a connection that stays open, even when the body came in pieces', async () => {
    const port = await serve(telling())
    const socket = net.connect(port, '127.0.0.1')
    const whole = request('again 1')
    socket.write(whole.slice(0, -1))
    // As our server does, until the next one comes.
    const [kept] = (await once(server, 'request')) as [IncomingMessage]
    await turnOver()
    socket.write(whole.slice(-1))
    await once(socket, 'data')
    expect(held).toHaveLength(1)
    await expect.poll(left).toBe(0)
    expect(kept.complete).toBe(true)
    socket.destroy()
  })

  it('while another request of its event-loop turn is still arriving', async () => {
    const port = await serve(together(2, telling()))
    const slow = net.connect(port, '127.0.0.1')
    slow.write(request('again 1').slice(0, -1))
    const quick = net.connect(port, '127.0.0.1')
    quick.write(request('again 2', CLOSE))
    await bodies(quick)
    expect(held).toHaveLength(1)
    await expect.poll(left).toBe(0)
    slow.destroy()
  })
})

const turnOver = () => new Promise((resolve) => setImmediate(resolve))

/** Holds the first ones back until so many are there, and gives them all at once. */
function together(count: number, take: FastPath): Take {
  const waiting: [IncomingMessage, ServerResponse][] = []
  return (...one) => {
    if (waiting.push(one) === count) for (const each of waiting) take(...each)
  }
}
