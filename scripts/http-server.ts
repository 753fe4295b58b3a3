// The node's HTTP server: what belongs to the protocol and not to the application. It listens only once there is
// somebody to answer, refuses what is no valid request with a problem, and ends by answering every request of which it
// has read a byte.
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { aborted } from './aborted'
import { refuse, refuseOnSocket } from './refusals'

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown
type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => unknown

const PORT_ATTEMPTS = 100
/** Longer than the minute that proxies keep an idle connection: if we closed first, a request might be on its way to us. */
const IDLE_MS = 75_000
/** A request has to have come as a whole, headers and body, after this long. */
const REQUEST_LIMIT_MS = 30_000
const CHECKS_A_LIMIT = 10
const ANSWER = Symbol('answer')

/** With the answer that is, or was last, under way on it: of several that were asked for at once, the last. */
interface Connection extends Socket {
  [ANSWER]?: ServerResponse
}

export interface Listening {
  port: number
  /** Where the port is taken, one of the next will do. */
  orNext?: boolean
  /** Without it, on every address, IPv4 and IPv6 alike. */
  host?: string
  handler: Handler
  /** Without it, `Upgrade` is ignored, as RFC 9110 allows: Java's client offers HTTP/2 with every request. */
  onUpgrade?: UpgradeHandler
  requestLimitMs?: number
}

export interface NodeServer {
  readonly port: number
  /** Takes no new request and resolves when those under way are answered, `limitMs` is over or `hurry` is aborted. */
  drain(limitMs: number, hurry: AbortSignal): Promise<void>
}

export async function listen(listening: Listening): Promise<NodeServer> {
  const { handler, onUpgrade, requestLimitMs = REQUEST_LIMIT_MS } = listening
  const connections = new Set<Connection>()
  let draining = false
  let emptied = () => {}

  /** The last one on its connection. */
  function isLast(response: ServerResponse): void {
    if (!response.headersSent) response.setHeader('connection', 'close')
    const connection = response.req.socket as Connection
    response.once('close', () => {
      if (connection[ANSWER] === response && !connection.destroyed) connection.end()
    })
  }

  const server = http.createServer(
    {
      headersTimeout: requestLimitMs,
      requestTimeout: requestLimitMs,
      connectionsCheckingInterval: requestLimitMs / CHECKS_A_LIMIT,
      // Asked below, where the refusal has a body.
      requireHostHeader: false,
    },
    (request, response) => {
      const connection = request.socket as Connection
      const before = connection[ANSWER]
      connection[ANSWER] = response
      if (draining) {
        // The client knows, or will know, from an earlier answer that this request is not taken.
        if (!connection.writable || (before && !before.closed && before.headersSent)) return
        if (before && !before.closed) before.removeHeader('connection')
        isLast(response)
      }
      if (!hasOneHost(request) || !readTarget(request)) return refuse(request, response, 'malformed_request')
      return handler(request, response)
    },
  )
  server.keepAliveTimeout = IDLE_MS
  // Whoever has sent all of a request may close that side of the connection and still wait for the answer.
  ;(server as http.Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true
  server.on('connection', (socket: Connection) => {
    connections.add(socket)
    socket.once('close', () => {
      connections.delete(socket)
      if (connections.size === 0) emptied()
    })
    // A reader that closes its side has mostly gone, and a page for nobody costs others their turn. A change is answered.
    socket.once('end', () => {
      const request = socket[ANSWER]?.req
      if (!request || request.method === 'GET' || request.method === 'HEAD') socket.end()
    })
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Connection) => {
    refuseBroken(error, socket, socket[ANSWER])
  })
  server.on('connect', (_, socket: Duplex) =>
    refuseOnSocket(socket, 'method_not_allowed', { allow: 'GET, HEAD, POST' }),
  )
  if (onUpgrade) server.on('upgrade', onUpgrade)

  await bind(server, listening)
  return {
    port: (server.address() as AddressInfo).port,
    async drain(limitMs, hurry) {
      draining = true
      // Not http.Server's own, which also destroys connections that it takes for idle at once: a request may be waiting
      // in their buffers, or an answer may not be flushed.
      net.Server.prototype.close.call(server)
      const empty = new Promise<void>((resolve) => {
        emptied = resolve
      })
      for (const { [ANSWER]: response } of connections) {
        if (!response || response.closed) continue
        if (hasEnd(response)) isLast(response)
        else response.destroy()
      }
      const over = Promise.race([empty, timeout(limitMs), aborted(hurry)])
      // Two turns: whatever the system had received by now is read, and each request in it has an answer to wait for.
      await turn()
      await turn()
      let isFlushing = true
      while (isFlushing) isFlushing = await Promise.race([waitForOneFlush(connections), over.then(() => false)])
      // Browsers open spare connections ahead, on which nothing was ever sent.
      for (const connection of connections) if (connection.bytesRead === 0) connection.destroy()
      server.closeIdleConnections()
      if (connections.size > 0) await over
      server.closeAllConnections()
      server.close(() => {})
    },
  }
}

/** False where no answer is written and not yet sent. */
async function waitForOneFlush(connections: ReadonlySet<Connection>): Promise<boolean> {
  for (const { [ANSWER]: response } of connections)
    if (response?.writableEnded && !response.closed) {
      await new Promise((resolve) => response.once('close', resolve))
      return true
    }
  return false
}

/** RFC 9112, 3.2: exactly one, and none only from clients older than HTTP/1.1. */
function hasOneHost({ rawHeaders, httpVersionMinor }: IncomingMessage): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0)
}

