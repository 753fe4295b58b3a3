// Every pair of actors that can meet on a record that nobody owns: reconciler, second reconciler, webhook, client retry,
// reaper. However they meet: one charge, one booking, the right answer. (To the others a second reconciler is the first
// one; it is met by the first. The operator is met in resolve-races.db.test.ts.)
import { describe, expect, it } from 'vitest'
import { isSettle } from '../support/boundary'
import { heldBefore, isClaim, isRelease, LOST, REFUSED } from './meeting'
import { count, failedRetryable, meeting, one, ownerInCall, reconcilerInLookUp, unknown, webhookUnderWay } from './pair'

describe('reconciler and second reconciler', () => {
  it('two reconcilers that look the charge up at the same time settle the record once', async () => {
    await unknown()
    const [first, second] = [await reconcilerInLookUp(), await reconcilerInLookUp()]
    const both = await Promise.all([first.comesBack(), second.comesBack()])
    expect(both.map((outcome) => outcome?.settled).sort()).toEqual([false, true])
    expect(await count('settled')).toBe(1)
    await one.expectOneCharge()
  })

  it('two reconciler runs at the same time send one lookup', async () => {
    await unknown()
    const runs = await Promise.all([one.reconcileDue(), one.reconcileDue()])
    expect(runs.map(({ lookUps = 0 }) => lookUps).sort()).toEqual([0, 1])
    expect(one.provider.lookUps).toBe(1)
    await one.expectOneCharge()
  })

  it('a late lookup that found the charge corrects the other reconciler’s wrong release', async () => {
    await unknown()
    await one.pastSettleWindow()
    const first = await reconcilerInLookUp()
    one.provider.answerLookUpWith({ kind: 'not_found' })
    expect(await one.reconcile()).toMatchObject({ state: 'failed_retryable', settled: true })
    expect(await first.comesBack()).toMatchObject({ verdict: 'succeeded', settled: false })
    await one.expectOneCharge()
  })
})

describe('reconciler and webhook', () => {
  it('after the webhook has settled, a reconciler that found no charge does not release the record', async () => {
    await unknown()
    await one.pastSettleWindow()
    one.provider.answerLookUpWith({ kind: 'not_found' })
    const reconciler = await reconcilerInLookUp()
    expect(await one.webhook()).toBe('settled')
    expect(await reconciler.comesBack()).toMatchObject({ verdict: 'not_found', settled: false })
    await one.expectOneCharge()
  })

  it('when a release waits for the webhook’s commit, the reconciler settles with the webhook’s evidence', async () => {
    await unknown()
    await one.pastSettleWindow()
    one.provider.answerLookUpWith({ kind: 'not_found' })
    const { store, held } = heldBefore(meeting.bench.store, isRelease)
    const reconciling = one.reconcile(store)
    await held.reached
    const commit = await webhookUnderWay()
    held.open()
    await meeting.bench.untilBlocked(1)
    await commit()
    expect(await reconciling).toMatchObject({ state: 'completed' })
    await one.expectOneCharge()
  })

  it('after the reconciler has wrongly released the record, the webhook settles it', async () => {
    await failedRetryable()
    expect(await one.webhook()).toBe('settled')
    await one.expectOneCharge()
  })

  it('when both found the charge, the webhook settles and the reconciler changes nothing', async () => {
    await unknown()
    const reconciler = await reconcilerInLookUp()
    expect(await one.webhook()).toBe('settled')
    expect(await reconciler.comesBack()).toMatchObject({ verdict: 'succeeded', settled: false })
    await one.expectOneCharge()
  })
})

describe('reconciler and client retry', () => {
  it('a retry gets “unknown” and runs nothing while the reconciler looks the charge up', async () => {
    await unknown()
    const reconciler = await reconcilerInLookUp()
    expect(await one.told()).toBe('unknown')
    expect(await reconciler.comesBack()).toMatchObject({ state: 'completed' })
    expect(one.provider.calls).toBe(1)
    await one.expectOneCharge()
  })

  it('after the charge is proven not executed, exactly one of three retries runs it again', async () => {
    one.provider.answerCallWith(LOST, { arrives: false })
    await one.told()
    await one.pastSettleWindow()
    const { store, held } = heldBefore(meeting.bench.store, isRelease)
    const reconciling = one.reconcile(store)
    await held.reached
    expect(await one.told()).toBe('unknown')
    held.open()
    expect(await reconciling).toMatchObject({ verdict: 'not_found', state: 'failed_retryable' })
    const retries = await Promise.all([one.told(), one.told(), one.told()])
    expect(retries.filter((told) => told === '201')).toHaveLength(1)
    await one.expectOneCharge()
  })

  it('a reconciler with a stale result does not change the attempt that a retry has begun', async () => {
    one.provider.answerCallWith(LOST, { arrives: false })
    await one.told()
    await one.pastSettleWindow()
    one.provider.answerLookUpWith({ kind: 'not_found' })
    const late = await reconcilerInLookUp()
    expect(await one.reconcile()).toMatchObject({ state: 'failed_retryable' })
    const retry = await ownerInCall()
    expect(await late.comesBack()).toMatchObject({ verdict: 'not_found', settled: false })
    expect(await one.record()).toMatchObject({ state: 'in_progress', attempt: 2 })
    expect(await retry.comesBack()).toBe('201')
    await one.expectOneCharge()
  })
})

