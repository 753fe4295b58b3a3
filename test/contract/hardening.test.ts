// What every answer carries, and what none of them, and no line of the log, ever says.
import { createHash, randomUUID } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventOf } from '../../lib/payments/sandbox-webhooks-event'
import type { DueReport } from '../../lib/payments/sandbox-webhooks-outbox'
import { signPayload } from '../../lib/payments/webhook-signature'
import {
  ADMIN_TOKEN,
  type Answer,
  API_KEY,
  type Client,
  createClient,
  freshKey,
  type Headers,
  orderBody,
  type RecordView,
  SECRETS,
  type Sending,
  send,
  until,
} from '../support/client'
import { cloneDatabase } from '../support/database'
import { startNode, type TestNode } from '../support/node'
import { expectProblem } from '../support/problem'
import { SHORT_TIMES } from '../support/site'
import { runSql } from '../support/tenant'

const METRICS_TOKEN = 'metrics-token-of-the-hardening-tests'
const WEBHOOK_SECRET = 'webhook-secret-of-these-tests'
const ENV = {
  ...SECRETS,
  ...SHORT_TIMES,
  METRICS_TOKEN,
  SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET,
  LOG_LEVEL: 'debug',
}

let database: Awaited<ReturnType<typeof cloneDatabase>>
let node: TestNode
let client: Client
beforeAll(async () => {
  database = await cloneDatabase()
  node = await startNode({ databaseUrl: database.url, env: ENV })
  client = createClient(node.url)
})
afterAll(async () => {
  await node?.stop()
  await database?.drop()
})

const ask = (path: string, sending?: Sending): Promise<Answer> => send(new URL(path, node.url), sending)
const operator = { authorization: `Bearer ${ADMIN_TOKEN}` }

const COMMON_POLICY =
  "default-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; " +
  "form-action 'self'; frame-ancestors 'none'"
const EVERY_PAGE = {
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': expect.stringContaining('camera=()'),
  'x-request-id': expect.stringMatching(/^req_/),
}
const policyOf = ({ headers }: Answer): string => String(headers['content-security-policy'])
const tagsOf = (html: string, name: string): string[] => html.match(new RegExp(`<${name}\\b[^>]*>`, 'g')) ?? []

/** Its only script, and the hash by which a policy knows it. */
function themeScriptOf(html: string) {
  const [[, script] = []] = [...html.matchAll(/<script>(.*?)<\/script>/g)]
  return { script, hash: `'sha256-${createHash('sha256').update(script!).digest('base64')}'` }
}

