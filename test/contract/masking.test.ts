// How a client paid and what it wrote in its own words stand in no answer of the operator API, whoever asks: every call,
// from the list that the routes and the document are made of, with values planted wherever they are kept.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPERATOR_CALLS } from '../../lib/http/operator-calls'
import { ROLES, type Role } from '../../lib/operators/role'
import {
  ADMIN_TOKEN,
  type Answer,
  API_KEY,
  freshKey,
  type OrderView,
  orderBody,
  type RefundView,
  send,
  until,
} from '../support/client'
import { expectProblem } from '../support/problem'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'

const NOTE = 'planted-note-2c4f'
const PAYMENT_METHOD = 'pm_planted_8d1e'
const REASON = 'planted-reason-77ab'
const PLANTED = [NOTE, PAYMENT_METHOD, REASON]
const CUSTOMER = 'cus_planted'
const NOTHING = '01jcq2h8k3v9x4m6n7p8q9r0s1'

let site: Site
const tokens = {} as Record<Role, string>
/** Records by what they are. */
const keys: Record<string, { id: string; version: number }> = {}
const ids: Record<string, string> = {}

const as = (role: Role, path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  send(new URL(path, site.url), {
    method,
    body,
    headers: {
      authorization: `Bearer ${role === 'admin' ? ADMIN_TOKEN : tokens[role]}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
  })

async function planted(name: string, key: string): Promise<void> {
  const sql = 'SELECT id, version FROM idempotency_records WHERE key = $1'
  keys[name] = (await runSql<{ id: string; version: number }>(site.databaseUrl, sql, [key]))[0]!
}

beforeAll(async () => {
  site = await openSite(QUICK_PROVIDER)
  for (const role of ROLES)
    tokens[role] = (await as('admin', '/api/admin/tokens', 'POST', { name: role, role })).json<{
      secret: string
    }>().secret
  const order = { ...orderBody({ note: NOTE, paymentMethod: PAYMENT_METHOD }), customerId: CUSTOMER }
  const [paid, refunded, open, openRefund] = [freshKey(), freshKey(), freshKey(), freshKey()]
  const { id: orderId } = (await site.client.order(paid, order)).json<OrderView>()
  await site.client.refund(orderId, refunded, { amountCents: 100, reason: REASON })
  await site.client.order(open, { ...order, paymentMethod: 'pm_timeout_charged' })
  await site.client.refund(orderId, openRefund, { amountCents: 100, reason: 'sandbox:timeout_charged' })
  // What made the provider silent is itself what would be masked.
  await runSql(
    site.databaseUrl,
    `UPDATE idempotency_records SET request = replace(replace(request,
    'pm_timeout_charged', '${PAYMENT_METHOD}'), 'sandbox:timeout_charged', '${REASON}') WHERE state = 'unknown'`,
  )
  await Promise.all(Object.entries({ paid, refunded, open, openRefund }).map(([name, key]) => planted(name, key)))
  // The same key with another note: a misuse, shown with the paths that differ.
  await site.client.order(paid, { ...order, note: `${NOTE}, but another` })
  const run = await as('admin', '/api/admin/keys/bulk', 'POST', {
    action: 'reconcile',
    ids: [keys.paid!.id],
    reason: 'to have a run',
  })
  const entry = await runSql<{ id: string; tenant_id: string }>(
    site.databaseUrl,
    `SELECT l.id, o.tenant_id FROM ledger_entries l JOIN orders o ON o.id = l.order_id WHERE o.id = $1 LIMIT 1`,
    [orderId],
  )
  Object.assign(ids, { runs: run.json<{ id: string }>().id, ledger: entry[0]!.id, tenants: entry[0]!.tenant_id })
})
afterAll(() => site?.close())

/** Calls with a question of their own; the others are asked with their example. */
const BODIES: Record<string, (version: number) => unknown> = {
  resolveKey: (version) => ({ verdict: 'not_executed', reason: 'seen at the provider', version }),
  expireKey: (version) => ({ reason: 'a test', version }),
  runKeyAgain: (version) => ({ reason: 'a test', version }),
  resumeKey: (version) => ({ reason: 'a test', version }),
  runBulk: () => ({ action: 'reconcile', ids: Object.values(keys).map(({ id }) => id), reason: 'a test' }),
  updateTenant: () => ({ liveKeyCap: 9_000_000 }),
}
const QUERIES: Record<string, string[]> = {
  previewResolution: ['verdict=succeeded&providerRef=ch_by_hand', 'verdict=declined', 'verdict=not_executed'],
  exportKeys: ['format=csv', 'format=json'],
  listSandboxCharges: [`customerId=${CUSTOMER}`],
  listKeys: ['', `q=${NOTE}`, `q=${PAYMENT_METHOD}`, `q=${REASON}`],
}

/** Of one call: each record, or whatever else it may be about, with each question. */
function questionsOf(call: (typeof OPERATOR_CALLS)[number]): { path: string; body: unknown }[] {
  const [, kind = ''] = /^\/api\/admin\/(\w+)\/\{id\}/.exec(call.path) ?? []
  const about = kind === 'keys' ? Object.values(keys) : [{ id: ids[kind] ?? `${kind}_${NOTHING}`, version: 0 }]
  return about.flatMap(({ id, version }) =>
    (QUERIES[call.operationId] ?? ['']).map((query) => ({
      path: `${call.path.replace('{id}', id).replace('{keyId}', `key_${NOTHING}`)}${query && `?${query}`}`,
      body: call.body ? (BODIES[call.operationId]?.(version) ?? call.bodyExample ?? {}) : undefined,
    })),
  )
}

/** What changes records comes last, so that the others find them as they were planted. */
const CALLS = [...OPERATOR_CALLS].sort((a, b) => Number(a.method !== 'GET') - Number(b.method !== 'GET'))

const plantedIn = (text: string): string[] => PLANTED.filter((secret) => text.includes(secret))

describe.each(ROLES)('for the role %s', (role) => {
  test.each(
    CALLS.filter(({ operationId }) => operationId !== 'unmaskKey').map((call) => ({
      name: `${call.method} ${call.path}`,
      call,
    })),
  )('$name answers without payment method, note and reason', async ({ call }) => {
    for (const { path, body } of questionsOf(call)) {
      const answer = await as(role, path, call.method, body)
      const text = answer.bytes.toString()
      // The search box finds nothing by what is masked; the file that it is asked for has no name of it either.
      expect(plantedIn(text), `${path}: ${text}`).toEqual([])
      if (call.method === 'GET' && role === 'admin' && !path.includes(NOTHING)) expect(answer.status, path).toBe(200)
    }
  })
})

describe('unmasking', () => {
  const unmask = (role: Role, name: string, body: unknown = { reason: 'the customer asked' }) =>
    as(role, `/api/admin/keys/${keys[name]!.id}/unmask`, 'POST', body)

  test('gives an operator the plain values, and the audit log who read them and why', async () => {
    expect((await unmask('operator', 'open')).json()).toMatchObject({
      request: { body: { note: NOTE, paymentMethod: PAYMENT_METHOD } },
    })
    expect((await unmask('admin', 'openRefund')).json()).toMatchObject({ request: { body: { reason: REASON } } })
    const { items } = (await as('viewer', `/api/admin/audit?target=${keys.open!.id}&action=key.unmask`)).json<{
      items: unknown[]
    }>()
    expect(items).toMatchObject([{ outcome: 'done', actorName: 'operator', reason: 'the customer asked' }])
  })

  test('is refused to a viewer, and to an operator without a reason', async () => {
    expectProblem(await unmask('viewer', 'open'), 403, 'forbidden', 'none')
    expectProblem(await unmask('operator', 'open', {}), 400, 'invalid_request', 'same')
  })
})

test('the client itself still gets its own words, first and replayed', async () => {
  const key = freshKey()
  const order = orderBody({ note: NOTE, paymentMethod: PAYMENT_METHOD })
  const first = await site.client.order(key, order)
  const again = await site.client.order(key, order)
  expect(first.json<OrderView>().note).toBe(NOTE)
  expect(again.bytes.equals(first.bytes)).toBe(true)
  const refund = await site.client.refund(first.json<OrderView>().id, freshKey(), { reason: REASON })
  expect(refund.json<RefundView>().reason).toBe(REASON)
})

test('what an admin erases is gone for the client too: 410 instead of the replay, an order without its note', async () => {
  const key = freshKey()
  const customerId = 'cus of ünïcode/1?'
  const order = { ...orderBody({ note: NOTE, paymentMethod: PAYMENT_METHOD }), customerId }
  const { id } = (await site.client.order(key, order)).json<OrderView>()
  const path = `/api/admin/customers/${encodeURIComponent(customerId)}/erase`
  expectProblem(await as('operator', path, 'POST', { reason: 'asked for' }), 403, 'forbidden', 'none')
  expectProblem(await as('admin', path, 'POST', {}), 400, 'invalid_request', 'same')
  const erased = await as('admin', path, 'POST', { reason: 'asked for' })
  expect([erased.status, erased.json()]).toEqual([
    200,
    { customerId, tenantId: ids.tenants, orders: 1, refunds: 0, keys: 1, open: [] },
  ])
  // A node may still have the answer in memory, for a second at most.
  await until(
    () => site.client.order(key, order),
    ({ status }) => status === 410,
  )
  const shown = await send(new URL(`/api/orders/${id}`, site.url), { headers: { authorization: `Bearer ${API_KEY}` } })
  expect(shown.json<OrderView>()).toMatchObject({ note: null, amountCents: 2500, status: 'paid' })
  expectProblem(
    await as('admin', '/api/admin/customers/cus_nobody/erase', 'POST', { reason: 'asked for' }),
    404,
    'not_found',
    'none',
  )
})
