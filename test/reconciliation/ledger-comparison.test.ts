// Our ledger against the provider's list: each kind of finding, once; nothing that is still being worked on; nothing
// that only lies across an edge of the window.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../lib/db/id'
import type { AnyOperation } from '../../lib/idempotency/operation'
import { providerKeyOf } from '../../lib/idempotency/record'
import { migrateJobs } from '../../lib/jobs/worker'
import { progressOf, runOnce } from '../../lib/maintenance/daemon'
import { reaper } from '../../lib/maintenance/reaper'
import { startRun } from '../../lib/maintenance/runs'
import type { LookUpRequest, ProviderEntry } from '../../lib/payments/gateway'
import { createSandbox } from '../../lib/payments/sandbox'
import { ledgerComparison } from '../../lib/reconciliation/ledger-comparison'
import {
  accepted,
  type Bench,
  declined,
  newKey,
  newRef,
  openBench,
  orderOf,
  refused,
  type ScriptedGateway,
  scriptedGateway,
  timedOut,
} from '../support/boundary'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** The bench's lease and settle window: where a window ends. */
const WINDOW_END = 3 * MINUTE

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
  await migrateJobs(bench.url)
})
afterAll(() => bench.close())

let gateway: ScriptedGateway
let entries: ProviderEntry[]
let asked: { from: Date; to: Date }[]
beforeEach(async () => {
  await bench.db.query(
    'TRUNCATE idempotency_records, orders, refunds, ledger_entries, evidence, discrepancies, schedules, runs CASCADE',
  )
  gateway = scriptedGateway()
  entries = []
  asked = []
  gateway.list = async function* (window) {
    asked.push(window)
    for (const entry of entries) if (entry.createdAt >= window.from && entry.createdAt < window.to) yield entry
  }
})

const comparison = () => {
  const all: AnyOperation[] = [bench.placeOrder(gateway), bench.refundOrder(gateway)]
  const operations = new Map(all.map((operation) => [operation.endpoint, operation]))
  return ledgerComparison({ boundary: bench.boundary, operations, gateway })
}
const compare = (options = {}) => runOnce(comparison(), options)

const findings = () =>
  bench.rows<{ kind: string; subject: string; record_id: string | null; detail: Record<string, unknown> }>(
    'SELECT kind, subject, record_id, detail FROM discrepancies ORDER BY kind, subject',
  )
const kinds = async () => (await findings()).map(({ kind, subject }) => [kind, subject])

interface Booked {
  key: string
  id: string
  ref: string
  orderId: string
}

/** An order as its owner left it, and as if all of it had been so long ago. */
async function order(agoMs: number, changes: { call?: () => ReturnType<typeof refused>; ref?: string } = {}) {
  const key = newKey()
  const ref = changes.ref ?? newRef()
  gateway.nextCall(changes.call ?? (() => ({ kind: 'succeeded', providerRef: ref })))
  await bench.place(gateway, orderOf(), { key })
  const { id, resource_id: orderId } = await bench.recordOf(key)
  await age(orderId, agoMs)
  return { key, id, ref, orderId } satisfies Booked
}

/** Past the triggers, which keep anybody from doing this. */
async function age(orderId: string, bookedAgoMs: number, reservedAgoMs = bookedAgoMs): Promise<void> {
  const client = await bench.transaction()
  const ago = (ms: number) => `clock_timestamp() - ${ms} * interval '1 ms'`
  await client.query(`SET LOCAL session_replication_role = replica`)
  await client.query(`UPDATE ledger_entries SET created_at = ${ago(bookedAgoMs)} WHERE order_id = $1`, [orderId])
  await client.query(`UPDATE orders SET created_at = ${ago(reservedAgoMs)} WHERE id = $1`, [orderId])
  await client.query('COMMIT')
  client.release()
}

