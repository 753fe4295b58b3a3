// Nobody is told anything of anybody else, and nobody moves anything of anybody else's. One tenant walks through the
// whole client API with the names of another's things, and gets to the letter what a third one gets who asks for things
// that nobody has. An operation that is added to the API is missed here until it has its cases.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientPaths } from '../../lib/http/openapi-client-paths'
import { OPERATOR_CALLS } from '../../lib/http/operator-calls'
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
  type OrderView,
  orderBody,
  type RecordView,
  type RefundView,
  send,
  until,
} from '../support/client'
import { openSite, type Site } from '../support/site'
import { addTenant, runSql, type TestTenant } from '../support/tenant'
import { type Asked, CASES, type Named, type Sent } from './tenant-isolation/cases'
import { dumpTenant } from './tenant-isolation/dump'

const WEBHOOK_SECRET = 'webhook-secret-of-these-tests'
/** A busy machine gives the job worker its connections late. */
const WORKER_LIMIT_MS = 60_000
const OPERATIONS = Object.entries(clientPaths).flatMap(([path, operations]) =>
  Object.keys(operations ?? {}).map((method) => `${method.toUpperCase()} ${path}`),
)

let site: Site
beforeAll(async () => {
  site = await openSite({ SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET })
})
afterAll(() => site?.close())

const newTenant = async (): Promise<TestTenant & { client: Client }> => {
  const tenant = await addTenant(site.databaseUrl)
  return { ...tenant, client: createClient(site.url, tenant.apiKey) }
}
const admin = (path: string, body?: unknown) =>
  send(new URL(`/api/admin/${path}`, site.url), {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body,
  })

const ulid = () => randomBytes(13).toString('hex')
const cursorOf = (createdAt: string, id: string) => Buffer.from(JSON.stringify({ createdAt, id })).toString('base64url')
const keys = () => ({
  key: freshKey(),
  refundKey: freshKey(),
  unknownKey: freshKey(),
  asyncKey: freshKey(),
  expiredKey: freshKey(),
})

const SENT: Sent = {
  order: orderBody({ customerId: `cus_${randomUUID()}`, note: `a secret ${randomUUID()}` }),
  refund: { amountCents: 7, reason: `a secret ${randomUUID()}` },
}

/** A tenant with one of everything, and the names of it. */
async function settle(client: Client): Promise<Named> {
  const named = keys()
  const order = (await client.order(named.key, SENT.order)).json<OrderView>()
  const refund = (await client.refund(order.id, named.refundKey, SENT.refund)).json<RefundView>()
  const lost = { ...SENT.order, paymentMethod: 'pm_timeout_charged' }
  expect((await client.order(named.unknownKey, lost)).status).toBe(504)
  expect((await client.order(named.asyncKey, SENT.order, { prefer: 'respond-async' })).status).toBe(202)
  await until(
    () => client.record(named.asyncKey),
    (answer) => answer.json<RecordView>().state === 'completed',
    WORKER_LIMIT_MS,
  )
  await client.order(named.expiredKey, SENT.order)
  const [found] = (await admin(`keys?q=${named.expiredKey}`)).json<{ items: { id: string; version: number }[] }>().items
  const expired = await admin(`keys/${found!.id}/expire`, { reason: 'for this test', version: found!.version })
  expect(expired.status).toBe(200)
  const unknownOrder = (await client.record(named.unknownKey)).json<RecordView>().resource!.id
  return { ...named, order: order.id, refund: refund.id, unknownOrder, cursor: cursorOf(order.createdAt, order.id) }
}

const nobodys = (): Named => ({
  ...keys(),
  order: `ord_${ulid()}`,
  unknownOrder: `ord_${ulid()}`,
  refund: `ref_${ulid()}`,
  cursor: cursorOf(new Date().toISOString(), `ord_${ulid()}`),
})

