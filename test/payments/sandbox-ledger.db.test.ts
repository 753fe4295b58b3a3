import pg from 'pg'
import { ulid } from 'ulid'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { EffectRequest, LookUpRequest } from '../../lib/payments/gateway'
import { createSandbox, listCharges } from '../../lib/payments/sandbox'
import { cloneDatabase } from '../support/database'

const AT_ONCE = 20

let database: Awaited<ReturnType<typeof cloneDatabase>>
let pool: pg.Pool
let outside: pg.Client

beforeAll(async () => {
  database = await cloneDatabase()
  pool = new pg.Pool({ connectionString: database.url, max: AT_ONCE })
  outside = new pg.Client({ connectionString: database.url })
  await outside.connect()
})

afterAll(async () => {
  await outside.end()
  await pool.end()
  await database.drop()
})

const withKeys = () => createSandbox({ pool, idempotent: true, timeLimitMs: 10_000 })
const withoutKeys = () => createSandbox({ pool, idempotent: false, timeLimitMs: 10_000 })

function charge(paymentMethod = 'pm_ok', changes: Partial<EffectRequest> = {}): EffectRequest & LookUpRequest {
  const id = ulid()
  const ids = {
    providerKey: `key_${id}`,
    keyDigest: `digest_${id}`,
    fingerprint: `v1:${id}`,
    orderId: `ord_${id}`,
    customerId: `cus_${id}`,
  }
  return {
    kind: 'charge',
    ...ids,
    reservedAt: new Date(0),
    until: new Date(),
    amountCents: 2500,
    currency: 'EUR',
    paymentMethod,
    ...changes,
  }
}

async function untilWaiting(count: number): Promise<void> {
  await vi.waitFor(async () => {
    // inside a transaction the view is otherwise read only once
    await outside.query('SELECT pg_stat_clear_snapshot()')
    const { rows } = await outside.query(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    expect(rows[0].waiting).toBe(count)
  })
}

/** Holds all back until each has sent its statement, so that they truly are at once. */
async function atOnce<T>(call: () => Promise<T>, table: 'charges' | 'attempts'): Promise<T[]> {
  await outside.query(`BEGIN; LOCK TABLE sandbox.${table} IN EXCLUSIVE MODE`)
  const calls = Array.from({ length: AT_ONCE }, call)
  await untilWaiting(AT_ONCE)
  await outside.query('COMMIT')
  return Promise.all(calls)
}

async function entryCount(request: EffectRequest): Promise<number> {
  const { rows } = await outside.query('SELECT count(*)::int FROM sandbox.charges WHERE provider_key = $1', [
    request.providerKey,
  ])
  return rows[0].count
}

describe('twenty concurrent sandbox attempts with one key', () => {
  it('are one charge with one answer when the provider honours keys', async () => {
    const request = charge()
    const outcomes = await atOnce(() => withKeys().execute(request), 'charges')
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1)
    expect(outcomes[0]?.kind).toBe('succeeded')
    expect(await entryCount(request)).toBe(1)
  })

  it('are twenty charges when the provider ignores keys', async () => {
    const request = charge()
    const outcomes = await atOnce(() => withoutKeys().execute(request), 'charges')
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(AT_ONCE)
    expect(await entryCount(request)).toBe(AT_ONCE)
  })

  it('have exactly one first attempt among them', async () => {
    const request = charge('pm_refused_once')
    const outcomes = await atOnce(() => withKeys().execute(request), 'attempts')
    expect(outcomes.filter((outcome) => outcome.kind === 'not_executed')).toHaveLength(1)
    expect(await entryCount(request)).toBe(1)
  })

  it('book a late charge exactly once, without waiting for its delay', async () => {
    const request = charge('pm_late_60000_once')
    const limited = createSandbox({ pool, idempotent: true, timeLimitMs: 1_500 })
    const outcomes = await atOnce(() => limited.execute(request), 'attempts')
    expect(outcomes.filter((outcome) => outcome.kind === 'unclear')).toHaveLength(1)
    expect(await entryCount(request)).toBe(1)
    expect(await withKeys().lookUp(request)).toMatchObject({ kind: 'succeeded' })
  })
})

