// Refusals of the server itself, before or instead of a route: always a problem, as a client's library expects it.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ProblemCode, type ProblemDetails, problem } from '../lib/http/problem'
import { requestIdFrom } from '../lib/http/request-id'
import { complete, type Parts } from '../lib/http/respond'

type Headers = Record<string, string | null>

export const refuse = (request: IncomingMessage, response: ServerResponse, code: ProblemCode, headers?: Headers) =>
  refuseWith(request, response, problem(code), headers)

export function refuseWith(request: IncomingMessage, response: ServerResponse, parts: Parts, more: Headers = {}): void {
  const { status, headers, body } = complete(parts, {
    'x-request-id': requestIdFrom(String(request.headers['x-request-id'] ?? '')),
    // What is still sent of its body is not read.
    connection: request.complete ? null : 'close',
    ...more,
  })
  response.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Where there is no request that could be answered, on its connection, which ends. */
export function refuseOnSocket(socket: Duplex, code: ProblemCode, more: Headers = {}, details?: ProblemDetails): void {
  if (!socket.writable) return void socket.destroy()
  const { status, headers, body } = complete(problem(code, details), {
    date: new Date().toUTCString(),
    'x-request-id': requestIdFrom(''),
    connection: 'close',
    ...more,
  })
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)) })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`, () => socket.destroy())
}