/** An answer without what differs between any two: what was asked for, what was made for it, and when. */
function told({ status, headers, bytes }: Answer, named: Named): string {
  const { date: _, 'x-request-id': __, 'content-length': ___, ...others } = headers
  let text = JSON.stringify({ status, others, body: bytes.toString() })
  for (const [name, value] of Object.entries(named)) text = text.replaceAll(value, `<${name}>`)
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>')
    .replace(/\b(?:[a-z]+_)+[0-9a-z]{16,}\b/g, '<made>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT/g, '<date>')
}

const ask = ({ client }: { client: Client }, { path, ...sending }: Asked) => client.send(path, sending)

test('every operation of the client API has cases for tenant isolation', () => {
  expect(Object.keys(CASES).sort()).toEqual(OPERATIONS.sort())
})

describe('requests that name another tenant’s resources', () => {
  let theirs: Named
  let owner: Awaited<ReturnType<typeof newTenant>>
  beforeAll(async () => {
    owner = await newTenant()
    theirs = await settle(owner.client)
  })

  // The reads once more behind the writes: by then a record, an order or a refund could have been mixed up.
  const WALK = [...Object.keys(CASES), ...Object.keys(CASES).filter((name) => name.startsWith('GET'))]

  test('get the same answers as for resources that do not exist, and change nothing of the owner’s', async () => {
    const [asker, stranger] = [await newTenant(), await newTenant()]
    const nothing = nobodys()
    const before = await dumpTenant(site.databaseUrl, owner.id)
    const secrets = secretsIn(before)
    expect(secrets.length).toBeGreaterThan(10)
    // What somebody sent is its own as well.
    let given = ''
    for (const name of WALK) {
      await allDone()
      const [asked, twin] = [CASES[name]!(theirs, SENT), CASES[name]!(nothing, SENT)]
      for (const [i, request] of asked.entries()) {
        const [answer, same] = [await ask(asker, request), await ask(stranger, twin[i]!)]
        const at = `${name}, case ${i}`
        expect(`${at}: ${told(answer, theirs)}`).toBe(`${at}: ${told(same, nothing)}`)
        const said = `${JSON.stringify(answer.headers)}${answer.bytes}`
        given += JSON.stringify(request)
        expect(secrets.filter((secret) => said.includes(secret) && !given.includes(secret))).toEqual([])
      }
    }
    expect(await dumpTenant(site.databaseUrl, owner.id)).toEqual(before)
  })

  test('succeed when the owner itself sends them', async () => {
    const reads = Object.keys(CASES).filter((name) => name.startsWith('GET'))
    for (const name of reads) {
      const [first] = CASES[name]!(theirs, SENT)
      expect({ name, status: (await ask(owner, first!)).status }).toEqual({ name, status: 200 })
    }
    const replay = await owner.client.order(theirs.key, SENT.order)
    expect(replay.headers['idempotent-replayed']).toBe('true')
  })

  /** What was accepted for later would be seen by the one as begun, by the other as done. */
  const allDone = () =>
    until(
      () => runSql(site.databaseUrl, `SELECT 1 FROM idempotency_records WHERE state IN ('pending', 'in_progress')`),
      (rows) => rows.length === 0,
      WORKER_LIMIT_MS,
    )

  /** All that could be told: ids, references and what the client wrote. */
  function secretsIn(dump: Record<string, unknown[]>): string[] {
    const text = JSON.stringify(dump)
    const ids = text.match(/\b(?:ord|ref|pay|idem|ten|cus)_[0-9a-zA-Z-]{16,}|a secret [0-9a-f-]{36}/g) ?? []
    const refs = (dump['public.ledger_entries'] as { provider_ref: string }[]).map((row) => row.provider_ref)
    return [...new Set([...ids, ...refs, SENT.refund.reason])]
  }
})

describe('two tenants that use the same key at the same time', () => {
  test('don’t wait for each other’s request, and each gets its own answer', async () => {
    const [slow, quick] = [await newTenant(), await newTenant()]
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_slow_900' })
    const first = slow.client.order(key, body)
    await until(
      () => slow.client.record(key),
      (answer) => answer.status === 200,
    )
    const mine = await quick.client.order(key, { ...body, paymentMethod: 'pm_ok' }, { prefer: 'wait=20' })
    expect(mine.status).toBe(201)
    expect(mine.headers['idempotent-replayed']).toBeUndefined()
    const duplicate = await slow.client.order(key, body, { prefer: 'wait=20' })
    expect(duplicate.bytes).toEqual((await first).bytes)
    expect(duplicate.json<OrderView>().id).not.toBe(mine.json<OrderView>().id)
  })

  test('are settled separately: a webhook about one tenant’s charge changes nothing of the other’s', async () => {
    const [one, other] = [await newTenant(), await newTenant()]
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_timeout_charged' })
    const lost = await Promise.all([one, other].map(({ client }) => client.order(key, body)))
    expect(lost.map(({ status }) => status)).toEqual([504, 504])
    const orderId = (await one.client.record(key)).json<RecordView>().resource!.id
    const before = await dumpTenant(site.databaseUrl, other.id)
    expect((await report(orderId)).status).toBe(200)
    expect((await one.client.record(key)).json<RecordView>().state).toBe('completed')
    expect(await dumpTenant(site.databaseUrl, other.id)).toEqual(before)
  })

  /** What the sandbox would report of an order's charge. */
  async function report(orderId: string): Promise<Answer> {
    const [charge] = await runSql<Omit<DueReport, 'id'>>(
      site.databaseUrl,
      `SELECT ref, provider_key AS "providerKey", kind, status, amount_cents::int AS "amountCents", currency,
         order_id AS "orderId", customer_id AS "customerId", booked_at AS "bookedAt"
       FROM sandbox.charges WHERE order_id = $1`,
      [orderId],
    )
    const body = JSON.stringify(eventOf({ id: randomUUID(), ...charge! } as DueReport))
    const signature = signPayload(body, WEBHOOK_SECRET, Math.floor(Date.now() / 1000))
    const headers = { 'content-type': 'application/json', 'sandbox-signature': signature }
    return send(new URL('/api/webhooks/sandbox', site.url), { method: 'POST', headers, body })
  }
})

describe('a request with a secret of the wrong kind', () => {
  const withSecret = (secret: string, request: Asked) => ask({ client: createClient(site.url, secret) }, request)

  test.each(OPERATIONS)('%s: operator token, revoked key and disabled tenant’s key get the same 401', async (name) => {
    const [revoked, disabled] = [await newTenant(), await newTenant()]
    await runSql(site.databaseUrl, 'UPDATE api_keys SET revoked_at = now() WHERE tenant_id = $1', [revoked.id])
    await runSql(site.databaseUrl, 'UPDATE tenants SET disabled_at = now() WHERE id = $1', [disabled.id])
    const named = nobodys()
    const [request] = CASES[name]!(named, SENT)
    const unknown = await withSecret(`oo_live_${randomBytes(20).toString('hex')}`, request!)
    expect(unknown.status).toBe(401)
    for (const secret of [ADMIN_TOKEN, revoked.apiKey, disabled.apiKey])
      expect(told(await withSecret(secret, request!), named)).toBe(told(unknown, named))
  })

  test.each(OPERATOR_CALLS.map(({ method, path }) => [`${method} ${path}`, method, path] as const))(
    '%s gets 401 with a client’s API key',
    async (_, method, path) => {
      const body = method === 'POST' || method === 'PATCH' ? {} : undefined
      const request = { path: path.replace(/\{\w+\}/g, `idem_${ulid()}`), method, body }
      expect((await withSecret(API_KEY, request)).json()).toMatchObject({ status: 401, code: 'unauthenticated' })
    },
  )
})
