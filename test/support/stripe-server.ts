// A server on loopback that speaks Stripe's wire format: form bodies in, JSON out, errors in their envelope, lists with
// cursors. What it answers is up to the test; what it was sent is kept, so that a test can count requests.
import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { EffectRequest } from '../../lib/payments/gateway'

export interface SeenRequest {
  method: string
  path: string
  /** Of the query or of the form, whichever the method has. */
  params: URLSearchParams
  headers: IncomingHttpHeaders
}

export type Reply =
  | { status: number; body: unknown; headers?: Record<string, string>; afterMs?: number }
  /** Reads the request and never answers. */
  | 'silence'
  /** Reads the request and resets the connection. */
  | 'reset'
  /** Breaks off in the middle of an answer. */
  | 'half'
  /** Answers for ever, a space at a time, so that the connection is never silent. */
  | 'trickle'

type Handler = (request: SeenRequest) => Reply

export interface StripeServer {
  api: { protocol: 'http' | 'https'; host: string; port: number }
  seen: SeenRequest[]
  /** How many connections were opened, with or without a request. */
  connections(): number
  openConnections(): number
  /** From now on; before that it answers 500. */
  reply(handler: Handler | Reply): void
  close(): Promise<void>
}

export async function startStripe(tls?: { key: string; cert: string }): Promise<StripeServer> {
  const seen: SeenRequest[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  let handler: Handler = () => apiError(500, { type: 'api_error' })

  const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request).catch(() => '')
    const url = new URL(request.url ?? '/', 'http://stripe.test')
    const params = request.method === 'POST' ? new URLSearchParams(body) : url.searchParams
    const one = { method: request.method ?? '', path: url.pathname, params, headers: request.headers }
    seen.push(one)
    play(handler(one), request, response, seen.length)
  }
  const server = tls ? https.createServer(tls, onRequest) : http.createServer(onRequest)
  server.on('connection', (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    api: { protocol: tls ? 'https' : 'http', host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    seen,
    connections: () => connections,
    openConnections: () => sockets.size,
    reply: (next) => {
      handler = typeof next === 'function' ? next : () => next
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function play(reply: Reply, request: IncomingMessage, response: ServerResponse, number: number): void {
  if (reply === 'silence') return
  if (reply === 'reset') {
    request.socket.resetAndDestroy()
    return
  }
  if (reply === 'half') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
    response.write('{"id":"pi_half","object":"payment_intent","status":"succeeded"', () => request.socket.destroy())
    return
  }
  if (reply === 'trickle') {
    response.writeHead(200, { 'content-type': 'application/json' })
    const timer = setInterval(() => response.write(' '), 10)
    response.on('close', () => clearInterval(timer))
    return
  }
  const send = () => {
    response.writeHead(reply.status, {
      'content-type': 'application/json',
      'request-id': `req_${number}`,
      ...reply.headers,
    })
    response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body))
  }
  if (reply.afterMs) setTimeout(send, reply.afterMs)
  else send()
}

export const answered = (body: object, afterMs?: number): Reply => ({ status: 200, body, afterMs })

export const apiError = (status: number, error: object, headers?: Record<string, string>): Reply => ({
  status,
  headers,
  body: { error: { message: 'as the test wants it', ...error } },
})

export interface StripeObject {
  id: string
  object: string
  status: string
  created: number
  amount: number
  currency: string
  metadata: Record<string, string>
  payment_intent?: string
  [field: string]: unknown
}

export function paymentIntent(fields: Partial<StripeObject> = {}): StripeObject {
  const amount = fields.amount ?? 2500
  const status = fields.status ?? 'succeeded'
  const common = { id: 'pi_1', object: 'payment_intent', currency: 'eur', metadata: {}, last_payment_error: null }
  const amount_received = status === 'succeeded' ? amount : 0
  return { ...common, created: seconds(), amount, amount_received, ...fields, status }
}

export function refund(fields: Partial<StripeObject> = {}): StripeObject {
  const common = { id: 're_1', object: 'refund', status: 'succeeded', amount: 700, currency: 'eur', metadata: {} }
  return { ...common, created: seconds(), payment_intent: 'pi_1', ...fields }
}

export const seconds = (offset = 0): number => Math.floor(Date.now() / 1000) + offset

/** Answers a list request as Stripe does: newest first, filtered, at most `limit`, from a cursor on. */
export function listOf(objects: StripeObject[]): (request: SeenRequest) => Reply {
  return ({ params }) => {
    const gte = Number(params.get('created[gte]') ?? 0)
    const lt = Number(params.get('created[lt]') ?? Number.POSITIVE_INFINITY)
    const lte = Number(params.get('created[lte]') ?? Number.POSITIVE_INFINITY)
    const of = params.get('payment_intent')
    const matching = objects
      .filter(
        ({ created, payment_intent }) =>
          created >= gte && created < lt && created <= lte && (!of || payment_intent === of),
      )
      .sort((a, b) => b.created - a.created)
    const after = params.get('starting_after')
    const start = after ? matching.findIndex(({ id }) => id === after) + 1 : 0
    const data = matching.slice(start, start + Number(params.get('limit') ?? 10))
    return answered({ object: 'list', data, has_more: start + data.length < matching.length })
  }
}

/** What a gateway is asked for in these tests. */
export const CHARGE: EffectRequest = {
  kind: 'charge',
  providerKey: 'oo_01HZX',
  keyDigest: 'd1',
  fingerprint: 'v1:f1',
  orderId: 'ord_1',
  customerId: 'cus_1042',
  amountCents: 2500,
  currency: 'EUR',
  paymentMethod: 'pm_card_visa',
}
export const REFUND: EffectRequest = {
  ...CHARGE,
  kind: 'refund',
  amountCents: 700,
  chargeRef: 'pi_1',
  reason: 'as they asked',
}
