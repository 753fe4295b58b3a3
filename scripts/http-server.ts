// The node's HTTP server. It owns its port before anything else is prepared and makes early requests wait, so nobody
// can take the port in between; and it ends by finishing the requests under way, and no connection else.
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { aborted } from './aborted'

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown
type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => unknown

const PORT_ATTEMPTS = 100
/** Longer than the minute that proxies keep an idle connection: if we closed first, a request might be on its way to us. */
const IDLE_MS = 75_000
const ANSWER = Symbol('answer')

/** With the answer that is, or was last, under way on it: of several that were asked for at once, the last. */
interface Connection extends Duplex {
  [ANSWER]?: ServerResponse
}

export interface NodeServer {
  readonly port: number
  /** Answers from now on, beginning with the requests that have been waiting. */
  open(handler: Handler, onUpgrade: UpgradeHandler): void
  /** Takes no new request and resolves when those under way are answered, `limitMs` is over or `hurry` is aborted. */
  drain(limitMs: number, hurry: AbortSignal): Promise<void>
}

/** Without a host, on every address, IPv4 and IPv6 alike. */
export async function listen(wantedPort: number, host?: string): Promise<NodeServer> {
  let open = (_: Handler) => {}
  let handler: Handler | undefined
  const opened = new Promise<Handler>((resolve) => {
    open = resolve
  })
  const connections = new Set<Connection>()
  let draining = false
  let emptied = () => {}

  /** The last one on its connection. */
  function isLast(response: ServerResponse): void {
    if (!response.headersSent) response.setHeader('connection', 'close')
    response.once('close', () => endWhenFlushed(response.req.socket))
  }
  const server = http.createServer((request, response) => {
    ;(request.socket as Connection)[ANSWER] = response
    if (draining) isLast(response)
    if (handler) return handler(request, response)
    return opened.then((handle) => handle(request, response))
  })
  server.keepAliveTimeout = IDLE_MS
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => {
      connections.delete(socket)
      if (connections.size === 0) emptied()
    })
  })

  await bind(server, wantedPort, host)
  return {
    port: (server.address() as AddressInfo).port,
    open(handle, onUpgrade) {
      server.on('upgrade', onUpgrade)
      handler = handle
      open(handle)
    },
    async drain(limitMs, hurry) {
      draining = true
      server.close()
      const empty = new Promise<void>((resolve) => {
        emptied = resolve
        if (connections.size === 0) resolve()
      })
      for (const connection of connections) {
        const response = connection[ANSWER]
        if (response && !response.closed && hasEnd(response)) isLast(response)
        // Not only idle keep-alive connections: browsers open spare ones ahead, which never sent a request.
        else connection.destroy()
      }
      await Promise.race([empty, timeout(limitMs), aborted(hurry)])
      server.closeAllConnections()
    },
  }
}

// An event stream has no end to wait for; its reader connects again elsewhere.
function hasEnd(response: ServerResponse): boolean {
  return !String(response.getHeader('content-type')).startsWith('text/event-stream')
}

function endWhenFlushed(socket: Socket): void {
  if (!socket.destroyed) socket.end()
}

async function bind(server: Server, wantedPort: number, host?: string): Promise<void> {
  const last = wantedPort === 0 ? 0 : Math.min(wantedPort + PORT_ATTEMPTS, 65_535)
  for (let port = wantedPort; ; port++) {
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
      if (code !== 'EADDRINUSE' || port >= last)
        throw new Error(`can't listen on port ${port}: ${message}`, { cause: error })
    }
  }
}

function timeout(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
