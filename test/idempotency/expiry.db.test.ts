// A key that has run out is a 410 from that instant on, reaper or not; what may have happened never runs out.
import { describe, expect, it } from 'vitest'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { barrier, charged, claimOf, orderOf, refused, timedOut, toldBy } from '../support/boundary'
import { move } from '../support/rows'
import { bench, body, gateway, key, place } from './one-key'

describe('a key past its retention', () => {
  it('that is completed is answered as expired, with its resource and status', async () => {
    await place()
    await bench.endRetention(key)
    const { resource_id } = await bench.recordOf(key)
    const outcome = await place()
    expect(outcome).toMatchObject({
      kind: 'expired',
      record: { responseStatus: 201, resource: { type: 'order', id: resource_id } },
    })
    expect((await bench.recordOf(key)).state).toBe('completed')
    expect(gateway.calls).toHaveLength(1)
  })

  it('that is failed_retryable is answered as expired and not run again', async () => {
    gateway.nextCall(refused)
    await place()
    await bench.endRetention(key)
    expect(await place()).toMatchObject({ kind: 'expired', record: { responseStatus: null } })
    expect(gateway.calls).toHaveLength(1)
  })

  it('is not claimed by a request that read it before it expired', async () => {
    gateway.nextCall(refused)
    await place()
    const record = await bench.recordOf(key)
    await bench.endRetention(key)
    expect(await claimOf(bench, record)).toBeNull()
  })

  it('whose outcome is unknown stays unknown', async () => {
    gateway.nextCall(timedOut)
    await place()
    await bench.endRetention(key)
    expect(toldBy(await place())).toBe('unknown')
  })

  it('whose unknown outcome is settled late is replayed for a full retention from then on', async () => {
    gateway.nextCall(timedOut)
    await place()
    await bench.endRetention(key)
    const { id } = await bench.recordOf(key)
    const executed = { kind: 'succeeded', ref: `ch_${key}` } as const
    await recordEvidence(
      { store: bench.store },
      { recordId: id, source: 'webhook', sourceId: `evt_${key}`, attempt: 1, executed },
    )
    expect(toldBy(await place())).toBe('201 replayed')
    const { expires_at, completed_at } = await bench.recordOf(key)
    expect(expires_at.getTime() - completed_at!.getTime()).toBe(24 * 3_600_000)
  })

  it('that is still running is answered as in progress', async () => {
    const call = barrier()
    gateway.nextCall(async () => {
      await call.pass()
      return charged()
    })
    const owner = place()
    await call.reached
    await bench.endRetention(key)
    expect(toldBy(await place())).toBe('in_progress')
    call.open()
    await owner
    expect(toldBy(await place())).toBe('201 replayed')
  })

  it('that is a tombstone is answered as expired, with the status that it had', async () => {
    await place()
    await move(bench.db, (await bench.recordOf(key)).id, 'expired')
    expect(await place()).toMatchObject({ kind: 'expired', record: { state: 'expired', responseStatus: 201 } })
    expect(gateway.calls).toHaveLength(1)
  })

  it('is still answered as misuse when it is sent with another body', async () => {
    await place()
    await bench.endRetention(key)
    const other = bench.place(gateway, orderOf(), { key })
    expect(toldBy(await other)).toBe('misuse')
  })
})

describe('retention', () => {
  const retentionOf = async () => {
    const { expires_at, completed_at } = await bench.recordOf(key)
    return (expires_at.getTime() - completed_at!.getTime()) / 3_600_000
  }

  it('is the tenant’s, where it has one', async () => {
    await bench.ask({ ...bench.placeOrder(gateway), retentionHours: 2 }, body, { key, retentionHours: 0.5 })
    expect(await retentionOf()).toBe(0.5)
  })

  it('is the endpoint’s, where the tenant has none', async () => {
    await bench.ask({ ...bench.placeOrder(gateway), retentionHours: 2 }, body, { key })
    expect(await retentionOf()).toBe(2)
  })

  it('is the node’s, where neither has one', async () => {
    await place()
    expect(await retentionOf()).toBe(24)
  })

  it('starts again at the end of each attempt', async () => {
    gateway.nextCall(refused)
    await place()
    const soon = `UPDATE idempotency_records SET expires_at = clock_timestamp() + interval '1 min' WHERE key = $1`
    await bench.db.query(soon, [key])
    gateway.nextCall(refused)
    await place()
    expect((await bench.recordOf(key)).expires_at.getTime()).toBeGreaterThan(Date.now() + 23 * 3_600_000)
    await bench.db.query(soon, [key])
    await place()
    expect(await retentionOf()).toBe(24)
  })
})