/** What the provider has, so long ago by its clock. */
function entry(of: { id: string; ref: string }, agoMs: number, changes: Partial<ProviderEntry> = {}): ProviderEntry {
  const made: ProviderEntry = {
    ref: of.ref,
    providerKey: providerKeyOf(of.id),
    kind: 'charge',
    status: 'succeeded',
    amountCents: 2500,
    currency: 'USD',
    createdAt: new Date(Date.now() - agoMs),
    ...changes,
  }
  entries.push(made)
  return made
}

async function remove(key: string): Promise<void> {
  await bench.endRetention(key)
  await runOnce(reaper(bench.store, { tombstoneHours: 1e-9 }))
  expect(await bench.rows('SELECT 1 FROM idempotency_records WHERE key = $1', [key])).toEqual([])
}

describe('ledger and list that agree', () => {
  it('are no finding', async () => {
    for (let i = 0; i < 3; i++) entry(await order(HOUR), HOUR)
    expect(await compare()).toEqual({ listed: 3, booked: 3, unconfirmed: 0 })
    expect(await findings()).toEqual([])
  })

  it('agree also when the record is gone', async () => {
    const paid = await order(HOUR)
    entry(paid, HOUR)
    await remove(paid.key)
    await compare()
    expect(await findings()).toEqual([])
  })

  it('leave declines and what is pending alone, and what somebody else made in the same account', async () => {
    const no = await order(HOUR, { call: () => declined() as ReturnType<typeof refused> })
    entry(no, HOUR, { status: 'failed' })
    entry({ id: no.id, ref: newRef() }, HOUR, { status: 'pending' })
    entry({ id: no.id, ref: newRef() }, HOUR, { providerKey: null })
    expect(await compare()).toEqual({ listed: 0, booked: 0, unconfirmed: 0 })
    expect(await findings()).toEqual([])
  })
})

describe('a charge without an order', () => {
  it('is found where the record is final with another answer', async () => {
    const no = await order(HOUR, { call: () => declined() as ReturnType<typeof refused> })
    const charge = entry({ id: no.id, ref: newRef() }, HOUR)
    expect(await compare()).toMatchObject({ charge_without_order: 1 })
    expect(await findings()).toMatchObject([
      {
        kind: 'charge_without_order',
        subject: charge.ref,
        record_id: no.id,
        detail: {
          state: 'completed',
          ledger: null,
          provider: { amountCents: 2500, providerKey: providerKeyOf(no.id) },
        },
      },
    ])
  })

  it('is found where we booked this very charge as declined', async () => {
    const ref = newRef()
    const no = await order(HOUR, { call: () => declined(ref) as ReturnType<typeof refused> })
    entry({ id: no.id, ref }, HOUR)
    await compare()
    expect(await findings()).toMatchObject([{ kind: 'charge_without_order', detail: { ledger: { status: 'failed' } } }])
  })

  it('is found where the record is gone, or never was', async () => {
    const gone = entry({ id: newId('idem'), ref: newRef() }, HOUR)
    const strange = entry({ id: 'x', ref: newRef() }, HOUR, { providerKey: 'not-one-of-ours' })
    await compare()
    expect(await findings()).toMatchObject(
      [gone, strange]
        .sort((a, b) => (a.ref < b.ref ? -1 : 1))
        .map(({ ref }) => ({
          kind: 'charge_without_order',
          subject: ref,
          record_id: ref === gone.ref ? expect.any(String) : null,
        })),
    )
  })
})

describe('an order without a charge', () => {
  it('is found where the provider lists no such charge', async () => {
    const paid = await order(HOUR)
    expect(await compare()).toMatchObject({ paid_without_charge: 1 })
    expect(await findings()).toMatchObject([
      {
        kind: 'paid_without_charge',
        subject: paid.ref,
        record_id: paid.id,
        detail: { ledger: { orderId: paid.orderId, amountCents: 2500, currency: 'USD', kind: 'charge' } },
      },
    ])
  })

  it('is found where the provider lists it as failed', async () => {
    entry(await order(HOUR), HOUR, { status: 'failed' })
    await compare()
    expect(await findings()).toMatchObject([{ kind: 'paid_without_charge' }])
  })
})

