// One HTTP exchange for each request of the SDK, and never a second one. Nothing is written before the connection stands
// and the limit was asked once more, so what ends before that is proven unsent; after the limit nothing is sent.
//
// The SDK's own client can't promise this: it repeats a request whose connection broke even with `maxNetworkRetries: 0`
// (stripe-node #2808), and its timeout counts silence on a connected socket, not time (#1058).

import http, { type Agent, type ClientRequest } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type Stripe from 'stripe'
import type { TimeLimit } from './time-limit'

export type NoAnswerReason = 'connection_refused' | 'connection_timeout' | 'connection_lost' | 'timeout'

/** Without a `code` of its own on purpose: it is the code by which the SDK picks what to repeat. */
export class NoAnswer extends Error {
  constructor(
    /** Whether the provider may have read the request. */
    readonly sent: boolean,
    readonly reason: NoAnswerReason,
    cause?: unknown,
  ) {
    super(`no answer: ${reason}`, { cause })
    this.name = 'NoAnswer'
  }
}

export interface Transport extends Stripe.HttpClient {
  /** From here on nothing is sent and nothing waited for; says how the request under way ended. */
  abandon(): NoAnswer
}

// Shorter than servers keep a silent connection (5 s is the shortest that is common), so that we are the one to close
// it. A request written to a connection that its server has just closed would be an outcome that nobody knows.
const IDLE_CONNECTION_MS = 4_000

export function openAgent(protocol: 'http' | 'https', idleMs = IDLE_CONNECTION_MS): Agent {
  const options = { keepAlive: true, timeout: idleMs }
  return protocol === 'http' ? new http.Agent(options) : new https.Agent(options)
}

/** For one call of the gateway, which may need several requests, one after the other. */
export function openTransport(agent: Agent, limit: TimeLimit): Transport {
  let sent = false
  let abandoned = false
  let underWay: ClientRequest | null = null

  const tooLate = () => new NoAnswer(sent, sent ? 'timeout' : 'connection_timeout')
  const broken = (cause: unknown) => new NoAnswer(sent, sent ? 'connection_lost' : 'connection_refused', cause)

  function exchange(options: https.RequestOptions, secure: boolean, body: string): Promise<Stripe.HttpClientResponse> {
    return new Promise((resolve, reject) => {
      const request = (secure ? https : http).request({ ...options, agent })
      underWay = request
      request.on('error', (cause) => reject(broken(cause)))
      request.on('response', (response) => {
        text(response).then(
          (json) => resolve(toResponse(response, json)),
          (cause) => reject(broken(cause)),
        )
      })
      request.on('socket', (socket) =>
        whenConnected(request, socket, secure, () => {
          // The process may have slept while it connected, and a timer that is due runs after this.
          if (abandoned || limit.isOver()) {
            reject(tooLate())
            request.destroy()
            return
          }
          sent = true
          request.end(body)
        }),
      )
    })
  }

  return {
    getClientName: () => 'node',
    // Async, so that it never throws: the SDK would leave its caller waiting.
    async makeRequest(host, port, path, method, headers, body, protocol) {
      sent = false
      if (abandoned || limit.isOver()) throw tooLate()
      try {
        return await exchange({ host, port, path, method, headers }, protocol !== 'http', body)
      } catch (cause) {
        throw cause instanceof NoAnswer ? cause : broken(cause)
      }
    },
    abandon() {
      abandoned = true
      underWay?.destroy()
      return tooLate()
    },
  }
}

/** Node writes nothing of a request before its first `write` or `end`, so holding those back holds all of it back. */
function whenConnected(request: ClientRequest, socket: Socket, secure: boolean, send: () => void): void {
  if (request.reusedSocket || (!secure && !socket.connecting)) send()
  else socket.once(secure ? 'secureConnect' : 'connect', send)
}

function toResponse(response: http.IncomingMessage, json: string): Stripe.HttpClientResponse {
  const statusCode = response.statusCode ?? 0
  return {
    getStatusCode: () => statusCode,
    getHeaders: () => response.headers as Record<string, string>,
    getRawResponse: () => ({ statusCode }),
    toStream: () => {
      throw new Error('nothing here is streamed')
    },
    toJSON: async () => parse(statusCode, json),
  }
}

/** The SDK takes any JSON without an `error` for a success, whatever the status: an error page must not pass for one. */
function parse(statusCode: number, json: string): unknown {
  const succeeded = statusCode >= 200 && statusCode < 300
  try {
    const body: unknown = JSON.parse(json)
    if (typeof body === 'object' && body !== null && (succeeded || 'error' in body)) return body
  } catch {}
  return { error: { type: 'api_error', message: `an answer with status ${statusCode} that is not the API's` } }
}
