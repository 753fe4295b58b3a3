// Erasing what a customer left: nothing that was written in somebody's own words, and no payment method, is in any table
// afterwards; amounts are.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ADA, type Desk, OLGA, openDesk } from '../reconciliation/desk'
import {
  answerOf,
  type Bench,
  newKey,
  openBench,
  orderOf,
  refused,
  TENANT,
  timedOut,
  toldBy,
} from '../support/boundary'

const PLANTED = ['planted note', 'pm_planted', 'planted reason', 'planted refusal']

let bench: Bench
let desk: Desk
let customer: string
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(() => {
  desk = openDesk(bench)
  customer = `cus ${randomUUID()}`
})

const erase = (changes: { id?: string; tenantId?: string } = {}, call = ADA) =>
  desk.eraseCustomer(call, { id: customer, reason: 'they asked for it', ...changes })

const body = () => orderOf({ customerId: customer, note: 'planted note', paymentMethod: 'pm_planted' })

async function place(script?: Parameters<Desk['gateway']['nextCall']>[0]) {
  const key = newKey()
  const order = body()
  if (script) desk.gateway.nextCall(script)
  const outcome = await bench.place(desk.gateway, order, { key })
  return { key, order, outcome, id: (await bench.recordOf(key)).id }
}

/** Where the planted values of this test's customer still are: tables of the whole database. */
async function left(): Promise<string[]> {
  const tables = await bench.rows<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname IN ('public', 'sandbox', 'graphile_worker')`,
  )
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await bench.rows(`SELECT FROM ${name} t WHERE to_jsonb(t)::text ~ $1`, [PLANTED.join('|')])
    if (rows.length > 0) found.push(`${name}: ${rows.length}`)
  }
  return found.sort()
}

describe('erasing a customer', () => {
  it('leaves payment methods, notes and reasons in no table, expires their keys, and keeps the amounts', async () => {
    const paid = await place()
    const unpaid = await place(refused)
    const { id: orderId } = JSON.parse(answerOf(paid.outcome).body)
    const [refund, tooMuch] = [newKey(), newKey()]
    await bench.refund(desk.gateway, orderId, { amountCents: 300, reason: 'planted reason' }, { key: refund })
    await bench.refund(desk.gateway, orderId, { amountCents: 99_999, reason: 'planted refusal' }, { key: tooMuch })
    expect((await left()).length).toBeGreaterThan(0)

    expect(await erase()).toEqual({ customerId: customer, tenantId: TENANT, orders: 2, refunds: 1, keys: 4, open: [] })
    expect(await left()).toEqual([])
    for (const key of [paid.key, unpaid.key, refund, tooMuch])
      expect(await bench.recordOf(key)).toMatchObject({ state: 'expired', request: null, response_body: null })
    expect(toldBy(await bench.place(desk.gateway, paid.order, { key: paid.key }))).toBe('expired')
    expect(
      await bench.rows(
        'SELECT status, amount_cents, refunded_cents, note FROM orders WHERE customer_id = $1 ORDER BY id',
        [customer],
      ),
    ).toEqual([
      { status: 'partially_refunded', amount_cents: '2500', refunded_cents: '300', note: null },
      { status: 'abandoned', amount_cents: '2500', refunded_cents: '0', note: null },
    ])
    expect(
      await bench.rows('SELECT action, reason, after FROM audit_entries WHERE target = $1 ORDER BY seq', [customer]),
    ).toEqual([
      { action: 'customer.erase', reason: 'they asked for it', after: { tenantId: TENANT, keys: 3 } },
      { action: 'customer.erase', reason: 'they asked for it', after: { tenantId: TENANT, orders: 2, refunds: 1 } },
      { action: 'customer.erase', reason: 'they asked for it', after: { tenantId: TENANT, keys: 1 } },
    ])
  })

  it('leaves a key that is not final with its order, names it, and erases it when it is asked again later', async () => {
    const paid = await place()
    const unknown = await place(timedOut)
    expect(await erase()).toMatchObject({ orders: 1, keys: 1, open: [{ id: unknown.id, state: 'unknown' }] })
    expect(await left()).toEqual(['public.idempotency_records: 1', 'public.orders: 1'])
    expect((await bench.recordOf(unknown.key)).request).toContain('planted note')
    await bench.rows(
      `UPDATE idempotency_records SET state = 'completed', version = version + 1, completed_at = now(), reconcile_after = NULL,
         response_status = 402, response_body = '{}', response_headers = '{}', response_version = 1,
         timeline = timeline || '[{"event": "settled"}]' WHERE id = $1`,
      [unknown.id],
    )
    expect(await erase()).toMatchObject({ orders: 1, keys: 1, open: [] })
    expect(await left()).toEqual([])
    expect(await erase()).toMatchObject({ orders: 0, refunds: 0, keys: 0, open: [] })
    expect((await bench.recordOf(paid.key)).state).toBe('expired')
  })

  it('erases orders whose keys are long gone', async () => {
    const { id } = await place()
    await erase({ id: 'nobody' })
    await bench.rows('ALTER TABLE idempotency_records DISABLE TRIGGER USER')
    await bench.rows('DELETE FROM idempotency_records WHERE id = $1', [id])
    await bench.rows('ALTER TABLE idempotency_records ENABLE TRIGGER USER')
    expect(await erase()).toMatchObject({ orders: 1, keys: 0, open: [] })
    expect(await left()).toEqual([])
  })

  it('asks for the tenant where several have a customer of that id, and leaves the other one’s alone', async () => {
    await place()
    await bench.rows(
      `INSERT INTO orders (id, tenant_id, customer_id, currency, amount_cents, items, note, payment_method, status, created_at)
       VALUES ('ord_other', 'ten_other', $1, 'USD', 1, '[]', 'planted note', 'pm_planted', 'paid', now())`,
      [customer],
    )
    const ambiguous = await erase()
    expect(ambiguous).toMatchObject({ refused: 'invalid_request', issues: [{ path: 'tenantId' }] })
    expect(await erase({ tenantId: TENANT })).toMatchObject({ tenantId: TENANT, orders: 1 })
    expect(await left()).toEqual(['public.orders: 1'])
    expect(await erase({ tenantId: 'ten_other' })).toMatchObject({ tenantId: 'ten_other', orders: 1 })
    expect(await left()).toEqual([])
  })

  it('answers not_found for a customer without an order', async () => {
    expect(await erase({ id: 'cus_nobody' })).toMatchObject({ refused: 'not_found' })
  })

  it('is for admins', async () => {
    await place()
    expect(await erase({}, OLGA)).toMatchObject({ refused: 'forbidden' })
    await erase()
  })

  it('works in batches: more orders than one holds', { timeout: 60_000 }, async () => {
    await bench.rows(
      `INSERT INTO orders (id, tenant_id, customer_id, currency, amount_cents, items, note, payment_method, status, created_at)
       SELECT 'ord_many_' || n, $1, $2, 'USD', 1, '[]', 'planted note', 'pm_planted', 'paid', now()
       FROM generate_series(1, 1201) n`,
      [TENANT, customer],
    )
    expect(await erase()).toMatchObject({ orders: 1201, keys: 0, open: [] })
    expect(await left()).toEqual([])
    const entries = await bench.rows('SELECT FROM audit_entries WHERE target = $1', [customer])
    expect(entries).toHaveLength(3)
  })
})