describe('reconciler and reaper', () => {
  it('a record of unknown outcome does not expire, and once settled has its full retention', async () => {
    await unknown()
    await meeting.bench.endRetention(one.key)
    const reconciler = await reconcilerInLookUp()
    await one.reap()
    expect(await one.state()).toBe('unknown')
    await reconciler.comesBack()
    await one.reap()
    await one.expectOneCharge()
  })
})

describe('webhook and client retry', () => {
  it('when the webhook is first, the retry’s claim waits and is refused, and the retry gets the response', async () => {
    await failedRetryable()
    const commit = await webhookUnderWay()
    const retry = one.told()
    await meeting.bench.untilBlocked(1)
    await commit()
    expect(await retry).toBe('201 replayed')
    expect(one.provider.calls).toBe(1)
    await one.expectOneCharge()
  })

  it('when the claim is first, the attempt finds the webhook’s evidence before it calls the provider', async () => {
    await failedRetryable()
    one.provider.answerLookUpWith({ kind: 'not_found' })
    const asked = one.provider.hold('asked')
    const retry = one.told()
    await asked.reached
    expect(await one.webhook()).toBe('kept')
    asked.open()
    expect(await retry).toBe('201')
    expect(one.provider.calls).toBe(1)
    await one.expectOneCharge()
  })

  it('when both settle with the same evidence at the same time, the record is settled once', async () => {
    await failedRetryable()
    const { store, held } = heldBefore(meeting.bench.store, isSettle)
    const webhook = one.webhook({ store })
    await held.reached
    expect(await one.told()).toBe('201 replayed')
    held.open()
    expect(await webhook).toBe('kept')
    expect(await count('settled')).toBe(1)
    await one.expectOneCharge()
  })
})

describe('webhook and reaper', () => {
  it('when the webhook is first, the reaper does not expire the key', async () => {
    await failedRetryable()
    await meeting.bench.endRetention(one.key)
    const commit = await webhookUnderWay()
    await one.reap()
    await commit()
    await one.reap()
    expect(await one.state()).toBe('failed_retryable')
    expect(await one.webhook()).toBe('settled')
    await one.expectOneCharge()
  })

  it('when the reaper is first, the webhook does not revive the tombstone, and a discrepancy is filed', async () => {
    await failedRetryable()
    await meeting.bench.endRetention(one.key)
    await one.reap()
    expect(await one.webhook()).toBe('kept')
    expect(await one.state()).toBe('expired')
    expect(await one.told()).toBe('expired')
    expect(await one.charges()).toHaveLength(1)
    expect(await one.discrepancies()).toMatchObject([{ kind: 'contradicting_evidence' }])
  })

  it('a webhook for a tombstone that is being deleted files no discrepancy for a charge in the ledger', async () => {
    await one.told()
    const id = await one.idOf()
    await meeting.bench.endRetention(one.key)
    await one.reap()
    const reaping = await meeting.bench.transaction()
    await reaping.query('DELETE FROM idempotency_records WHERE id = $1', [id])
    const webhook = one.webhook()
    await meeting.bench.untilBlocked(1)
    await reaping.query('COMMIT')
    reaping.release()
    expect(await webhook).toBe('record_gone')
    expect(await meeting.bench.rows('SELECT 1 FROM discrepancies WHERE record_id = $1', [id])).toEqual([])
    expect(await one.charges()).toHaveLength(1)
  })
})

describe('client retry and reaper', () => {
  async function notExecuted(): Promise<void> {
    one.provider.answerCallWith(REFUSED, { arrives: false })
    expect(await one.told()).toBe('not_executed')
  }

  it('when the reaper is first, the claim is refused, nothing is charged, and the client gets “expired”', async () => {
    await notExecuted()
    const { store, held } = heldBefore(meeting.bench.store, isClaim)
    const retry = one.told({ boundary: { ...meeting.bench.boundary, store } })
    await held.reached
    await meeting.bench.endRetention(one.key)
    await one.reap()
    held.open()
    expect(await retry).toBe('expired')
    expect(await one.charges()).toEqual([])
  })

  it('when the key expires before the claim, the claim is refused even before the reaper runs', async () => {
    await notExecuted()
    const { store, held } = heldBefore(meeting.bench.store, isClaim)
    const retry = one.told({ boundary: { ...meeting.bench.boundary, store } })
    await held.reached
    await meeting.bench.endRetention(one.key)
    held.open()
    expect(await retry).toBe('expired')
    expect(await one.charges()).toEqual([])
  })

  it('when the claim is first, the reaper does not touch the running attempt', async () => {
    await notExecuted()
    const retry = await ownerInCall()
    await meeting.bench.endRetention(one.key)
    await one.reap()
    expect(await retry.comesBack()).toBe('201')
    await one.expectOneCharge()
  })
})