describe('amounts and currencies', () => {
  it('that differ are a finding each', async () => {
    const paid = await order(HOUR)
    entry(paid, HOUR, { amountCents: 2501, currency: 'EUR' })
    expect(await compare()).toMatchObject({ amount_differs: 1, currency_differs: 1 })
    expect(await findings()).toMatchObject([
      {
        kind: 'amount_differs',
        subject: paid.ref,
        record_id: paid.id,
        detail: { provider: { amountCents: 2501 }, ledger: { amountCents: 2500, orderId: paid.orderId } },
      },
      {
        kind: 'currency_differs',
        subject: paid.ref,
        detail: { provider: { currency: 'EUR' }, ledger: { currency: 'USD' } },
      },
    ])
  })
})

describe('a charge that was made twice', () => {
  it('is found beside the one that we booked', async () => {
    const paid = await order(HOUR)
    entry(paid, HOUR)
    const second = entry({ id: paid.id, ref: newRef() }, HOUR)
    expect(await compare()).toMatchObject({ duplicate_charge: 1 })
    expect(await kinds()).toEqual([['duplicate_charge', second.ref]])
    expect((await findings())[0]).toMatchObject({ record_id: paid.id, detail: { bookedRef: paid.ref } })
  })

  it.each(['first', 'last'])('is found when the record is gone and the booked one is listed %s', async (where) => {
    const paid = await order(HOUR)
    const second = entry({ id: paid.id, ref: newRef() }, HOUR)
    entry(paid, HOUR)
    if (where === 'first') entries.reverse()
    await remove(paid.key)
    await compare()
    expect(await kinds()).toEqual([['duplicate_charge', second.ref]])
  })

  it('is not a refund beside its charge: each has a record of its own; nor a charge beside a refund of one key', async () => {
    const gone = { id: newId('idem'), ref: newRef() }
    entry(gone, HOUR)
    entry({ ...gone, ref: newRef() }, HOUR, { kind: 'refund' })
    await compare()
    expect((await findings()).map(({ kind }) => kind)).toEqual(['charge_without_order', 'charge_without_order'])
  })

  it('is no entry that the provider’s pages showed twice', async () => {
    const paid = await order(HOUR)
    entries.push(entry(paid, HOUR))
    expect(await compare()).toEqual({ listed: 1, booked: 1, unconfirmed: 0 })
  })
})

describe('records that are still being worked on', () => {
  it('are left out: pending, in progress, unknown', async () => {
    const live: string[] = [newKey(), newKey(), newKey()]
    await bench.place(gateway, orderOf(), { key: live[0]!, ...accepted })
    gateway.nextCall(() => new Promise(() => {}))
    bench.place(gateway, orderOf(), { key: live[1]! }).catch(() => {})
    await expect.poll(() => gateway.calls.length).toBe(1)
    gateway.nextCall(timedOut)
    await bench.place(gateway, orderOf(), { key: live[2]! })
    const states: string[] = []
    for (const key of live) {
      const { id, state } = await bench.recordOf(key)
      states.push(state)
      entry({ id, ref: newRef() }, HOUR)
    }
    expect(states).toEqual(['pending', 'in_progress', 'unknown'])
    expect(await compare()).toEqual({ listed: 3, leftOut: 3, booked: 0, unconfirmed: 0 })
    expect(await findings()).toEqual([])
  })

  it('a charge of what was taken for not executed is evidence, and settles it', async () => {
    const lost = await order(HOUR, { call: refused })
    const charge = entry({ id: lost.id, ref: newRef() }, HOUR)
    expect(await compare({ dryRun: true })).toMatchObject({ evidence: 1 })
    expect((await bench.recordOf(lost.key)).state).toBe('failed_retryable')
    expect(await compare()).toMatchObject({ evidence: 1 })
    expect(await bench.recordOf(lost.key)).toMatchObject({ state: 'completed', effect_ref: charge.ref })
    expect(await bench.rows('SELECT source, verdict FROM evidence')).toEqual([
      { source: 'look_up', verdict: 'succeeded' },
    ])
    expect(await compare()).not.toHaveProperty('evidence')
    expect(await findings()).toEqual([])
  })
})

