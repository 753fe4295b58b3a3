// The runbooks as an operator follows them on a bad day: each is pasted as it stands, and what it promises is looked at
// afterwards. The restored backup has a file of its own.
import { rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ADMIN_TOKEN,
  API_KEY,
  charges,
  countCharges,
  freshKey,
  type OrderView,
  orderBody,
  type ProblemView,
} from '../support/client'
import { commandsUnder, paste } from '../support/documented'
import { openSite, type Site } from '../support/site'
import { runSql } from '../support/tenant'

const TOOLS = commandsUnder('docs/runbooks.md', 'Before you begin')
/** Between two shells: one operator's would still have it. */
const KEPT = path.join(os.tmpdir(), `onceover-limits-${process.pid}.json`)

let site: Site
beforeAll(async () => {
  // One look-up without an answer is enough for a key to be given up.
  site = await openSite({ RECONCILE_MAX_ATTEMPTS: '1' })
})
afterAll(async () => {
  await rm(KEPT, { force: true })
  await site?.close()
})

async function follow(blocks: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const given = { ONCEOVER_URL: site.url, OPERATOR_TOKEN: ADMIN_TOKEN, ONCEOVER_API_KEY: API_KEY, ...env }
  const { code, tail, output } = await paste([...TOOLS, ...blocks], given)
  expect({ code, tail }).toEqual({ code: 0, tail: '' })
  return output
}

const idOf = async (key: string) =>
  (await runSql<{ id: string }>(site.databaseUrl, 'SELECT id FROM idempotency_records WHERE key = $1', [key]))[0]!.id
const refOf = async (customerId: string) => (await charges(site.url, customerId))[0]!.ref

describe('the runbook “A key is stuck”', () => {
  test('finds the key, asks the provider, and resolves the key by the operator’s verdict', async () => {
    const key = freshKey()
    const order = orderBody({ paymentMethod: 'pm_unreachable' })
    expect((await site.client.order(key, order)).status).toBe(504)
    expect((await site.client.order(key, order)).status).toBe(409)
    const output = await follow(commandsUnder('docs/runbooks.md', 'A key is stuck'), { WHAT: key })
    expect(output).toContain('"verdict":"unreachable"')
    const answer = await site.client.order(key, order)
    expect(answer.status).toBe(201)
    expect(answer.json<OrderView>().payment?.providerRef).toBe('ch_1042')
  })
})

describe('the runbook “The provider moved other money”', () => {
  test('books the money that the provider took, and leaves the discrepancy open', async () => {
    const key = freshKey()
    const order = orderBody({ paymentMethod: 'pm_timeout_charged' })
    expect((await site.client.order(key, order)).status).toBe(504)
    await runSql(site.databaseUrl, 'UPDATE sandbox.charges SET amount_cents = 2400 WHERE customer_id = $1', [
      order.customerId,
    ])
    const KEY = await idOf(key)
    const CHARGE = await refOf(order.customerId)
    await follow([`oo POST "keys/$KEY/reconcile" -d '{}'`], { KEY })
    expect((await site.client.order(key, order)).json<ProblemView>()).toMatchObject({
      code: 'idempotency_outcome_unknown',
      retry: { afterSeconds: 300 },
    })
    await follow(commandsUnder('docs/runbooks.md', 'The provider moved other money'), { KEY, CHARGE })
    expect((await site.client.order(key, order)).status).toBe(201)
    const detail = await follow(['oo GET "keys/$KEY"'], { KEY })
    expect(JSON.parse(detail)).toMatchObject({
      ledger: [{ amountCents: 2400, currency: 'USD', providerRef: CHARGE }],
      discrepancies: [{ kind: 'amount_differs', closedAt: null }],
    })
  })
})

describe('the runbook “A reference was typed into the wrong key”', () => {
  test('reverses the booking, and the right key can be resolved with the reference', async () => {
    const [wrong, right] = [freshKey(), freshKey()]
    const order = orderBody({ paymentMethod: 'pm_unreachable' })
    for (const key of [wrong, right]) expect((await site.client.order(key, order)).status).toBe(504)
    const decide = [
      'VERSION=$(oo GET "keys/$KEY" | pick ".record.version")',
      `oo POST "keys/$KEY/resolve" -d '{ "verdict": "succeeded", "providerRef": "ch_4711", "reason": "seen in the dashboard", "version": '"$VERSION"' }'`,
    ]
    await follow(decide, { KEY: await idOf(wrong) })
    await expect(follow(decide, { KEY: await idOf(right) })).rejects.toThrow()
    const output = await follow(commandsUnder('docs/runbooks.md', 'A reference was typed into the wrong key'), {
      KEY: await idOf(wrong),
    })
    expect(output).toContain('"reversalOf"')
    await follow(decide, { KEY: await idOf(right) })
    expect((await site.client.order(right, order)).json<OrderView>().payment?.providerRef).toBe('ch_4711')
  })
})

