// Rows that the database itself refuses, whoever writes them. Every CHECK of these tables has a row here.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cloneDatabase } from '../support/database'
import { type Columns, insertInto, insertOrder, move, pendingColumns, recordIn } from '../support/rows'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let db: pg.Pool
beforeAll(async () => {
  database = await cloneDatabase()
  db = new pg.Pool({ connectionString: database.url, max: 4 })
})
afterAll(async () => {
  await db.end()
  await database.drop()
})

const pending = (changes: Columns) => insertInto(db, 'idempotency_records', { ...pendingColumns(), ...changes })
const leased = (changes: Columns = {}) =>
  pending({
    state: 'in_progress',
    attempt: 1,
    recovery_point: 'charging',
    locked_until: new Date(Date.now() + 60_000),
    locked_by: 'test',
    settles_at: new Date(Date.now() + 180_000),
    ...changes,
  })
const order = (changes: Columns) => insertOrder(db, changes)
const refund = async (changes: Columns) =>
  insertInto(db, 'refunds', {
    id: randomUUID(),
    order_id: await insertOrder(db),
    tenant_id: 'ten_rows',
    amount_cents: 1,
    created_at: new Date(),
    ...changes,
  })
const ledgerEntry = async (changes: Columns = {}) => {
  const id = randomUUID()
  await insertInto(db, 'ledger_entries', {
    id,
    kind: 'charge',
    status: 'succeeded',
    tenant_id: 'ten_rows',
    order_id: await insertOrder(db),
    amount_cents: 1000,
    currency: 'USD',
    provider_ref: randomUUID(),
    ...changes,
  })
  return id
}
const evidence = (changes: Columns) =>
  insertInto(db, 'evidence', {
    id: randomUUID(),
    source: 'webhook',
    source_id: randomUUID(),
    attempt: 1,
    verdict: 'succeeded',
    detail: '{}',
    ...changes,
  })
const ledgerRevisit = (changes: Columns) =>
  insertInto(db, 'ledger_revisits', {
    ref: randomUUID(),
    kind: 'charge',
    status: 'pending',
    provider_key: randomUUID(),
    amount_cents: 100,
    currency: 'USD',
    created_at: new Date(),
    ...changes,
  })
const tenant = (changes: Columns = {}) =>
  insertInto(db, 'tenants', { id: randomUUID(), name: randomUUID(), ...changes })
const becoming = async (
  state: 'completed' | 'expired' | 'unknown' | 'failed_retryable',
  instead: Record<string, string>,
) => move(db, await recordIn(db, state === 'expired' ? 'completed' : 'in_progress'), state, instead)