describe('a page', () => {
  const nonceOf = (page: Answer) => /script-src 'self' 'nonce-([\w-]+)' 'strict-dynamic' /.exec(policyOf(page))?.[1]

  test.each([
    ['/login', 200],
    ['/no/such/page', 404],
  ])('%s has a policy that allows only scripts with its nonce and no framing', async (path, status) => {
    const page = await ask(path)
    expect(page.status).toBe(status)
    const nonce = nonceOf(page)
    const { hash } = themeScriptOf((await ask('/docs')).bytes.toString())
    expect(policyOf(page)).toBe(
      `${COMMON_POLICY}; script-src 'self' 'nonce-${nonce}' 'strict-dynamic' ${hash}; ` +
        `style-src 'self' 'nonce-${nonce}'; style-src-attr 'unsafe-inline'`,
    )
    expect(page.headers).toMatchObject({ ...EVERY_PAGE, 'cache-control': expect.stringContaining('no-store') })
    const html = page.bytes.toString()
    if (status === 200) {
      const scripts = tagsOf(html, 'script')
      expect(scripts.length).toBeGreaterThan(3)
      for (const tag of [...scripts, ...tagsOf(html, 'style')]) expect(tag).toContain(`nonce="${nonce}"`)
    } else expect(themeScriptOf(html).hash).toBe(hash)
    expect(html).not.toMatch(/\son[a-z]+="/)
  })

  test('has a new nonce in each response, and ignores a nonce in the request', async () => {
    const seen = await Promise.all(Array.from({ length: 5 }, () => ask('/login').then(nonceOf)))
    expect(new Set(seen).size).toBe(5)
    const sent = { 'content-security-policy': "script-src 'nonce-mine'", 'x-nonce': 'mine' }
    expect((await ask('/login', { headers: sent })).bytes.toString()).not.toContain('nonce="mine"')
  })
})

describe('a public page', () => {
  test.each(['/docs', '/docs/problems/forbidden'])(
    '%s has one script, and a policy that allows only that one',
    async (path) => {
      const page = await ask(path)
      expect(page.status).toBe(200)
      const html = page.bytes.toString()
      expect(tagsOf(html, 'script')).toEqual(['<script>'])
      expect(policyOf(page)).toBe(`${COMMON_POLICY}; script-src ${themeScriptOf(html).hash}; style-src 'self'`)
      expect(page.headers).toMatchObject({ ...EVERY_PAGE, 'cache-control': 'public, max-age=300' })
      expect(html).not.toMatch(/<style|\s(?:style|on[a-z]+)="/)
    },
  )

  test('is compressed for a client that accepts gzip, and not sent again to one that has it', async () => {
    const [page, zipped] = await Promise.all([ask('/docs'), ask('/docs', { headers: { 'accept-encoding': 'gzip' } })])
    expect(zipped.headers).toMatchObject({
      'content-encoding': 'gzip',
      vary: expect.stringMatching(/accept-encoding/i),
    })
    expect(gunzipSync(zipped.bytes)).toEqual(page.bytes)
    expect(page.bytes.length).toBeLessThan(400_000)
    expect(zipped.bytes.length).toBeLessThan(50_000)
    const known = await ask('/docs', { headers: { 'if-none-match': page.headers.etag } })
    expect({ status: known.status, length: known.bytes.length }).toEqual({ status: 304, length: 0 })
    const head = await ask('/docs', { method: 'HEAD' })
    expect(head.headers['content-length']).toBe(page.headers['content-length'])
  })
})

describe('a static file', () => {
  test('is sent with X-Content-Type-Options: nosniff', async () => {
    const [script] = /\/_next\/static\/[^"]+\.js/.exec((await ask('/login')).bytes.toString())!
    for (const path of [script, '/icon.svg']) {
      const file = await ask(path)
      expect({ path, status: file.status }).toEqual({ path, status: 200 })
      expect(file.headers['x-content-type-options']).toBe('nosniff')
    }
  })

  test('robots.txt lets crawlers read the reference and the sign-in only, and needs no session', async () => {
    const { status, headers, bytes } = await ask('/robots.txt')
    expect({ status, location: headers.location }).toEqual({ status: 200, location: undefined })
    expect(headers).toMatchObject({
      'content-type': expect.stringMatching(/^text\/plain/),
      'x-content-type-options': 'nosniff',
    })
    const rules = bytes
      .toString()
      .split('\n')
      .filter((line) => /^[A-Z]/.test(line))
    expect(rules).toEqual([
      'User-agent: *',
      'Allow: /docs',
      'Allow: /login',
      'Allow: /_next/static/',
      'Allow: /icon.svg',
      'Disallow: /',
    ])
  })
})

describe('the web app manifest', () => {
  test('is linked from the sign-in page, and its icons are there with the media type that it says', async () => {
    const page = (await ask('/login')).bytes.toString()
    const [, address] = /<link rel="manifest" href="([^"]+)"/.exec(page)!
    const manifest = await ask(address!)
    expect(manifest.status).toBe(200)
    expect(manifest.headers['content-type']).toBe('application/manifest+json')
    for (const { src, type } of manifest.json<{ icons: { src: string; type: string }[] }>().icons) {
      const icon = await ask(src)
      expect({ src, status: icon.status, type: icon.headers['content-type'] }).toEqual({ src, status: 200, type })
    }
  })
})

const bearer = { authorization: `Bearer ${API_KEY}` }
const json = { 'content-type': 'application/json' }
/** One of each kind of answer. */
const ANSWERS: [string, number, string, Sending?][] = [
  ['a client’s read', 200, '/api/orders', { headers: bearer }],
  ['an unauthenticated read', 401, '/api/orders'],
  ['a refused order', 400, '/api/orders', { method: 'POST', headers: { ...bearer, ...json }, body: {} }],
  ['an operator’s read', 200, '/api/sandbox/charges?customerId=x', { headers: operator }],
  ['an unauthenticated read of the operator API', 401, '/api/admin/tenants'],
  ['a refused webhook', 400, '/api/webhooks/sandbox', { method: 'POST', headers: json, body: '{}' }],
  ['health', 200, '/api/health'],
  ['readiness', 200, '/api/ready'],
  ['metrics', 200, '/api/metrics', { headers: { authorization: `Bearer ${METRICS_TOKEN}` } }],
  ['an unauthenticated read of the metrics', 401, '/api/metrics'],
  ['the OpenAPI document', 200, '/api/openapi.json'],
  ['an unknown path of the API', 404, '/api/no/such/path'],
]

describe('an answer of the API', () => {
  test.each(ANSWERS)(
    '%s has a policy that loads nothing, nosniff, and no-store unless it is public',
    async (_, status, path, sending) => {
      const answer = await ask(path, sending)
      expect(answer.status).toBe(status)
      expect(answer.headers).toMatchObject({
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'cache-control': path === '/api/openapi.json' ? 'private, max-age=300' : 'no-store',
      })
      expect(answer.headers['x-powered-by']).toBeUndefined()
    },
  )
})

describe('x-request-id', () => {
  const everything: typeof ANSWERS = [
    ...ANSWERS,
    ['an order', 201, '/api/orders'],
    ['a page', 200, '/docs'],
    ['an unknown page', 404, '/nothing/here'],
  ]
  const askWith = (path: string, status: number, sending: Sending = {}, headers: Headers = {}): Promise<Answer> =>
    status === 201
      ? client.order(freshKey(), orderBody(), headers)
      : ask(path, { ...sending, headers: { ...sending.headers, ...headers } })

  test.each(everything)('in the answer to %s is the caller’s or a generated one', async (_, status, path, sending) => {
    const given = `trace:${randomUUID()}`
    const own = await askWith(path, status, sending, { 'x-request-id': given })
    expect(own.status).toBe(status)
    expect(own.headers['x-request-id']).toBe(given)
    const ours = await askWith(path, status, sending)
    expect(ours.headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/)
  })

  test.each([
    ['with a space', 'two words'],
    ['with the delimiters of JSON', '"},{"'],
    ['that is too long', 'x'.repeat(129)],
    ['that is empty', ''],
    ['that is markup', '<script>'],
  ])('%s is replaced by a generated one', async (_, given) => {
    for (const path of ['/api/health', '/api/admin/tenants', '/docs'])
      expect((await ask(path, { headers: { 'x-request-id': given } })).headers['x-request-id']).toMatch(/^req_/)
  })

  interface Event {
    event: string
    requestId?: string
  }
  async function timelineOf(key: string): Promise<Event[]> {
    const [row] = await runSql<{ timeline: Event[] }>(
      database.url,
      'SELECT timeline FROM idempotency_records WHERE key = $1',
      [key],
    )
    return row!.timeline
  }
  const said = (timeline: Event[]) => timeline.map(({ event, requestId }) => `${event} ${requestId}`)

  test('is on every timeline event of the record, including those that a worker writes later', async () => {
    const [key, later] = [freshKey(), freshKey()]
    await client.order(key, orderBody(), { 'x-request-id': 'at-once' })
    expect(said(await timelineOf(key))).toEqual(['reserved at-once', 'settled at-once'])
    await client.order(later, orderBody(), { 'x-request-id': 'for-later', prefer: 'respond-async' })
    await until(
      () => client.record(later),
      (answer) => answer.json<RecordView>().state === 'completed',
    )
    expect(said(await timelineOf(later))).toEqual(['accepted for-later', 'claimed for-later', 'settled for-later'])
  })

  test('of a second try or a webhook is on the timeline events that it caused', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_refused_once' })
    await client.order(key, body, { 'x-request-id': 'first-try' })
    await client.order(key, body, { 'x-request-id': 'second-try' })
    expect(said(await timelineOf(key))).toEqual([
      'reserved first-try',
      'released first-try',
      'claimed second-try',
      'settled second-try',
    ])
    const reported = freshKey()
    const order = orderBody({ paymentMethod: 'pm_timeout_charged' })
    await client.order(reported, order, { 'x-request-id': 'lost' })
    const [charge] = await runSql<Omit<DueReport, 'id'>>(
      database.url,
      `SELECT ref, provider_key AS "providerKey", kind, status, amount_cents::int AS "amountCents", currency,
         order_id AS "orderId", customer_id AS "customerId", booked_at AS "bookedAt"
       FROM sandbox.charges WHERE customer_id = $1`,
      [order.customerId],
    )
    const event = JSON.stringify(eventOf({ id: randomUUID(), ...charge! } as DueReport))
    const signature = signPayload(event, WEBHOOK_SECRET, Math.floor(Date.now() / 1000))
    const taken = await ask('/api/webhooks/sandbox', {
      method: 'POST',
      headers: { ...json, 'sandbox-signature': signature, 'x-request-id': 'the-webhook' },
      body: event,
    })
    expect({ status: taken.status, body: taken.bytes.toString() }).toMatchObject({ status: 200 })
    const timeline = said(await timelineOf(reported))
    expect(timeline.slice(0, 2)).toEqual(['reserved lost', 'outcome_unknown lost'])
    expect(timeline.length).toBeGreaterThan(2)
    for (const event of timeline.slice(2)) expect(event).toMatch(/ the-webhook$/)
  })
})

describe('an unauthenticated call of the operator API', () => {
  const counted = async () => {
    const { bytes } = await ask('/api/metrics', { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
    return Number(/^onceover_operator_unauthenticated_total (\d+)$/m.exec(bytes.toString())?.[1])
  }
  const entries = () => runSql(database.url, 'SELECT count(*) FROM audit_entries')

  test('is counted in a metric, and writes nothing to the audit log', async () => {
    const [count, written] = [await counted(), await entries()]
    for (const headers of [{}, { authorization: 'Bearer nobody' }, { cookie: 'onceover.session_token=x' }])
      expectProblem(await ask('/api/admin/tenants', { headers }), 401, 'unauthenticated', 'same')
    await ask('/api/orders', { headers: { authorization: 'Bearer nobody' } })
    expect(await counted()).toBe(count + 3)
    expect(await entries()).toEqual(written)
  })
})
