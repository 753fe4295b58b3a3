// A process's share of one port: a whole node that is given its connections by the process that started it. It takes
// none once it is asked to stop, and tells what it counted before it ends.
import type { Socket } from 'node:net'
import { parseConfig } from '../lib/config'
import type { Numbers } from '../lib/metrics/exposition'
import { leaveSiblings } from '../lib/node/siblings'
import { answerUntilStopped, runningNode } from './answer'
import { listen, type NodeServer } from './http-server'
import type { FromServing, ToServing } from './process-messages'

export interface ShareContext {
  root: string
  stopping: AbortController
  hurrying: AbortController
}

interface Scrape {
  resolve(sum: Numbers): void
  reject(why: Error): void
}

export async function serveShare({ root, stopping, hurrying }: ShareContext): Promise<void> {
  const config = parseConfig(process.env)
  // A door of its own, on the loopback address: its first request has to be answered by itself and no sibling, and
  // Node's server watches over slow clients only while it listens somewhere.
  const server = await listen(0, 'localhost')
  const scrapes = new Map<number, Scrape>()

  process.on('message', (message: ToServing, socket?: Socket) => {
    switch (message.kind) {
      case 'connection':
        return takeConnection(message.connection, socket, server, stopping.signal)
      case 'tell':
        return void tellNumbers(message.round)
      case 'sum':
        return scrapes.get(message.scrape)?.resolve(message.numbers)
      case 'stop':
        return stopping.abort()
      case 'hurry':
        return hurrying.abort()
    }
  })

  let count = 0
  const orphaned = () => new Error('the process that knows the sum has gone')
  // Each of those that wait is told. A race with one promise of the process's whole life would keep all that ever ran.
  process.once('disconnect', () => {
    for (const scrape of scrapes.values()) scrape.reject(orphaned())
  })
  leaveSiblings({
    async numbers() {
      if (!process.connected) throw orphaned()
      const scrape = ++count
      const sum = new Promise<Numbers>((resolve, reject) => scrapes.set(scrape, { resolve, reject }))
      void tell({ kind: 'scrape', scrape })
      return sum.finally(() => scrapes.delete(scrape))
    },
  })

  await answerUntilStopped(server, {
    root,
    dev: false,
    port: config.port,
    drainMs: config.leaseMs,
    stopping: stopping.signal,
    hurrying: hurrying.signal,
    onReady: () => void tell({ kind: 'ready', welcome: runningNode()!.welcome(`http://localhost:${config.port}`) }),
  })
  await tellNumbers(null)
}

function takeConnection(connection: number, socket: Socket | undefined, server: NodeServer, stopping: AbortSignal) {
  if (stopping.aborted) {
    socket?.destroy()
    return void tell({ kind: 'refused', connection })
  }
  // Said before the first byte is read: who did not say so has read nothing, but where a full channel kept its word back.
  void tell({ kind: 'took', connection })
  if (!socket) return void tell({ kind: 'ended' })
  socket.once('close', () => void tell({ kind: 'ended' }))
  server.take(socket)
}

async function tellNumbers(round: number | null): Promise<void> {
  const numbers = await runningNode()?.numbers()
  if (numbers) await tell({ kind: 'numbers', round, numbers })
}

/** Resolves when it is sent, or nobody is there any more to be told. */
function tell(message: FromServing): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) return resolve()
    process.send!(message, undefined, undefined, () => resolve())
  })
}
