import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Counted, openCounted, statusOf } from './counted'
import { orderOf } from './node'

let site: Counted
beforeAll(async () => {
  site = await openCounted()
})
beforeEach(() => site.newTenant())
afterAll(() => site.close())

describe('the metric counters', () => {
  it('count an unknown outcome when it is scheduled for lookup, retried, resolved and replayed', async () => {
    const sent = { key: randomUUID(), body: orderOf('pm_timeout_charged') }
    expect(await site.counted(async () => expect(await statusOf(site.order(sent))).toBe(504))).toEqual({
      reserve_created: 1,
      reconcile_scheduled: 1,
    })
    expect(await site.counted(async () => expect(await statusOf(site.order(sent))).toBe(409))).toEqual({
      reserve_unknown: 1,
    })
    expect(await site.counted(() => site.run('reconciler'))).toEqual({ reconcile_resolved: 1 })
    expect(await site.counted(() => site.run('reconciler'))).toEqual({})
    expect(await site.counted(async () => expect(await statusOf(site.order(sent))).toBe(201))).toEqual({
      reserve_replay: 1,
    })
  })

  it('count each failed lookup of an unknown outcome, and nothing after its dead letter', async () => {
    const sent = { key: randomUUID(), body: orderOf('pm_unreachable') }
    await site.order(sent)
    expect(await site.counted(() => site.run('reconciler'))).toEqual({ reconcile_failed: 1 })
    await site.sqlOf(
      `UPDATE idempotency_records SET reconcile_after = clock_timestamp() - interval '1 ms' WHERE key = $1`,
      sent.key,
    )
    expect(await site.counted(() => site.run('reconciler'))).toEqual({ reconcile_failed: 1 })
    const [row] = await site.sqlOf<{ dead: boolean }>(
      'SELECT dead_lettered_at IS NOT NULL AS dead FROM idempotency_records WHERE key = $1',
      sent.key,
    )
    expect(row!.dead).toBe(true)
    expect(await site.counted(() => site.run('reconciler'))).toEqual({})
  })

  it('count an expired lease as a zombie, and the stale owner’s result as late and resolved', async () => {
    const sent = { key: randomUUID(), body: orderOf() }
    const held = site.holdAt('called')
    const first = site.order(sent)
    await held.reached
    await site.sqlOf(
      `UPDATE idempotency_records SET locked_until = clock_timestamp() - interval '1 ms' WHERE key = $1`,
      sent.key,
    )
    expect(await site.counted(() => site.run('sweeper'))).toEqual({ zombie_key: 1, reconcile_scheduled: 1 })
    expect(await site.counted(() => site.run('sweeper'))).toEqual({})
    const learned = await site.counted(async () => {
      held.open()
      expect(await statusOf(first)).toBe(201)
    })
    // answered as a duplicate is
    expect(learned).toEqual({ late_result: 1, reconcile_resolved: 1, reserve_replay: 1 })
  })

  it('count a zombie also when the next request finds the expired lease', async () => {
    const sent = { key: randomUUID(), body: orderOf() }
    const held = site.holdAt('calling')
    const first = site.order(sent)
    await held.reached
    await site.sqlOf(
      `UPDATE idempotency_records SET locked_until = clock_timestamp() - interval '1 ms' WHERE key = $1`,
      sent.key,
    )
    held.letOthersPass()
    expect(await site.counted(async () => expect(await statusOf(site.order(sent))).toBe(409))).toEqual({
      zombie_key: 1,
      reconcile_scheduled: 1,
      reserve_unknown: 1,
    })
    held.open()
    await first
  })
})

describe('the reaper', () => {
  it('counts the tombstones that it deletes, by tenant and endpoint', async () => {
    for (let i = 0; i < 3; i++) await site.order({ body: orderOf() })
    await site.sqlOf(
      `UPDATE idempotency_records SET expires_at = clock_timestamp() - interval '1 ms' WHERE tenant_id = $1`,
      site.tenant.id,
    )
    expect(await site.counted(() => site.run('reaper'))).toEqual({})
    await site.sqlOf(
      `UPDATE idempotency_records SET expired_at = clock_timestamp() - interval '1 year' WHERE tenant_id = $1`,
      site.tenant.id,
    )
    expect(await site.counted(() => site.run('reaper'))).toEqual({ ttl_pruned: 3 })
    expect(await site.counted(() => site.run('reaper'))).toEqual({})
  })
})
