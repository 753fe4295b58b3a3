// What a refund holds of its order, from the reservation until nothing can have happened any more; also where its charge
// turns up late.
import { describe, expect, it } from 'vitest'
import type { Db, Tx } from '../../lib/db/store'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { release } from '../../lib/idempotency/store/release'
import {
  accepted,
  answerOf,
  barrier,
  charged,
  declined,
  newKey,
  refused,
  scriptedGateway,
  timedOut,
  toldBy,
} from '../support/boundary'
import { bench, codeOf, ledgerOf, orderNow, refundsOf } from './one-order'

describe('the amount that a refund holds', () => {
  it('stays held while the refund’s outcome is unknown', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    gateway.nextCall(timedOut)
    expect(toldBy(await bench.refund(gateway, orderId, { amountCents: 800 }))).toBe('outcome_unknown')
    expect(await orderNow(orderId)).toEqual({ status: 'paid', refunded: 0, held: 800 })
    expect(codeOf(await bench.refund(gateway, orderId, { amountCents: 201 }))).toBe('refund_exceeds_order')
    expect(toldBy(await bench.refund(gateway, orderId, { amountCents: 200 }))).toBe('201')
    expect(await orderNow(orderId)).toEqual({ status: 'partially_refunded', refunded: 200, held: 800 })
  })

  it('is released when the refund is declined, and the decline is stored', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    gateway.nextCall(() => declined())
    const key = newKey()
    expect(toldBy(await bench.refund(gateway, orderId, {}, { key }))).toBe('402')
    expect(await orderNow(orderId)).toEqual({ status: 'paid', refunded: 0, held: 0 })
    expect(await refundsOf(orderId)).toEqual([{ status: 'declined', cents: 1000 }])
    expect(await ledgerOf(orderId)).toMatchObject([{ status: 'failed', cents: 1000 }])
    expect(toldBy(await bench.refund(gateway, orderId, {}, { key }))).toBe('402 replayed')
    expect(toldBy(await bench.refund(gateway, orderId, {}))).toBe('201')
  })

  it('is released when the refund is proven not executed, and held again by the next attempt', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    const call = barrier()
    gateway.nextCall(refused, async () => {
      await call.pass()
      return charged()
    })
    const key = newKey()
    expect(toldBy(await bench.refund(gateway, orderId, { amountCents: 600 }, { key }))).toBe('not_executed')
    expect(await orderNow(orderId)).toEqual({ status: 'paid', refunded: 0, held: 0 })
    expect(await refundsOf(orderId)).toEqual([{ status: 'released', cents: 600 }])
    const again = bench.refund(gateway, orderId, { amountCents: 600 }, { key })
    await call.reached
    expect(await orderNow(orderId)).toEqual({ status: 'paid', refunded: 0, held: 600 })
    call.open()
    expect(toldBy(await again)).toBe('201')
    expect(await orderNow(orderId)).toEqual({ status: 'partially_refunded', refunded: 600, held: 0 })
    expect(await refundsOf(orderId)).toEqual([{ status: 'succeeded', cents: 600 }])
  })

  it('may be refunded by another request before a retry, which then gets a stored refusal', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    gateway.nextCall(refused)
    const key = newKey()
    await bench.refund(gateway, orderId, { amountCents: 600 }, { key })
    expect(toldBy(await bench.refund(gateway, orderId, { amountCents: 500 }))).toBe('201')
    const again = await bench.refund(gateway, orderId, { amountCents: 600 }, { key })
    expect(codeOf(again)).toBe('refund_exceeds_order')
    expect(toldBy(await bench.refund(gateway, orderId, { amountCents: 600 }, { key }))).toBe('409 replayed')
    expect(await orderNow(orderId)).toEqual({ status: 'partially_refunded', refunded: 500, held: 0 })
    expect(gateway.calls).toHaveLength(2)
  })

  it('stays as fixed by the first attempt when the request names no amount', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    gateway.nextCall(() => charged(), refused)
    await bench.refund(gateway, orderId, { amountCents: 400 })
    const key = newKey()
    expect(toldBy(await bench.refund(gateway, orderId, {}, { key }))).toBe('not_executed')
    const again = await bench.refund(gateway, orderId, {}, { key })
    expect(JSON.parse(answerOf(again).body).amountCents).toBe(600)
    expect(gateway.calls.map(({ amountCents }) => amountCents)).toEqual([400, 600, 600])
  })

  it('is not reduced for a retry when less is left by then: the retry is refused', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    gateway.nextCall(refused)
    const key = newKey()
    await bench.refund(gateway, orderId, {}, { key })
    await bench.refund(gateway, orderId, { amountCents: 300 })
    expect(codeOf(await bench.refund(gateway, orderId, {}, { key }))).toBe('refund_exceeds_order')
    expect(await orderNow(orderId)).toEqual({ status: 'partially_refunded', refunded: 300, held: 0 })
  })

  it('is held once, from the 202 acceptance of the refund on', async () => {
    const { migrateJobs } = await import('../../lib/jobs/worker')
    const { runAcceptedJob } = await import('../../lib/jobs/run-accepted')
    await migrateJobs(bench.url)
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    const key = newKey()
    const call = barrier()
    gateway.nextCall(async () => {
      await call.pass()
      return charged()
    })
    const request = { amountCents: 400 }
    expect(toldBy(await bench.refund(gateway, orderId, request, { key, ...accepted }))).toBe('accepted')
    expect(await orderNow(orderId)).toMatchObject({ held: 400 })
    const operation = bench.refundOrder(gateway)
    const work = async () =>
      runAcceptedJob(bench.boundary, new Map([[operation.endpoint, operation]]), (await bench.recordOf(key)).id)
    const working = work()
    await call.reached
    expect(await orderNow(orderId)).toMatchObject({ held: 400 })
    call.open()
    await working
    expect(await orderNow(orderId)).toEqual({ status: 'partially_refunded', refunded: 400, held: 0 })
  })
})

