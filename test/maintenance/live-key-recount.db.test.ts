// The live-key counters are counted anew: what a killed node lost is corrected, and a right counter is never changed.

import sql from 'sql-template-tag'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expire } from '../../lib/idempotency/store/expire'
import { runOnce } from '../../lib/maintenance/daemon'
import { type Recount, recountLiveKeys } from '../../lib/maintenance/live-key-recount'
import { RUN_OUT, reaper } from '../../lib/maintenance/reaper'
import { openLimits } from '../../lib/tenants/limits'
import { type Bench, before, newKey, openBench, orderOf, scriptedGateway, TENANT } from '../support/boundary'

let bench: Bench
const gateway = scriptedGateway()

beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(async () => {
  await bench.rows(`TRUNCATE idempotency_records, orders, refunds, ledger_entries, evidence, tenant_live_keys, tenant_usage,
    live_key_recounts, live_key_tallies CASCADE`)
})

const TODAY: Recount = { tombstoneHours: 168, pause: async () => {} }
const recount = (changes: Partial<Recount> = {}, store = bench.store) =>
  recountLiveKeys(store, { ...TODAY, ...changes })

async function records(count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, newKey)
  for (const key of keys) await bench.place(gateway, orderOf(), { key })
  return keys
}
const now = async () => (await bench.rows<{ now: Date }>('SELECT clock_timestamp() AS now'))[0]!.now
/** A recount that counts for this instant: what was created until then is as old as it has to be. */
async function begun(asOf?: Date): Promise<void> {
  await recount({ mostSlices: 0 })
  await bench.rows('UPDATE live_key_recounts SET as_of = $1', [asOf ?? (await now())])
}
const setCount = (count: number) =>
  bench.rows(
    'INSERT INTO tenant_live_keys VALUES ($1, $2) ON CONFLICT (tenant_id) DO UPDATE SET count = excluded.count',
    [TENANT, count],
  )
const countNow = async () => {
  const [row] = await bench.rows<{ count: number }>('SELECT count::int FROM tenant_live_keys WHERE tenant_id = $1', [
    TENANT,
  ])
  return row?.count ?? null
}
const reap = () => runOnce(reaper(bench.store, { tombstoneHours: 168, operations: new Map() }))

describe('the recount of live keys', () => {
  it.each([
    ['too few, since a node was killed with keys that it had not added', 2],
    ['too many', 900],
  ])('corrects a counter that has %s', async (_, count) => {
    await records(5)
    await setCount(count)
    await begun()
    expect(await recount()).toEqual({ corrected: 1 })
    expect(await countNow()).toBe(5)
    await begun()
    expect(await recount()).toEqual({ corrected: 0 })
  })

  it('makes the counter of a tenant that has none', async () => {
    await records(3)
    await begun()
    expect(await recount()).toEqual({ corrected: 1 })
    expect(await countNow()).toBe(3)
  })

  it('leaves a right counter as it is while keys are created, added and expired', async () => {
    const limits = openLimits(bench.store)
    const tenant = { id: TENANT, newKeysPerMinute: 1000, liveKeyCap: 1000 } as Parameters<typeof limits.admit>[0]
    const create = async (count: number) => {
      const keys = await records(count)
      for (const _ of keys) {
        await limits.admit(tenant)
        limits.end(tenant, true)
      }
      return keys
    }
    const [oldest] = await create(6)
    await limits.close()
    const asOf = await now()
    // Times are stored in milliseconds: what comes next is not to share one with asOf.
    await bench.rows('SELECT pg_sleep(0.002)')
    // not added yet when the recount begins
    await create(2)
    await begun(asOf)
    await limits.close()
    await recount({ slice: 2, mostSlices: 1 })
    await bench.endRetention(oldest!)
    await reap()
    expect(await bench.rows('SELECT 1 FROM live_key_recounts')).toEqual([])
    expect(await countNow()).toBe(7)
  })

  it('counts keys that expire after it began as live, whether it has passed them or not', async () => {
    const keys = await records(6)
    await setCount(8)
    await begun()
    await recount({ slice: 2, mostSlices: 1 })
    for (const key of [keys[0]!, keys[5]!]) await bench.endRetention(key)
    const due = sql`SELECT r.id, r.state FROM idempotency_records r WHERE ${RUN_OUT} FOR UPDATE`
    expect(await expire({ store: bench.store }, { due, by: 'test', operations: new Map() })).toHaveLength(2)
    expect(await countNow()).toBe(6)
    expect(await recount({ slice: 2 })).toEqual({ corrected: 1 })
    expect(await countNow()).toBe(4)
  })

  it('reads no more than its slices in one run, and goes on in the next one', async () => {
    await records(5)
    await setCount(1)
    await begun()
    expect(await recount({ slice: 2, mostSlices: 2 })).toBeNull()
    expect(await countNow()).toBe(1)
    expect(await recount({ slice: 2, mostSlices: 2 })).toEqual({ corrected: 1 })
    expect(await countNow()).toBe(5)
  })

  it('tallies each slice once when two nodes read it at the same time', async () => {
    await records(4)
    await setCount(1)
    await begun()
    const rival = () => recount({ slice: 2, mostSlices: 1 })
    const store = before(bench.store, ({ text }) => text.includes('was_live'), rival)
    await recount({ slice: 2 }, store)
    expect(await countNow()).toBe(4)
  })

  it('changes nothing when it took longer than tombstones stand, and begins again', async () => {
    await records(4)
    await setCount(1)
    await begun()
    await bench.rows(`UPDATE live_key_recounts SET as_of = as_of - interval '2 hours'`)
    await recount({ mostSlices: 0 })
    expect(await recount({ tombstoneHours: 1 })).toEqual({ corrected: 0 })
    expect(await countNow()).toBe(1)
    expect(await bench.rows('SELECT 1 FROM live_key_recounts')).toEqual([])
  })

  it('is part of the reaper’s run', async () => {
    await records(2)
    await setCount(9)
    await begun()
    expect(await reap()).toEqual({ liveKeyCountsCorrected: 1 })
    expect(await countNow()).toBe(2)
  })
})
