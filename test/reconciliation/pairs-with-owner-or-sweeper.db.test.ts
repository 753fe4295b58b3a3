// Every pair of actors that can meet on one record, of which one is its owner or the sweeper. However they meet: one
// charge, one booking, the right answer. The other pairs are in pairs-without-owner.db.test.ts.
import { describe, expect, it } from 'vitest'
import { endLeases } from '../../lib/idempotency/store/end-lease'
import { accepted, isSettle, storeOn, toldBy } from '../support/boundary'
import { heldBefore, LOST } from './meeting'
import { count, meeting, one, ownerInCall, reconcilerInLookUp, webhookUnderWay } from './pair'

describe('owner and sweeper', () => {
  it('a stale owner settles the record that the sweeper left unknown', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    expect(await one.sweep()).toMatchObject({ leasesOver: 1, unknown: 1 })
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('the sweeper skips a record that the owner is settling', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    const settling = await meeting.bench.transaction()
    await settling.query('SELECT 1 FROM idempotency_records WHERE key = $1 FOR UPDATE', [one.key])
    expect(await one.sweep()).toEqual({})
    await settling.query('COMMIT')
    settling.release()
    expect(await owner.comesBack()).toBe('201')
    expect(await one.sweep()).toEqual({})
    await one.expectOneCharge()
  })
})

describe('owner and reconciler', () => {
  it('if the reconciler settles first, the stale owner answers as a duplicate', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    await one.sweep()
    expect(await one.reconcile()).toMatchObject({ verdict: 'succeeded', settled: true, state: 'completed' })
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('if the stale owner settles first, the reconciler finds the same charge and settles nothing', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    await one.sweep()
    const reconciler = await reconcilerInLookUp()
    expect(await owner.comesBack()).toBe('201 replayed')
    expect(await reconciler.comesBack()).toMatchObject({ verdict: 'succeeded', settled: false })
    expect(await count('settled')).toBe(1)
    await one.expectOneCharge()
  })

  it('the reconciler reports on a record that its owner holds, and changes nothing', async () => {
    const owner = await ownerInCall()
    const before = await one.record()
    expect(await one.reconcile()).toMatchObject({ verdict: 'succeeded', state: 'in_progress', settled: false })
    expect(await one.record()).toEqual(before)
    expect(await owner.comesBack()).toBe('201')
    await one.expectOneCharge()
  })
})

describe('owner and webhook', () => {
  it('a webhook during the provider call is stored, and the owner settles the same charge', async () => {
    const owner = await ownerInCall()
    expect(await one.webhook()).toBe('kept')
    expect(await owner.comesBack()).toBe('201')
    await one.expectOneCharge()
  })

  it('a stored webhook settles the record if the provider’s answer to the owner is lost', async () => {
    one.provider.answerCallWith(LOST)
    const owner = await ownerInCall()
    expect(await one.webhook()).toBe('kept')
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('a webhook before the owner’s settlement is stored, and the charge is booked once', async () => {
    const { store, held } = heldBefore(meeting.bench.store, isSettle)
    const owner = one.request({ boundary: { ...meeting.bench.boundary, store } })
    await held.reached
    expect(await one.webhook()).toBe('kept')
    held.open()
    expect(toldBy(await owner)).toBe('201')
    await one.expectOneCharge()
  })
})

describe('owner and client retry', () => {
  it('a retry gets in_progress, then unknown, until the stale owner settles the record', async () => {
    const owner = await ownerInCall()
    expect(await one.told()).toBe('in_progress')
    await meeting.bench.endLease(one.key)
    expect(await one.told()).toBe('unknown')
    expect(await owner.comesBack()).toBe('201 replayed')
    expect(one.provider.calls).toBe(1)
    await one.expectOneCharge()
  })
})

describe('owner and reaper', () => {
  it('the reaper leaves an in_progress record alone, even past its retention', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endRetention(one.key)
    await one.reap()
    expect(await one.state()).toBe('in_progress')
    expect(await owner.comesBack()).toBe('201')
    await one.reap()
    await one.expectOneCharge()
  })
})

describe('sweeper and reconciler', () => {
  it('if the reconciler uses the evidence before the sweeper does, the record is settled once', async () => {
    const owner = await ownerInCall()
    await one.webhook()
    await meeting.bench.endLease(one.key)
    const { store, held } = heldBefore(meeting.bench.store, isSettle)
    const sweeping = one.sweep({ store })
    await held.reached
    expect(await one.reconcileDue()).toMatchObject({ settled: 1 })
    held.open()
    expect(await sweeping).toMatchObject({ unknown: 1 })
    expect(await count('settled')).toBe(1)
    expect(one.provider.lookUps).toBe(0)
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('the reconciler skips a record that the sweeper is moving', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    const sweeping = await meeting.bench.transaction()
    await endLeases({ store: storeOn(sweeping) }, { limit: 10, by: 'sweeper' })
    expect(await one.reconcileDue()).toEqual({})
    await sweeping.query('COMMIT')
    sweeping.release()
    expect(await one.reconcileDue()).toMatchObject({ lookUps: 1, settled: 1 })
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })
})

describe('sweeper and webhook', () => {
  it('the sweeper skips a record whose webhook is being stored, and settles it in its next run', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    const commit = await webhookUnderWay()
    expect(await one.sweep()).toEqual({})
    await commit()
    expect(await one.sweep()).toMatchObject({ leasesOver: 1 })
    expect(await one.state()).toBe('completed')
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('the webhook waits for the sweeper, and settles the record that it left unknown', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    const sweeping = await meeting.bench.transaction()
    await endLeases({ store: storeOn(sweeping) }, { limit: 10, by: 'sweeper' })
    const webhook = one.webhook()
    await meeting.bench.untilBlocked(1)
    await sweeping.query('COMMIT')
    sweeping.release()
    expect(await webhook).toBe('settled')
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })
})

describe('sweeper and client retry', () => {
  it('only one of them moves a record with an expired lease, and neither calls the provider', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    const sweeping = await meeting.bench.transaction()
    await endLeases({ store: storeOn(sweeping) }, { limit: 10, by: 'sweeper' })
    const retry = one.told()
    await meeting.bench.untilBlocked(1)
    await sweeping.query('COMMIT')
    sweeping.release()
    expect(await retry).toBe('unknown')
    expect(await count('lease_over')).toBe(1)
    expect(one.provider.calls).toBe(1)
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })
})

describe('sweeper and reaper', () => {
  it('the sweeper abandons an accepted request past its time, and its 408 has full retention', async () => {
    await one.request(accepted)
    await meeting.bench.endRetention(one.key)
    const { store, held } = heldBefore(meeting.bench.store, isSettle)
    const sweeping = one.sweep({ store })
    await held.reached
    await one.reap()
    expect(await one.state()).toBe('pending')
    held.open()
    expect(await sweeping).toMatchObject({ abandoned: 1 })
    await one.reap()
    expect(await one.told()).toBe('408 replayed')
    expect(await one.charges()).toEqual([])
  })

  it('the reaper leaves a record alone that the sweeper moved to unknown', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    await meeting.bench.endRetention(one.key)
    await Promise.all([one.sweep(), one.reap()])
    await one.reap()
    expect(await one.state()).toBe('unknown')
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })
})