const REFUSALS: [constraint: string, row: string, write: () => Promise<unknown>][] = [
  ['records_key', 'a key of 15 characters', () => pending({ key: 'x'.repeat(15) })],
  ['records_key', 'a key of 256 characters', () => pending({ key: 'x'.repeat(256) })],
  ['records_fingerprint', 'a fingerprint without its version', () => pending({ fingerprint: '0'.repeat(64) })],
  ...['v:', '1v:', 'v1', 'v1:0', 'v1::', 'vv1:', 'x1:'].map((version): (typeof REFUSALS)[number] => [
    'records_fingerprint',
    `a fingerprint of the version ${version}`,
    () => pending({ fingerprint: version + '0'.repeat(64) }),
  ]),
  ['records_fingerprint', 'a hash with a capital', () => pending({ fingerprint: `v1:${'0'.repeat(63)}F` })],
  ['records_fingerprint', 'a hash that is too short', () => pending({ fingerprint: `v1:${'0'.repeat(63)}` })],
  ['records_counts', 'a negative attempt', () => pending({ attempt: -1 })],
  ['records_counts', 'a version of zero', () => pending({ version: 0 })],
  ['records_counts', 'a negative number of look-ups', () => pending({ reconcile_attempts: -1 })],
  ['records_counts', 'a negative number of replays', () => pending({ replay_count: -1 })],
  ['records_retention', 'a retention of zero', () => pending({ retention_seconds: 0 })],
  ['records_resource', 'a resource without a type', () => pending({ resource_id: 'ord_1' })],
  ['records_timeline', 'an empty timeline', () => pending({ timeline: '[]' })],
  ['records_pending', 'a synchronous request that waits for a worker', () => pending({ async: false })],
  ['records_pending', 'a pending record that was claimed', () => pending({ attempt: 1 })],
  ['records_pending', 'a pending record without its request', () => pending({ request: null })],
  ['records_lease', 'a lease on a pending record', () => pending({ locked_until: new Date(), locked_by: 'test' })],
  ['records_lease', 'a record in progress without a lease', () => leased({ locked_until: null, locked_by: null })],
  ['records_lease', 'a lease without an owner', () => leased({ locked_by: null })],
  ['records_in_progress', 'a lease before the first attempt', () => leased({ attempt: 0 })],
  ['records_in_progress', 'a settle window that ends before the lease', () => leased({ settles_at: new Date() })],
  ['records_in_progress', 'a lease without a settle window', () => leased({ settles_at: null })],
  ['records_in_progress', 'a lease without a recovery point', () => leased({ recovery_point: null })],
  ['records_in_progress', 'a lease without the request', () => leased({ request: null })],
  ['records_answer', 'an answer of a record in progress', () => leased({ response_status: 201 })],
  ['records_answer', 'a completion time of a record in progress', () => leased({ completed_at: new Date() })],
  ['records_answer', 'a 5xx as the answer', () => becoming('completed', { response_status: '500' })],
  ['records_answer', 'a 3xx as the answer', () => becoming('completed', { response_status: '302' })],
  ['records_answer', 'a 1xx as the answer', () => becoming('completed', { response_status: '199' })],
  ['records_answer', 'an answer without a status', () => becoming('completed', { response_status: 'NULL' })],
  ['records_answer', 'an answer without a body', () => becoming('completed', { response_body: 'NULL' })],
  ['records_answer', 'an answer without headers', () => becoming('completed', { response_headers: 'NULL' })],
  ['records_answer', 'an answer without its version', () => becoming('completed', { response_version: 'NULL' })],
  ['records_answer', 'an answer without its time', () => becoming('completed', { completed_at: 'NULL' })],
  ['records_answer', 'a tombstone with a body', () => becoming('expired', { response_body: `'{}'` })],
  ['records_answer', 'a tombstone with headers', () => becoming('expired', { response_headers: `'{}'` })],
  ['records_answer', 'a tombstone with the request', () => becoming('expired', { request: `'{}'` })],
  ['records_answer', 'a tombstone without its time', () => becoming('expired', { expired_at: 'NULL' })],
  ['records_expired', 'an expiry time of a live record', () => pending({ expired_at: new Date() })],
  ['records_retryable', 'a retryable key without its request', () => becoming('failed_retryable', { request: 'NULL' })],
  ['records_unknown', 'an unknown key without a lookup time', () => becoming('unknown', { reconcile_after: 'NULL' })],
  ['records_unknown', 'an unknown key without a settle window', () => becoming('unknown', { settles_at: 'NULL' })],
  ['records_unknown', 'an unknown key without its request', () => becoming('unknown', { request: 'NULL' })],
  ['orders_amounts', 'an order with an amount of zero', () => order({ amount_cents: 0 })],
  ['orders_amounts', 'a negative hold', () => order({ held_cents: -1 })],
  [
    'orders_amounts',
    'refunds and holds beyond the order',
    () => order({ status: 'partially_refunded', refunded_cents: 600, held_cents: 401 }),
  ],
  [
    'orders_refund_status',
    'a refunded order with something left',
    () => order({ status: 'refunded', refunded_cents: 999 }),
  ],
  [
    'orders_refund_status',
    'a partial refund of the whole amount',
    () => order({ status: 'partially_refunded', refunded_cents: 1000 }),
  ],
  ['orders_refund_status', 'a partial refund of zero', () => order({ status: 'partially_refunded' })],
  ['orders_refund_status', 'a refunded amount on an unpaid order', () => order({ refunded_cents: 1 })],
  ['refunds_amount', 'a refund with an amount of zero', () => refund({ amount_cents: 0 })],
  ['ledger_entries_amount', 'a ledger row with an amount of zero', () => ledgerEntry({ amount_cents: 0 })],
  [
    'ledger_entries_reversal',
    'a reversing entry that counts',
    async () => ledgerEntry({ reversal_of: await ledgerEntry({ provider_ref: 'ch_taken_back' }) }),
  ],
  ['ledger_revisits_status', 'a revisit of what was declined', () => ledgerRevisit({ status: 'failed' })],
  ['evidence_source', 'evidence from an unknown source', () => evidence({ source: 'hearsay' })],
  ['evidence_verdict', 'evidence with an unknown verdict', () => evidence({ verdict: 'perhaps' })],
  ['tenants_limits', 'a negative rate', () => tenant({ new_keys_per_minute: -1 })],
  ['tenants_limits', 'a negative cap', () => tenant({ live_key_cap: -1 })],
  ['tenants_retention', 'a tenant with a retention of zero', () => tenant({ retention_hours: 0 })],
]

describe('an impossible row', () => {
  it.each(REFUSALS)('%s refuses %s', async (constraint, _, write) => {
    await expect(write()).rejects.toMatchObject({ code: '23514', constraint })
  })

  it('is tested for every CHECK constraint, and for every rule of record_is_possible', async () => {
    const { rows } = await db.query<{ conname: string }>(
      `SELECT conname FROM pg_constraint WHERE contype = 'c' AND convalidated AND conrelid = ANY($1::regclass[])`,
      [['idempotency_records', 'orders', 'refunds', 'ledger_entries', 'evidence', 'ledger_revisits', 'tenants']],
    )
    const { rows: functions } = await db.query(`SELECT prosrc FROM pg_proc WHERE proname = 'record_is_possible'`)
    const rules = [...functions[0].prosrc.matchAll(/THEN '(records_\w+)'/g)].map(([, rule]) => rule)
    const checks = rows.map((row) => row.conname).filter((name) => name !== 'records_possible')
    expect(checks).toHaveLength(rows.length - 1)
    const tried = new Set(REFUSALS.map(([constraint]) => constraint))
    expect([...checks, ...rules].sort()).toEqual([...tried].sort())
  })

  it('is made from a row that is accepted without the change', async () => {
    await pending({})
    await pending({ fingerprint: `v12:${'0123456789abcdef'.repeat(4)}` })
    await leased()
    await order({ status: 'partially_refunded', refunded_cents: 600, held_cents: 400 })
    await order({ status: 'refunded', refunded_cents: 1000 })
    await refund({})
    await evidence({})
    await tenant({ retention_hours: 0.5 })
  })

  it('is refused when its timeline is not a list', async () => {
    await expect(pending({ timeline: '{}' })).rejects.toThrow()
  })
})