describe('the runbook “A customer says they were charged twice”', () => {
  test('distinguishes two keys from two charges of one key, and corrects both', async () => {
    const [once, twice] = [orderBody(), orderBody()]
    const kept = (await site.client.order(freshKey(), once)).json<OrderView>()
    const doubled = (await site.client.order(freshKey(), twice)).json<OrderView>()
    // As a provider without keys would have it: the same payment once more, and long enough ago to be compared.
    const stray = 'sbx_ch_charged_once_more'
    await runSql(
      site.databaseUrl,
      `INSERT INTO sandbox.charges
       SELECT (json_populate_record(c, json_build_object('ref', $2::text, 'booked_at', c.booked_at - interval '1 minute'))).*
       FROM sandbox.charges c WHERE c.ref = $1`,
      [kept.payment!.providerRef, stray],
    )
    const output = await follow(commandsUnder('docs/runbooks.md', 'A customer says they were charged twice'), {
      FIRST_CHARGE: kept.payment!.providerRef,
      SECOND_CHARGE: doubled.payment!.providerRef,
      STRAY_CHARGE: stray,
    })
    expect(output).toContain('duplicate_charge')
    expect(output).toContain(`bookedRef: '${kept.payment!.providerRef}'`)
    expect(output).toContain('given back in the dashboard of the provider')
    expect((await site.client.get(`/api/orders/${doubled.id}`)).json<OrderView>().status).toBe('refunded')
    expect((await site.client.get(`/api/orders/${kept.id}`)).json<OrderView>().status).toBe('paid')
    expect(await countCharges(site.url, twice.customerId, 'refund')).toBe(1)
  })
})

describe('the runbook “The provider is down”', () => {
  test('settles what the provider charged, and lists the keys whose outcome is still unknown', async () => {
    const charged = orderBody({ paymentMethod: 'pm_timeout_charged' })
    const key = freshKey()
    expect((await site.client.order(key, charged)).status).toBe(504)
    const lost = freshKey()
    expect((await site.client.order(lost, orderBody({ paymentMethod: 'pm_unreachable' }))).status).toBe(504)

    const output = await follow(commandsUnder('docs/runbooks.md', 'The provider is down'))
    const answer = await site.client.order(key, charged)
    expect(answer.status).toBe(201)
    expect(answer.json<OrderView>().payment?.providerRef).toBe(await refOf(charged.customerId))
    expect(await countCharges(site.url, charged.customerId)).toBe(1)
    expect(output.trimEnd().split('\n').at(-1)).toContain(lost)
  })
})

describe('the runbooks “Stop new keys” and “Take new keys again”', () => {
  test('refuse new keys in between, while known keys are answered as always', async () => {
    const [known, retried, fresh] = [freshKey(), freshKey(), freshKey()]
    const [paid, refused, held] = [orderBody(), orderBody({ paymentMethod: 'pm_refused_once' }), orderBody()]
    expect((await site.client.order(known, paid)).status).toBe(201)
    expect((await site.client.order(retried, refused)).status).toBe(503)
    const stop = commandsUnder('docs/runbooks.md', 'Stop new keys')
    await follow([...stop, 'cp "$HELD" "$KEPT"'], { KEPT })
    // What a node knows of a tenant is at most three seconds old.
    await expect.poll(() => site.client.order(freshKey(), held)).toMatchObject({ status: 429 })
    const answer = await site.client.order(fresh, held)
    expect(answer.status).toBe(429)
    expect(answer.json<ProblemView>()).toMatchObject({ code: 'rate_limited', retry: { sameKey: true } })
    expect((await site.client.order(known, paid)).headers['idempotent-replayed']).toBe('true')
    expect((await site.client.order(retried, refused)).status).toBe(201)

    const before = await countCharges(site.url, held.customerId)
    await follow(['HELD=$KEPT', ...commandsUnder('docs/runbooks.md', 'Take new keys again')], { KEPT })
    await expect.poll(() => site.client.order(fresh, held)).toMatchObject({ status: 201 })
    expect(await countCharges(site.url, held.customerId)).toBe(before + 1)
  })
})
