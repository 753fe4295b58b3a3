// What is compared of the two lists, and when: each finding once however often it runs, nothing that only lies across an
// edge of the window, and no more in memory than a page.
import { beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../lib/db/id'
import { providerKeyOf } from '../../lib/idempotency/record'
import { progressOf } from '../../lib/maintenance/daemon'
import { startRun } from '../../lib/maintenance/runs'
import { everythingCreated, type LookUpRequest } from '../../lib/payments/gateway'
import { createSandbox } from '../../lib/payments/sandbox'
import { found, newRef } from '../support/boundary'
import {
  age,
  asked,
  type Booked,
  bench,
  compare,
  comparison,
  DAY,
  entries,
  entry,
  findings,
  gateway,
  HOUR,
  MINUTE,
  order,
  remove,
  WINDOW_END,
} from './two-books'

describe('a ledger comparison', () => {
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

  it('that is repeated files no discrepancy twice, whether it is open or closed', async () => {
    await oneOfEach()
    expect(await compare()).toMatchObject(FOUND)
    await bench.db.query(`UPDATE discrepancies SET closed_at = clock_timestamp() WHERE kind = 'amount_differs'`)
    const before = await bench.rows('SELECT * FROM discrepancies ORDER BY id')
    await again()
    expect(await compare()).toEqual({ listed: 3, booked: 2, unconfirmed: 0 })
    expect(await bench.rows('SELECT * FROM discrepancies ORDER BY id')).toEqual(before)
  })

  it('by two nodes at once files each discrepancy once', async () => {
    await oneOfEach()
    const [first, second] = await Promise.all([compare(), compare()])
    for (const kind of Object.keys(FOUND)) expect((first[kind] ?? 0) + (second[kind] ?? 0)).toBe(1)
    expect(await findings()).toHaveLength(5)
  })

  it('as a dry run counts the discrepancies that a real run files, and changes nothing', async () => {
    await oneOfEach()
    expect(await compare({ dryRun: true })).toMatchObject(FOUND)
    expect(await findings()).toEqual([])
    expect(await bench.rows('SELECT 1 FROM schedules')).toEqual([])
    expect(await compare()).toMatchObject(FOUND)
    await again()
    expect(await compare({ dryRun: true })).toEqual({ listed: 3, booked: 2, unconfirmed: 0 })
  })

  it('is recorded as a run with its counts', async () => {
    await oneOfEach()
    const request = { dryRun: false, scheduled: false, requestedBy: 'test', reason: null }
    const { ended } = await startRun(bench.store, comparison(), request)
    expect(await ended).toMatchObject({ kind: 'ledger', state: 'succeeded', done: 5, counts: FOUND })
  })
})

describe('the window of the ledger comparison', () => {
  const covered = async () =>
    (await bench.rows<{ at: Date }>(`SELECT covered_until AS at FROM schedules WHERE kind = 'ledger'`))[0]?.at
  const near = (at: Date | undefined, agoMs: number) =>
    expect(Math.abs(Date.now() - agoMs - at!.getTime())).toBeLessThan(5000)

  it('is seven days at first, then starts a margin before the end of the last one', async () => {
    await compare()
    near(asked[0]!.from, 7 * DAY + 10 * MINUTE)
    near(asked[0]!.to, WINDOW_END - 5 * MINUTE)
    near(await covered(), WINDOW_END)
    await compare()
    near(asked[1]!.from, WINDOW_END + 15 * MINUTE)
    near(await covered(), WINDOW_END)
  })

  it('does not advance when the provider’s list breaks off or the run is stopped', async () => {
    entry(await order(HOUR), HOUR)
    const whole = gateway.listCreated
    gateway.listCreated = async (window, cursor) => {
      if (cursor) throw new Error('the provider is away')
      return { ...(await whole(window, null)), next: 'page 2' }
    }
    await expect(compare()).rejects.toThrow('the provider is away')
    expect(await covered()).toBeUndefined()
    gateway.listCreated = whole
    for await (const _ of progressOf(comparison(), { dryRun: false })) break
    expect(await covered()).toBeUndefined()
    expect(await findings()).toEqual([])
  })

  it('leaves out entries that are younger than lease and settle window', async () => {
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
  ])('files no discrepancy for a matching pair across its edge: %s', async (_, bookedAgo, madeAgo) => {
    await coveredAnHourAgo()
    const paid = await order(bookedAgo)
    await age(paid.orderId, bookedAgo, Math.max(bookedAgo, madeAgo))
    entry(paid, madeAgo)
    await compare()
    expect(await findings()).toEqual([])
  })

  describe('with a charge whose record was settled days after its reservation', () => {
    let late: Booked
    beforeEach(async () => {
      await coveredAnHourAgo()
      late = await order(30 * MINUTE)
      await age(late.orderId, 30 * MINUTE, 5 * DAY)
      entry(late, 5 * DAY)
    })

    it('looks the charge up by its key instead of in the provider’s list', async () => {
      gateway.nextLookUp(() => found(late.ref))
      expect(await compare()).toEqual({ listed: 0, booked: 1, unconfirmed: 0 })
      expect(gateway.lookUps).toMatchObject([
        { kind: 'charge', providerKey: providerKeyOf(late.id) } satisfies Partial<LookUpRequest>,
      ])
      expect(await findings()).toEqual([])
    })

    it.each([
      ['amount_differs', { amountCents: 1 }],
      ['currency_differs', { currency: 'JPY' }],
    ])('finds that the %s where the provider has it so', async (kind, other) => {
      gateway.nextLookUp(() => found(late.ref, other))
      expect(await compare()).toMatchObject({ booked: 1, [kind]: 1 })
    })

    it('files a discrepancy when the provider has no such charge', async () => {
      expect(await compare()).toMatchObject({ paid_without_charge: 1 })
    })

    it('files no discrepancy when the provider is unreachable', async () => {
      gateway.nextLookUp(() => ({ kind: 'unreachable', code: 'timeout' }))
      expect(await compare()).toEqual({ listed: 0, booked: 1, unconfirmed: 1 })
      expect(await findings()).toEqual([])
    })

    it('looks the charge up even when its record is deleted', async () => {
      await remove(late.key)
      expect(await compare()).toEqual({ listed: 0, booked: 1, unconfirmed: 0, paid_without_charge: 1 })
      expect(gateway.lookUps).toHaveLength(1)
    })

    it('counts the charge as unconfirmed when an earlier release has deleted its record id', async () => {
      await remove(late.key)
      await bench.rows('ALTER TABLE ledger_entries DISABLE TRIGGER ledger_entries_update')
      await bench.rows('UPDATE ledger_entries SET record_id = NULL')
      await bench.rows('ALTER TABLE ledger_entries ENABLE TRIGGER ledger_entries_update')
      expect(await compare()).toEqual({ listed: 0, booked: 1, unconfirmed: 1 })
      expect(gateway.lookUps).toEqual([])
    })
  })
})

describe('a large window of the ledger comparison', () => {
  it('with 2600 charges is compared page by page, and the missing one is found', async () => {
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

  it('is listed by the sandbox page by page, each entry once, even with equal booking times', async () => {
    await bench.db.query(`
      INSERT INTO sandbox.charges
        (ref, provider_key, kind, status, order_id, customer_id, amount_cents, currency, booked_at)
      SELECT 'ch_' || i, 'key_' || i, 'charge', 'succeeded', 'ord', 'cus', 1, 'USD',
        date_trunc('hour', clock_timestamp()) - (i % 2) * interval '1 hour' - interval '1 hour'
      FROM generate_series(1, 2500) i`)
    const sandbox = createSandbox({ pool: bench.db, idempotent: true, timeLimitMs: 1000 })
    const refs: string[] = []
    const window = { from: new Date(Date.now() - DAY), to: new Date() }
    for await (const { ref } of everythingCreated(sandbox, window)) refs.push(ref)
    expect(refs).toHaveLength(2500)
    expect(new Set(refs).size).toBe(2500)
  })
})