describe('running it again', () => {
  async function oneOfEach(): Promise<void> {
    const paid = await order(HOUR)
    entry(paid, HOUR, { amountCents: 1, currency: 'JPY' })
    entry({ id: paid.id, ref: newRef() }, HOUR)
    await order(HOUR)
    entry({ id: newId('idem'), ref: newRef() }, HOUR)
  }
  const FOUND = {
    amount_differs: 1,
    currency_differs: 1,
    duplicate_charge: 1,
    paid_without_charge: 1,
    charge_without_order: 1,
  }
  const again = () => bench.db.query('UPDATE schedules SET covered_until = NULL')

  it('adds nothing twice, neither what is open nor what was closed', async () => {
    await oneOfEach()
    expect(await compare()).toMatchObject(FOUND)
    await bench.db.query(`UPDATE discrepancies SET closed_at = clock_timestamp() WHERE kind = 'amount_differs'`)
    const before = await bench.rows('SELECT * FROM discrepancies ORDER BY id')
    await again()
    expect(await compare()).toEqual({ listed: 3, booked: 2, unconfirmed: 0 })
    expect(await bench.rows('SELECT * FROM discrepancies ORDER BY id')).toEqual(before)
  })

  it('by two nodes at once adds nothing twice', async () => {
    await oneOfEach()
    const [first, second] = await Promise.all([compare(), compare()])
    for (const kind of Object.keys(FOUND)) expect((first[kind] ?? 0) + (second[kind] ?? 0)).toBe(1)
    expect(await findings()).toHaveLength(5)
  })

  it('dry counts what a run would file, and changes nothing', async () => {
    await oneOfEach()
    expect(await compare({ dryRun: true })).toMatchObject(FOUND)
    expect(await findings()).toEqual([])
    expect(await bench.rows('SELECT 1 FROM schedules')).toEqual([])
    expect(await compare()).toMatchObject(FOUND)
    await again()
    expect(await compare({ dryRun: true })).toEqual({ listed: 3, booked: 2, unconfirmed: 0 })
  })

  it('is a run that people can look at', async () => {
    await oneOfEach()
    const request = { dryRun: false, scheduled: false, requestedBy: 'test', reason: null }
    const { ended } = await startRun(bench.store, comparison(), request)
    expect(await ended).toMatchObject({ kind: 'ledger', state: 'succeeded', done: 5, counts: FOUND })
  })
})

