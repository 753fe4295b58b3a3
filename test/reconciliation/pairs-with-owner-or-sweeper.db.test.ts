// Every pair of actors that can meet on one record, of which one is its owner or the sweeper. However they meet: one
// charge, one booking, the right answer. The other pairs are in pairs-without-owner.test.ts.
import { describe, expect, it } from 'vitest'
import type { Store } from '../../lib/db/store'
import { sweepLeases } from '../../lib/idempotency/sql/lease-over'
import { accepted, isSettle, storeOn, toldBy } from '../support/boundary'
import { heldBefore, LOST } from './meeting'
import { count, meeting, one, ownerInCall, reconcilerInLookUp, webhookUnderWay } from './pair'

describe('owner and sweeper', () => {
  it('a late owner settles what the sweeper left unknown', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    expect(await one.sweep()).toMatchObject({ leasesOver: 1, unknown: 1 })
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('the sweeper passes by what the owner is just settling', async () => {
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
  it('the reconciler found the charge first: the late owner agrees and answers as a duplicate', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    await one.sweep()
    expect(await one.reconcile()).toMatchObject({ verdict: 'succeeded', settled: true, state: 'completed' })
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('the late owner was first: what the reconciler found agrees', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    await one.sweep()
    const reconciler = await reconcilerInLookUp()
    expect(await owner.comesBack()).toBe('201 replayed')
    expect(await reconciler.comesBack()).toMatchObject({ verdict: 'succeeded', settled: false })
    expect(await count('settled')).toBe(1)
    await one.expectOneCharge()
  })

  it('on a record that its owner holds the reconciler reports and changes nothing', async () => {
    const owner = await ownerInCall()
    const before = await one.record()
    expect(await one.reconcile()).toMatchObject({ verdict: 'succeeded', state: 'in_progress', settled: false })
    expect(await one.record()).toEqual(before)
    expect(await owner.comesBack()).toBe('201')
    await one.expectOneCharge()
  })
})

describe('owner and webhook', () => {
  it('the webhook waits for the owner, who knows the same', async () => {
    const owner = await ownerInCall()
    expect(await one.webhook()).toBe('kept')
    expect(await owner.comesBack()).toBe('201')
    await one.expectOneCharge()
  })

  it('the webhook knows what the owner never learns', async () => {
    one.provider.answerCallWith(LOST)
    const owner = await ownerInCall()
    expect(await one.webhook()).toBe('kept')
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('the webhook comes while the owner’s settlement is not to be seen yet', async () => {
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
  it('the retry is told to wait, then that nobody knows; the late owner’s answer is the answer of all', async () => {
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
  it('the reaper leaves a running record alone, however old its key', async () => {
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
  it('the reconciler settles with the evidence that the sweeper was about to settle with', async () => {
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

  it('the reconciler takes nothing that the sweeper is just moving', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    const sweeping = await meeting.bench.transaction()
    await sweepLeases(storeOn(sweeping) as Store, { limit: 10, by: 'sweeper' })
    expect(await one.reconcileDue()).toEqual({})
    await sweeping.query('COMMIT')
    sweeping.release()
    expect(await one.reconcileDue()).toMatchObject({ lookUps: 1, settled: 1 })
    expect(await owner.comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })
})

describe('sweeper and webhook', () => {
  it('the sweeper passes by what a webhook is being kept for, and settles with it next time', async () => {
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

  it('the webhook waits for the sweeper, and settles what it left unknown', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    const sweeping = await meeting.bench.transaction()
    await sweepLeases(storeOn(sweeping) as Store, { limit: 10, by: 'sweeper' })
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
  it('one of them moves the record whose lease is over, and neither runs it again', async () => {
    const owner = await ownerInCall()
    await meeting.bench.endLease(one.key)
    const sweeping = await meeting.bench.transaction()
    await sweepLeases(storeOn(sweeping) as Store, { limit: 10, by: 'sweeper' })
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
  it('what nobody took up in time is the sweeper’s; its stored 408 has all of its retention ahead', async () => {
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

  it('the reaper leaves what the sweeper moved to unknown', async () => {
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