describe('a refund whose evidence arrives late', () => {
  async function lateRefund(amountCents: number) {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    gateway.nextCall(timedOut)
    const key = newKey()
    await bench.refund(gateway, orderId, { amountCents }, { key })
    const { id: recordId, resource_id: refundId } = await bench.recordOf(key)
    const operation = bench.refundOrder(gateway)
    const giveBack = async (tx: Tx) =>
      operation.external.release?.(tx, { resource: { type: 'refund', id: refundId } } as never)
    return {
      orderId,
      key,
      retry: (asking = {}) => bench.refund(gateway, orderId, { amountCents }, { key, ...asking }),
      provenNotExecuted: (store: Db = bench.store) =>
        release(
          { store },
          {
            recordId,
            from: 'unknown',
            attempt: 1,
            code: 'not_found',
            giveBack,
            event: { event: 'released', by: 'reconciler' },
          },
        ),
      told: () =>
        recordEvidence(
          { store: bench.store },
          {
            recordId,
            source: 'webhook',
            sourceId: `evt_${key}`,
            attempt: 1,
            executed: { kind: 'succeeded', ref: `re_${key}` },
          },
        ),
    }
  }

  it('is booked from its held amount while its outcome is unknown', async () => {
    const { orderId, retry, told } = await lateRefund(600)
    await told()
    expect(toldBy(await retry())).toBe('201 replayed')
    expect(await orderNow(orderId)).toEqual({ status: 'partially_refunded', refunded: 600, held: 0 })
    expect(await ledgerOf(orderId)).toMatchObject([{ status: 'succeeded', cents: 600 }])
  })

  it('is booked even after its hold was released', async () => {
    const { orderId, retry, told, provenNotExecuted } = await lateRefund(600)
    await provenNotExecuted()
    expect(await orderNow(orderId)).toEqual({ status: 'paid', refunded: 0, held: 0 })
    await told()
    expect(toldBy(await retry())).toBe('201 replayed')
    expect(await orderNow(orderId)).toEqual({ status: 'partially_refunded', refunded: 600, held: 0 })
    expect(await refundsOf(orderId)).toEqual([{ status: 'succeeded', cents: 600 }])
  })

  it('keeps its hold when the reconciler’s earlier lookup found nothing', async () => {
    const { orderId, retry, told, provenNotExecuted } = await lateRefund(600)
    await told()
    // another refund holds something that must not be touched
    const other = scriptedGateway()
    other.nextCall(timedOut)
    await bench.refund(other, orderId, { amountCents: 400 })
    await provenNotExecuted()
    expect(toldBy(await retry())).toBe('201 replayed')
    expect(await orderNow(orderId)).toEqual({ status: 'partially_refunded', refunded: 600, held: 400 })
  })

  it('is answered, booked and reported as a discrepancy after another refund took its amount', async () => {
    const { orderId, retry, told, provenNotExecuted, key } = await lateRefund(600)
    await provenNotExecuted()
    expect(toldBy(await bench.refund(scriptedGateway(), orderId, { amountCents: 900 }))).toBe('201')
    await told()
    expect(toldBy(await retry())).toBe('201 replayed')
    expect((await ledgerOf(orderId)).map(({ cents }) => cents).sort()).toEqual([600, 900])
    expect(await orderNow(orderId)).toEqual({ status: 'partially_refunded', refunded: 900, held: 0 })
    const { id } = await bench.recordOf(key)
    expect(await bench.rows('SELECT kind FROM discrepancies WHERE record_id = $1', [id])).toEqual([
      { kind: 'refund_exceeds_order' },
    ])
  })
})
