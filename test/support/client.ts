// A client of the API over real HTTP. It sends exactly what it is told to, on a connection of its own, retries nothing
// and keeps the raw bytes: what a test claims about the wire is then about the wire.
import { randomUUID } from 'node:crypto'
import http, { type IncomingHttpHeaders } from 'node:http'

/** What every node of these tests is started with. */
export const API_KEY = 'oo_demo_0123456789abcdef0123456789abcdef01234567'
export const ADMIN_TOKEN = 'admin-token-of-the-contract-tests'
export const SECRETS = { DEMO_API_KEY: API_KEY, ADMIN_TOKEN }

export const ORDERS = 'POST /api/orders'
export const REFUNDS = 'POST /api/orders/{id}/refunds'

export interface OrderView {
  id: string
  status: string
  customerId: string
  currency: string
  amountCents: number
  refundedCents: number
  items: { sku: string; quantity: number; unitPriceCents: number }[]
  note: string | null
  payment: { id: string; providerRef: string; status: string } | null
  createdAt: string
}

export interface RefundView {
  id: string
  orderId: string
  amountCents: number
  status: string
  providerRef: string | null
  reason: string | null
  createdAt: string
}

export interface RecordView {
  key: string
  endpoint: string
  state: string
  createdAt: string
  completedAt: string | null
  expiresAt: string
  retryAfterSeconds: number | null
  response: { status: number } | null
  resource: { type: string; id: string } | null
}

export interface ProblemView {
  type: string
  title: string
  status: number
  detail: string
  code: string
  retry: { sameKey: boolean; newKey: boolean; afterSeconds: number | null }
  issues?: { path: string; message: string }[]
  resource?: { type: string; id: string } | null
  response?: { status: number } | null
}

export interface ChargeView {
  ref: string
  customerId: string
  orderId: string
  amountCents: number
  status: 'succeeded' | 'failed'
  kind: 'charge' | 'refund'
  createdAt: string
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  bytes: Buffer
  /** The body as JSON. */
  json<T>(): T
}

/** A list sends the header line more than once; undefined leaves it out. */
export type Headers = Record<string, string | string[] | undefined>

export interface Sending {
  method?: string
  headers?: Headers
  /** Text or bytes go with a Content-Length, a list goes in chunks without one, anything else as JSON. */
  body?: unknown
  signal?: AbortSignal
}

/** Loaded before a test begins: it takes a second, in which a short request is over. */
const documentedAnswer = process.env.DOCUMENTED_ANSWERS === 'only' ? await import('./documented-answer') : null

/** In the tests of the contract, an answer that the OpenAPI document does not have fails the test that gets it. */
export async function send(url: string | URL, sending: Sending = {}): Promise<Answer> {
  const answer = await exchange(url, sending)
  const exchanged = { method: sending.method ?? 'GET', url: String(url), ...answer }
  const undocumented = documentedAnswer?.undocumentedIn(exchanged) ?? []
  if (undocumented.length > 0) throw new Error(`not by the OpenAPI document: ${undocumented.join('; ')}`)
  return answer
}

function exchange(url: string | URL, { method = 'GET', headers = {}, body, signal }: Sending): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const given = Object.entries(headers).filter((header): header is [string, string | string[]] => header[1] != null)
    const request = http.request(url, { method, agent: false, headers: Object.fromEntries(given), signal })
    let answered = false
    request.on('response', (response) => {
      answered = true
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const bytes = Buffer.concat(chunks)
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes,
          json: <T>() => JSON.parse(bytes.toString('utf8')) as T,
        })
      })
    })
    // A server may answer and close before it has read a body that it refuses.
    request.on('error', (error) => answered || reject(error))
    if (Array.isArray(body)) {
      for (const chunk of body) request.write(chunk)
      request.end()
    } else if (body === undefined) request.end()
    else request.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))
  })
}

export const freshKey = (): string => randomUUID()
export const freshCustomer = (): string => `cus_${randomUUID()}`

export interface OrderRequest {
  customerId: string
  currency: string
  items: { sku: string; quantity: number; unitPriceCents: number }[]
  paymentMethod: string
  note?: string
}

/** An order of 25.00 by a customer of its own, so that its charges can be counted. */
export const orderBody = (changes: Partial<OrderRequest> = {}): OrderRequest => ({
  customerId: freshCustomer(),
  currency: 'USD',
  items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
  paymentMethod: 'pm_ok',
  ...changes,
})

export interface Client {
  readonly url: string
  /** Any request, with the API key and, where there is a body, JSON's media type; `headers` overrides both. */
  send(path: string, sending?: Sending): Promise<Answer>
  get(path: string, headers?: Headers): Promise<Answer>
  order(key: string | string[] | undefined, body: unknown, headers?: Headers): Promise<Answer>
  refund(orderId: string, key: string, body?: unknown, headers?: Headers): Promise<Answer>
  /** The record of a key, as its own tenant sees it. */
  record(key: string, endpoint?: string): Promise<Answer>
}

export function createClient(url: string, apiKey: string = API_KEY): Client {
  const sendTo = (path: string, { headers, ...sending }: Sending = {}) =>
    send(new URL(path, url), {
      ...sending,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(sending.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    })
  const post = (path: string, key: string | string[] | undefined, body: unknown, headers?: Headers) =>
    sendTo(path, { method: 'POST', body, headers: { 'idempotency-key': key, ...headers } })
  return {
    url,
    send: sendTo,
    get: (path, headers) => sendTo(path, { headers }),
    order: (key, body, headers) => post('/api/orders', key, body, headers),
    refund: (orderId, key, body = {}, headers) => post(`/api/orders/${orderId}/refunds`, key, body, headers),
    record: (key, endpoint) =>
      sendTo(
        `/api/idempotency-keys/${encodeURIComponent(key)}${endpoint ? `?endpoint=${encodeURIComponent(endpoint)}` : ''}`,
      ),
  }
}

/** What the sandbox provider booked for a customer. */
export async function charges(url: string, customerId: string): Promise<ChargeView[]> {
  const answer = await send(new URL(`/api/sandbox/charges?customerId=${encodeURIComponent(customerId)}`, url), {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  if (answer.status !== 200) throw new Error(`the sandbox answered ${answer.status}: ${answer.bytes}`)
  return answer.json<{ items: ChargeView[] }>().items
}

/** How often money moved. */
export async function countCharges(url: string, customerId: string, kind: ChargeView['kind'] = 'charge') {
  const booked = await charges(url, customerId)
  return booked.filter((charge) => charge.status === 'succeeded' && charge.kind === kind).length
}

/** Asks until an answer is as wanted, for what another process does in its own time. */
export async function until<T>(ask: () => Promise<T>, wanted: (answer: T) => boolean, withinMs = 30_000): Promise<T> {
  const giveUpAt = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (wanted(answer)) return answer
    if (performance.now() > giveUpAt) throw new Error(`not within ${withinMs} ms; the last was ${describe(answer)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function describe(answer: unknown): string {
  const { status, bytes } = answer as Partial<Answer>
  return bytes ? `${status} ${bytes}` : JSON.stringify(answer)
}
