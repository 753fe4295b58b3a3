// Answers requests through Next from the moment that the node is there until it is asked to stop, and then to the last
// one. The port opens when the node can answer, not before: what waits at a proxy or in a client's retry is better off
// there than here.
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import v8 from 'node:v8'
import { type FastPath, openFastPath } from '../lib/fast-path/serve'
import { problem } from '../lib/http/problem'
import type { Parts } from '../lib/http/respond'
import type { LeftNode, RunningNode } from '../lib/node/start'
// before Next is there
import '../lib/wall-clock'
import { aborted } from './aborted'
import { decodable } from './decodable'
import { listen, type NodeServer } from './http-server'
import { takeOverConsole } from './log-lines'
import { refuse, refuseWith } from './refusals'
import { openStaticFiles, type ServeStatic } from './static-files'
import { openTurns } from './turns'

// Stopping the workers is bounded by their own jobs; this bounds it for somebody who pressed Ctrl-C twice.
const HURRIED_STOP_MS = 1_000
/** An order this long ago is followed by another, as far as anybody can tell. */
const ORDERS_FOLLOW_MS = 1_000
const REFUSED_FOR_SECONDS = 2
/** RFC 6797: a browser that came by TLS once comes by TLS for a year. */
const STRICT_TRANSPORT = 'max-age=31536000'
const PAGE_METHODS = ['GET', 'HEAD', 'POST']

export interface Answering {
  root: string
  dev: boolean
  port: number
  /** Where the port is taken, one of the next will do. */
  orNext?: boolean
  drainMs: number
  stopping: AbortSignal
  hurrying: AbortSignal
  /** It answers at this port; not called when it is asked to stop before. */
  onReady(port: number): void
}

/** What instrumentation.ts, which Next bundles apart from us, leaves for this process. */
export const runningNode = (): RunningNode | undefined => left().node

const left = () => (globalThis as { [key: symbol]: LeftNode | undefined })[Symbol.for('onceover.node')] ?? {}

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown

export async function answerUntilStopped(answering: Answering): Promise<void> {
  const { root, dev, port, orNext, drainMs, stopping, hurrying, onReady } = answering
  // Orders wait for the provider and outlive a young generation; V8 would conclude that all requests do, replays too, and
  // put them among the old at once, where they take several times as long to clear away.
  v8.setFlagsFromString('--no-allocation-site-pretenuring')
  const lines = dev ? undefined : takeOverConsole()
  const { default: next } = await import('next')
  // It listens to `upgrade` on the server that it is given, or else finds; this one never listens.
  const app = next({ dev, dir: root, hostname: 'localhost', port, httpServer: new http.Server() })
  let server: NodeServer | undefined
  try {
    await app.prepare()
    const handle = app.getRequestHandler()
    await untilRegistered(handle, stopping).catch((error) => {
      // What a node itself gives as the reason is one line, and says it all.
      throw error === left().failure ? error : Object.assign(error, { output: lines?.held() })
    })
    lines?.open()
    const handler = dev ? answerByNext(handle) : await answerFastOrByNext(root, handle)
    server = await listen({ port, orNext, handler, onUpgrade: dev ? app.getUpgradeHandler() : undefined })
    if (!stopping.aborted) onReady(server.port)
    await aborted(stopping)
  } finally {
    await server?.drain(drainMs, hurrying)
    const stopped = Promise.allSettled([runningNode()?.stop(), app.close()])
    const hurried = aborted(hurrying).then(() => delay(HURRIED_STOP_MS))
    // A worker that can't reach its database any more must not keep the process: past a lease it owns nothing.
    await Promise.race([stopped, hurried, delay(drainMs)])
  }
}

/** Under development pages and routes are compiled when they are asked for, and change while they are served. */
const answerByNext =
  (handle: Handle): Handle =>
  (request, response) => {
    request.url = decodable(request.url ?? '/')
    request.headers['x-forwarded-for'] = forwardedFor(request)
    return handle(request, response)
  }