describe('an idempotency key', () => {
  it('is unique for its tenant and endpoint', async () => {
    const taken = pendingColumns()
    await insertInto(db, 'idempotency_records', taken)
    await expect(pending({ key: taken.key })).rejects.toMatchObject({ code: '23505' })
    await pending({ key: taken.key, tenant_id: 'ten_other' })
    await pending({ key: taken.key, endpoint: 'POST /api/other' })
  })
})

describe('the ledger', () => {
  it.each([
    'amount_cents = 1',
    `status = 'failed'`,
    `provider_ref = 'another'`,
    'record_id = NULL',
    `created_at = created_at + interval '1 s'`,
  ])('is append-only: an update that sets %s is refused', async (change) => {
    const id = await ledgerEntry()
    await expect(db.query(`UPDATE ledger_entries SET ${change} WHERE id = $1`, [id])).rejects.toMatchObject({
      code: '23514',
      message: 'the ledger is append-only',
    })
  })

  it('lets an entry stop to count, once, and nothing else change with it', async () => {
    const id = await ledgerEntry()
    const refused = { code: '23514', message: 'the ledger is append-only' }
    const change = (what: string) => db.query(`UPDATE ledger_entries SET ${what} WHERE id = $1`, [id])
    await expect(change('reversed_at = now(), amount_cents = 1')).rejects.toMatchObject(refused)
    await change('reversed_at = now()')
    await expect(change('reversed_at = NULL')).rejects.toMatchObject(refused)
    await expect(change("reversed_at = now() + interval '1 s'")).rejects.toMatchObject(refused)
  })

  it('is append-only: a delete is refused', async () => {
    const id = await ledgerEntry()
    await expect(db.query('DELETE FROM ledger_entries WHERE id = $1', [id])).rejects.toMatchObject({ code: '23514' })
  })

  it('is append-only: moving a row to another record is refused', async () => {
    const id = await ledgerEntry({ record_id: await recordIn(db, 'completed') })
    const other = await recordIn(db, 'completed')
    await expect(db.query('UPDATE ledger_entries SET record_id = $2 WHERE id = $1', [id, other])).rejects.toMatchObject(
      {
        code: '23514',
      },
    )
  })

  it('has at most one row for a provider reference, and for a record', async () => {
    const record_id = await recordIn(db, 'completed')
    await ledgerEntry({ provider_ref: 'ch_once', record_id })
    await expect(ledgerEntry({ provider_ref: 'ch_once' })).rejects.toMatchObject({ code: '23505' })
    await expect(ledgerEntry({ record_id })).rejects.toMatchObject({ code: '23505' })
  })

  it('has room for a reference and a record again once their row does not count any more', async () => {
    const record_id = await recordIn(db, 'completed')
    const id = await ledgerEntry({ provider_ref: 'ch_again', record_id })
    await db.query('UPDATE ledger_entries SET reversed_at = now() WHERE id = $1', [id])
    await ledgerEntry({ provider_ref: 'ch_again', record_id })
  })

  it('keeps its rows when their record is deleted, as do orders and evidence', async () => {
    const record_id = await recordIn(db, 'expired')
    const order_id = await insertOrder(db, { record_id })
    const entry = await ledgerEntry({ order_id, record_id })
    await evidence({ record_id, source_id: `of ${record_id}` })
    await db.query('DELETE FROM idempotency_records WHERE id = $1', [record_id])
    const left = await db.query(
      `SELECT l.record_id AS ledger, o.record_id AS "order", e.record_id AS evidence
       FROM ledger_entries l JOIN orders o ON o.id = l.order_id, evidence e WHERE l.id = $1 AND e.source_id = $2`,
      [entry, `of ${record_id}`],
    )
    expect(left.rows).toEqual([{ ledger: record_id, order: record_id, evidence: null }])
  })
})

describe('a tenant', () => {
  it('is disabled, never deleted', async () => {
    await tenant({ id: 'ten_kept' })
    await db.query(`UPDATE tenants SET disabled_at = clock_timestamp() WHERE id = 'ten_kept'`)
    await expect(db.query(`DELETE FROM tenants WHERE id = 'ten_kept'`)).rejects.toMatchObject({
      message: 'tenants are disabled, not deleted',
    })
  })
})