describe('the window', () => {
  const covered = async () =>
    (await bench.rows<{ at: Date }>(`SELECT covered_until AS at FROM schedules WHERE kind = 'ledger'`))[0]?.at
  const near = (at: Date | undefined, agoMs: number) =>
    expect(Math.abs(Date.now() - agoMs - at!.getTime())).toBeLessThan(5000)

  it('is seven days at first, then goes on where the last one ended, with a margin', async () => {
    await compare()
    near(asked[0]!.from, 7 * DAY + 10 * MINUTE)
    near(asked[0]!.to, WINDOW_END - 5 * MINUTE)
    near(await covered(), WINDOW_END)
    await compare()
    near(asked[1]!.from, WINDOW_END + 15 * MINUTE)
    near(await covered(), WINDOW_END)
  })

  it('is not moved on by a list that broke off, nor by a run that was stopped', async () => {
    entry(await order(HOUR), HOUR)
    const whole = gateway.list
    gateway.list = async function* (window) {
      yield* whole(window)
      throw new Error('the provider is away')
    }
    await expect(compare()).rejects.toThrow('the provider is away')
    expect(await covered()).toBeUndefined()
    gateway.list = whole
    for await (const _ of progressOf(comparison(), { dryRun: false })) break
    expect(await covered()).toBeUndefined()
    expect(await findings()).toEqual([])
  })

  it('does not judge what is younger than lease and settle window', async () => {
    await order(WINDOW_END - 30_000)
    entry({ id: newId('idem'), ref: newRef() }, WINDOW_END - 30_000)
    expect(await compare()).toEqual({ listed: 0, booked: 0, unconfirmed: 0 })
    expect(await findings()).toEqual([])
  })

  /** The last comparison ended an hour ago. */
  const coveredAnHourAgo = () =>
    bench.db.query(
      `INSERT INTO schedules (kind, next_run_at, covered_until)
       VALUES ('ledger', clock_timestamp(), clock_timestamp() - interval '1 hour')`,
    )

  it.each([
    ['booked inside, made before its beginning', HOUR + 4 * MINUTE, HOUR + 6 * MINUTE],
    ['booked before its beginning, made inside by the provider’s clock', HOUR + 6 * MINUTE, HOUR + 4 * MINUTE],
    ['booked inside, made after its end by the provider’s clock', WINDOW_END + 30_000, WINDOW_END - 2 * MINUTE],
    ['booked after its end, made inside', WINDOW_END - 30_000, WINDOW_END + 30_000],
  ])('has no finding in a pair that lies across an edge: %s', async (_, bookedAgo, madeAgo) => {
    await coveredAnHourAgo()
    const paid = await order(bookedAgo)
    await age(paid.orderId, bookedAgo, Math.max(bookedAgo, madeAgo))
    entry(paid, madeAgo)
    await compare()
    expect(await findings()).toEqual([])
  })

  describe('and a record that was found out about days after it was reserved', () => {
    let late: Booked
    beforeEach(async () => {
      await coveredAnHourAgo()
      late = await order(30 * MINUTE)
      await age(late.orderId, 30 * MINUTE, 5 * DAY)
      entry(late, 5 * DAY)
    })

    it('is asked for by its key, not looked for in the list', async () => {
      gateway.nextLookUp(() => ({ kind: 'succeeded', providerRef: late.ref, amountCents: 2500, currency: 'USD' }))
      expect(await compare()).toEqual({ listed: 0, booked: 1, unconfirmed: 0 })
      expect(gateway.lookUps).toMatchObject([
        { kind: 'charge', providerKey: providerKeyOf(late.id) } satisfies Partial<LookUpRequest>,
      ])
      expect(await findings()).toEqual([])
    })

    it('is found where the provider has no such charge', async () => {
      expect(await compare()).toMatchObject({ paid_without_charge: 1 })
    })

    it('is not judged where the provider does not say', async () => {
      gateway.nextLookUp(() => ({ kind: 'unreachable', code: 'timeout' }))
      expect(await compare()).toEqual({ listed: 0, booked: 1, unconfirmed: 1 })
      expect(await findings()).toEqual([])
    })

    it('is asked about also where its record is gone', async () => {
      await remove(late.key)
      expect(await compare()).toEqual({ listed: 0, booked: 1, unconfirmed: 0, paid_without_charge: 1 })
      expect(gateway.lookUps).toHaveLength(1)
    })

    it('is not judged where an earlier release has forgotten its record, and with it the key', async () => {
      await remove(late.key)
      await bench.rows('UPDATE ledger_entries SET record_id = NULL')
      expect(await compare()).toEqual({ listed: 0, booked: 1, unconfirmed: 1 })
      expect(gateway.lookUps).toEqual([])
    })
  })
})