function openFastPathOf(node: RunningNode | undefined): FastPath | undefined {
  return node?.services.config.fastPath ? openFastPath(node.services, node.routes) : undefined
}

async function answerFastOrByNext(root: string, handle: Handle): Promise<Handle> {
  const node = runningNode()
  const allowedMethods = node?.allowedMethods ?? (() => null)
  const fastPath = openFastPathOf(node)
  const isStatic: ServeStatic = await openStaticFiles(root)
  let lastOrderMs = Number.NEGATIVE_INFINITY
  const areOrdersUnderWay = () => performance.now() - lastOrderMs < ORDERS_FOLLOW_MS
  // Strangers can ask for pages, so these have turns of their own.
  const turns = { page: openTurns(areOrdersUnderWay), operatorRead: openTurns(areOrdersUnderWay) }
  const byNext = answerByNext(handle)
  return (request, response) => {
    if (isByTls(request)) response.setHeader('strict-transport-security', STRICT_TRANSPORT)
    if (fastPath?.(request, response)) {
      lastOrderMs = performance.now()
      return
    }
    if (isStatic(request, response)) return
    const path = pathOf(request)
    const allowed = path.startsWith('/api/') ? allowedMethods(path) : PAGE_METHODS
    if (request.method === 'TRACE' || (allowed && !allowed.includes(request.method!)))
      return refuse(request, response, 'method_not_allowed', { allow: (allowed ?? []).join(', ') })
    const kind = kindOf(request, path)
    if (kind === 'other') {
      // Without the fast path orders come this way, and any other POST counts as one.
      if (request.method === 'POST') lastOrderMs = performance.now()
      return byNext(request, response)
    }
    turns[kind].take(
      response,
      () => void byNext(request, response),
      () => refuseBusy(kind, request, response),
    )
  }
}

/** TLS ends in front of us; of a row of proxies, the first one says how the browser came. */
const isByTls = ({ headers }: IncomingMessage): boolean =>
  String(headers['x-forwarded-proto'] ?? '')
    .split(',', 1)[0]!
    .trim() === 'https'

// As a proxy does: whose connection it is stands last. Next would leave what a client wrote itself.
const forwardedFor = ({ headers, socket }: IncomingMessage): string =>
  [headers['x-forwarded-for'], socket.remoteAddress].flat().filter(Boolean).join(', ')

const pathOf = ({ url }: IncomingMessage): string =>
  URL.canParse(url!, 'http://node') ? new URL(url!, 'http://node').pathname : ''

type Kind = 'page' | 'operatorRead' | 'other'

/** Exports have few connections instead, and take as long as their reader. */
function kindOf({ method }: IncomingMessage, path: string): Kind {
  if (!path.startsWith('/api/')) return 'page'
  const isRead =
    (method === 'GET' || method === 'HEAD') && path.startsWith('/api/admin/') && path !== '/api/admin/keys/export'
  return isRead ? 'operatorRead' : 'other'
}

function refuseBusy(kind: Kind, request: IncomingMessage, response: ServerResponse): void {
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
  refuseWith(request, response, parts)
}

// Next does not wait for instrumentation.ts (first tenant, admin, job worker) before it is prepared, nor does it report
// that this failed. But its first answer waits, and tells: so it is asked for one on a port that only we know. Being
// asked to stop ends that wait: it may be one for a database that is gone.
async function untilRegistered(handler: Handle, stopping: AbortSignal): Promise<void> {
  const server = await listen({ port: 0, host: '127.0.0.1', handler })
  try {
    const { status } = await fetch(`http://127.0.0.1:${server.port}/api/health`, { signal: stopping })
    const { failure } = left()
    if (failure) throw failure
    if (status !== 200) throw new Error(`the node answers its own health check with ${status}.`)
  } finally {
    await server.drain(0, stopping)
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
