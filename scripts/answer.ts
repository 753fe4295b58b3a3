// Answers requests through Next from the moment that the node is there until it is asked to stop, and then to the last
// one.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import v8 from 'node:v8'
import { problem } from '../lib/http/problem'
import { requestIdFrom } from '../lib/http/request-id'
import { complete, type Parts } from '../lib/http/respond'
import type { RunningNode } from '../lib/node/start'
// before Next is there
import '../lib/wall-clock'
import { aborted } from './aborted'
import { decodable } from './decodable'
import type { NodeServer } from './http-server'
import { openStaticFiles, type ServeStatic } from './static-files'
import { openTurns } from './turns'

// Stopping the workers is bounded by their own jobs; this bounds it for somebody who pressed Ctrl-C twice.
const HURRIED_STOP_MS = 1_000
/** An order this long ago is followed by another, as far as anybody can tell. */
const ORDERS_FOLLOW_MS = 1_000
const REFUSED_FOR_SECONDS = 2

export interface Answering {
  root: string
  dev: boolean
  drainMs: number
  stopping: AbortSignal
  hurrying: AbortSignal
  /** It answers; not called when it is asked to stop before. */
  onReady(): void
}

/** What instrumentation.ts, which Next bundles apart from us, leaves for this process. */
export function runningNode(): RunningNode | undefined {
  return (globalThis as { [key: symbol]: RunningNode | undefined })[Symbol.for('onceover.node')]
}

export async function answerUntilStopped(server: NodeServer, answering: Answering): Promise<void> {
  const { root, dev, drainMs, stopping, hurrying, onReady } = answering
  // Orders wait for the provider and outlive a young generation; V8 would conclude that all requests do, replays too, and
  // put them among the old at once, where they take several times as long to clear away.
  v8.setFlagsFromString('--no-allocation-site-pretenuring')
  const { default: next } = await import('next')
  const app = next({ dev, dir: root, hostname: 'localhost', port: server.port })
  // Before it is open there is nobody to wait for: a start that fails ends at once.
  let limitMs = 0
  try {
    await app.prepare()
    const handle = app.getRequestHandler()
    let direct: RunningNode['direct'] | undefined
    let lastOrderMs = Number.NEGATIVE_INFINITY
    const areOrdersUnderWay = () => performance.now() - lastOrderMs < ORDERS_FOLLOW_MS
    // Under development pages are compiled when they are asked for, and change.
    const isStatic: ServeStatic = dev ? () => false : await openStaticFiles(root)
    // Strangers can ask for pages, so these have turns of their own.
    const turns = { page: openTurns(areOrdersUnderWay), operatorRead: openTurns(areOrdersUnderWay) }
    server.open(
      (request, response) => {
        if (direct?.(request, response)) {
          lastOrderMs = performance.now()
          return
        }
        if (isStatic(request, response)) return
        // Next can't make a Request of either, and would answer 500.
        if (request.method === 'TRACE') return response.writeHead(405).end()
        if (request.url === '*') return response.writeHead(400).end()
        request.url = decodable(request.url ?? '/')
        request.headers['x-forwarded-for'] = forwardedFor(request)
        const kind = kindOf(request)
        if (kind === 'other' || dev) return handle(request, response)
        turns[kind].take(
          response,
          () => void handle(request, response),
          () => refuse(kind, request, response),
        )
      },
      dev ? app.getUpgradeHandler() : refuseUpgrade,
    )
    await untilRegistered(server.port, stopping)
    // Under development the routes change while they are served, and only Next knows.
    if (!dev) direct = runningNode()?.direct
    limitMs = drainMs
    if (!stopping.aborted) onReady()
    await aborted(stopping)
  } finally {
    await server.drain(limitMs, hurrying)
    const stopped = Promise.allSettled([runningNode()?.stop(), app.close()])
    const hurried = aborted(hurrying).then(() => delay(HURRIED_STOP_MS))
    // A worker that can't reach its database any more must not keep the process: past a lease it owns nothing.
    await Promise.race([stopped, hurried, delay(drainMs)])
  }
}

// As a proxy does: whose connection it is stands last. Next would leave what a client wrote itself.
const forwardedFor = ({ headers, socket }: IncomingMessage): string =>
  [headers['x-forwarded-for'], socket.remoteAddress].flat().filter(Boolean).join(', ')

type Kind = 'page' | 'operatorRead' | 'other'

/** Exports have few connections instead, and take as long as their reader. */
function kindOf({ method, url }: IncomingMessage): Kind {
  const path = URL.canParse(url!, 'http://node') ? new URL(url!, 'http://node').pathname : ''
  if (!path.startsWith('/api/')) return 'page'
  const isRead =
    (method === 'GET' || method === 'HEAD') && path.startsWith('/api/admin/') && path !== '/api/admin/keys/export'
  return isRead ? 'operatorRead' : 'other'
}

function refuse(kind: Kind, request: IncomingMessage, response: ServerResponse): void {
  const busy: Parts = {
    status: 503,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'retry-after': String(REFUSED_FOR_SECONDS) },
    body: 'Too many pages are being asked for at once. Try again in a moment.\n',
  }
  const parts =
    kind === 'page'
      ? busy
      : problem('rate_limited', {
          detail: 'Too many operators read at once from this node.',
          afterSeconds: REFUSED_FOR_SECONDS,
        })
  const { status, headers, body } = complete(parts, {
    'x-request-id': requestIdFrom(String(request.headers['x-request-id'] ?? '')),
    // What is still sent of its body is not read.
    connection: request.complete ? null : 'close',
  })
  response.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) }).end(body)
}

// Only a page under development has a use for one, and Next would leave the connection open without a word.
function refuseUpgrade(_: IncomingMessage, socket: Duplex): void {
  socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
}

// Next does not wait for instrumentation.ts (first tenant, admin, job worker) before it is prepared, nor does it report
// that this failed. But its first answer waits, and tells. Being asked to stop ends that wait: it may be one for a
// database that is gone.
async function untilRegistered(port: number, stopping: AbortSignal): Promise<void> {
  const { status } = await fetch(`http://localhost:${port}/api/health`, { signal: stopping })
  if (status !== 200) throw new Error(`the node answers its own health check with ${status}; the reason is above.`)
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