describe('refunds', () => {
  it('are compared like charges, with the time of the refund and not of its order', async () => {
    const paid = await order(HOUR)
    entry(paid, HOUR)
    const ref = newRef()
    gateway.nextCall(() => ({ kind: 'succeeded', providerRef: ref }))
    const key = newKey()
    await bench.refund(gateway, paid.orderId, { amountCents: 500 }, { key })
    await age(paid.orderId, HOUR, 30 * DAY)
    await bench.db.query(`UPDATE refunds SET created_at = clock_timestamp() - interval '1 hour'`)
    const { id } = await bench.recordOf(key)
    entry({ id, ref }, HOUR, { kind: 'refund', amountCents: 499 })
    expect(await compare()).toEqual({ listed: 2, booked: 2, unconfirmed: 0, amount_differs: 1 })
    expect(await findings()).toMatchObject([{ kind: 'amount_differs', subject: ref, record_id: id }])
    entries.pop()
    await bench.db.query('UPDATE schedules SET covered_until = NULL')
    expect(await compare()).toMatchObject({ paid_without_charge: 1 })
  })

  it('that a node of the first release made, which wrote their reference into the ledger only, are no exception', async () => {
    const paid = await order(HOUR)
    const ref = newRef()
    gateway.nextCall(() => ({ kind: 'succeeded', providerRef: ref }))
    const key = newKey()
    await bench.refund(gateway, paid.orderId, { amountCents: 500 }, { key })
    await age(paid.orderId, HOUR, 30 * DAY)
    await bench.db.query(`UPDATE refunds SET created_at = clock_timestamp() - interval '1 hour', provider_ref = NULL`)
    const { id } = await bench.recordOf(key)
    entry(paid, HOUR)
    expect(await compare()).toMatchObject({ booked: 2, unconfirmed: 0, paid_without_charge: 1 })
    expect(await findings()).toMatchObject([{ kind: 'paid_without_charge', subject: ref, record_id: id }])
    expect(gateway.lookUps, 'the list tells').toEqual([])
  })
})

describe('a large window', () => {
  it('is compared page by page', async () => {
    const ids = Array.from({ length: 2600 }, () => ({ id: newId('idem'), ref: newRef() }))
    await bench.db.query(
      `WITH o AS (
         INSERT INTO orders (id, tenant_id, customer_id, currency, amount_cents, items, payment_method, created_at)
         SELECT 'ord_' || ref, 'ten_bench', 'cus_1', 'USD', 2500, '[]', 'pm_ok', clock_timestamp() - interval '1 hour'
         FROM unnest($1::text[]) ref RETURNING id)
       INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, amount_cents, currency, provider_ref, created_at)
       SELECT 'pay_' || ref, 'charge', 'succeeded', 'ten_bench', 'ord_' || ref, 2500, 'USD', ref,
         date_trunc('minute', clock_timestamp()) - interval '1 hour' FROM unnest($1::text[]) ref, (SELECT count(*) FROM o) c`,
      [ids.map(({ ref }) => ref)],
    )
    for (const of of ids) entry(of, HOUR)
    entries.splice(1300, 1)
    expect(await compare()).toEqual({ listed: 2599, booked: 2600, unconfirmed: 0, paid_without_charge: 1 })
  })

  it('is listed by the sandbox page by page, each entry once, also where many were booked in one moment', async () => {
    await bench.db.query(`
      INSERT INTO sandbox.charges
        (ref, provider_key, kind, status, order_id, customer_id, amount_cents, currency, booked_at)
      SELECT 'ch_' || i, 'key_' || i, 'charge', 'succeeded', 'ord', 'cus', 1, 'USD',
        date_trunc('hour', clock_timestamp()) - (i % 2) * interval '1 hour' - interval '1 hour'
      FROM generate_series(1, 2500) i`)
    const sandbox = createSandbox({ pool: bench.db, idempotent: true, timeLimitMs: 1000 })
    const refs: string[] = []
    const window = { from: new Date(Date.now() - DAY), to: new Date() }
    for await (const { ref } of sandbox.list(window)) refs.push(ref)
    expect(refs).toHaveLength(2500)
    expect(new Set(refs).size).toBe(2500)
  })
})