/** Leaves the path of an absolute form; its host is a client's word, and nothing may lead there. */
function readTarget(request: IncomingMessage): boolean {
  const target = request.url!
  if (target.startsWith('/')) return true
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return false
  const { pathname, search } = new URL(target)
  request.url = pathname + search
  return true
}

/** What is no request any more: never before the answers to what came before it on its connection. */
function refuseBroken(error: NodeJS.ErrnoException, socket: Connection, response: ServerResponse | undefined): void {
  const isBroken = error.code?.startsWith('HPE_') || error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  // A spare connection that never sent anything is closed without a word.
  if (!isBroken || socket.bytesRead === 0 || !socket.writable) return void socket.destroy(error)
  const refuseNow = () => {
    if (error.code === 'HPE_HEADER_OVERFLOW') refuseOnSocket(socket, 'headers_too_large')
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refuseOnSocket(socket, 'request_timeout')
    else refuseOnSocket(socket, 'malformed_request')
  }
  if (!response || response.closed) refuseNow()
  else if (response.req.complete) response.once('close', refuseNow)
  else if (response.headersSent) socket.destroy(error)
  else if (response.socket) refuseNow()
  else response.once('socket', refuseNow)
}

// An event stream has no end to wait for; its reader connects again elsewhere.
function hasEnd(response: ServerResponse): boolean {
  return !String(response.getHeader('content-type')).startsWith('text/event-stream')
}

/** Throws where nobody could listen on this port. */
export async function checkPort(port: number): Promise<void> {
  const server = net.createServer()
  await bind(server, { port })
  await new Promise((resolve) => server.close(resolve))
}

async function bind(server: net.Server, { port: wanted, orNext, host }: Pick<Listening, 'port' | 'orNext' | 'host'>) {
  const last = orNext && wanted !== 0 ? Math.min(wanted + PORT_ATTEMPTS, 65_535) : wanted
  for (let port = wanted; ; port++) {
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ port, host }, () => {
          server.off('error', reject)
          resolve()
        })
      })
      return
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code !== 'EADDRINUSE') throw new Error(`can't listen on port ${port}: ${message}`, { cause: error })
      if (port >= last) throw new Error(`port ${port} is taken.`, { cause: error })
    }
  }
}

function timeout(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