describe('one sandbox effect per key', () => {
  it('holds when a rival commits after the statement began', async () => {
    const request = charge()
    const first = await withKeys().execute(request)
    const { rows } = await outside.query('DELETE FROM sandbox.charges WHERE provider_key = $1 RETURNING *', [
      request.providerKey,
    ])
    await outside.query('BEGIN')
    await outside.query('INSERT INTO sandbox.charges SELECT * FROM json_populate_record(null::sandbox.charges, $1)', [
      JSON.stringify({ ...rows[0], status: 'failed' }),
    ])
    const second = withKeys().execute(request)
    await untilWaiting(1)
    await outside.query('COMMIT')
    expect(await second).toEqual({ kind: 'declined', providerRef: (first as { providerRef: string }).providerRef })
    expect(await entryCount(request)).toBe(1)
  })

  it('keeps its first booking when later attempts arrive', async () => {
    const request = charge()
    await withKeys().execute(request)
    const booked = (await listCharges(pool, request)).items
    await withKeys().execute(request)
    const late = { ...request, paymentMethod: 'pm_late_60000_once' }
    await createSandbox({ pool, idempotent: true, timeLimitMs: 300 }).execute(late)
    expect((await listCharges(pool, request)).items).toEqual(booked)
  })

  it('includes a charge made while the provider ignored keys', async () => {
    const request = charge()
    const first = await withoutKeys().execute(request)
    expect(await withKeys().execute(request)).toEqual(first)
    expect(await entryCount(request)).toBe(1)
  })

  it('distinguishes a charge from a refund and one key from another', async () => {
    const request = charge()
    const others = [{ ...request, kind: 'refund' as const }, charge()]
    await withKeys().execute(request)
    expect(await withKeys().lookUp(others[0] ?? request)).toEqual({ kind: 'not_found' })
    const refs = await Promise.all([request, ...others].map((one) => withKeys().execute(one)))
    expect(new Set(refs.map((outcome) => JSON.stringify(outcome))).size).toBe(3)
  })
})

describe('a sandbox lookup', () => {
  it('finds nothing for a key that was never sent', async () => {
    expect(await withKeys().lookUp(charge())).toEqual({ kind: 'not_found' })
  })

  it('prefers a success to a decline, whichever came first', async () => {
    for (const order of [
      ['pm_declined', 'pm_ok'],
      ['pm_ok', 'pm_declined'],
    ]) {
      const request = charge()
      for (const paymentMethod of order) await withoutKeys().execute({ ...request, paymentMethod })
      expect(await withoutKeys().lookUp(request)).toMatchObject({ kind: 'succeeded', amountCents: 2500 })
    }
  })

  it('finds a charge immediately after its answer', async () => {
    for (let round = 0; round < 50; round++) {
      const request = charge()
      await withKeys().execute(request)
      expect((await withKeys().lookUp(request)).kind).toBe('succeeded')
    }
  })
})

describe('listCharges', () => {
  it("shows one customer's charges and refunds, newest first", async () => {
    const { customerId, orderId } = charge()
    const sent = [
      charge('pm_ok', { customerId, orderId }),
      charge('pm_declined', { customerId, orderId }),
      charge('pm_ok', { customerId, orderId, kind: 'refund', amountCents: 100 }),
    ]
    const refs: string[] = []
    for (const request of [...sent, charge()]) {
      const outcome = await withKeys().execute(request)
      if ('providerRef' in outcome) refs.push(outcome.providerRef)
      // the next millisecond, by the clock that orders them
      await outside.query('SELECT pg_sleep(0.002)')
    }
    const createdAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/)
    const shared = { customerId, orderId, createdAt }
    expect((await listCharges(pool, { customerId })).items).toEqual([
      { ...shared, ref: refs[2], kind: 'refund', status: 'succeeded', amountCents: 100 },
      { ...shared, ref: refs[1], kind: 'charge', status: 'failed', amountCents: 2500 },
      { ...shared, ref: refs[0], kind: 'charge', status: 'succeeded', amountCents: 2500 },
    ])
  })

  it('returns at most 1000 entries, and then where the next page begins', async () => {
    const { customerId } = charge()
    // A thousand and one of one instant, and one older.
    await outside.query(
      `INSERT INTO sandbox.charges (ref, provider_key, kind, status, order_id, customer_id, amount_cents, currency, booked_at)
       SELECT 'sbx_' || $1 || n, 'key' || n, 'charge', 'succeeded', 'ord', $1, 1, 'USD',
         date_trunc('second', clock_timestamp()) - CASE WHEN n = 1002 THEN interval '1 min' ELSE interval '1 s' END
       FROM generate_series(1, 1002) n`,
      [customerId],
    )
    const first = await listCharges(pool, { customerId })
    expect(first.items).toHaveLength(1000)
    const second = await listCharges(pool, { customerId, limit: 1, after: first.next })
    const third = await listCharges(pool, { customerId, after: second.next })
    expect(third).toMatchObject({ items: [{ ref: `sbx_${customerId}1002` }], next: null })
    const all = [first, second, third].flatMap(({ items }) => items.map(({ ref }) => ref))
    expect(new Set(all).size).toBe(1002)
  })
})
