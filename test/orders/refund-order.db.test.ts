// Two refunds of one order never exceed it: each holds its amount under the order's row lock in the reservation
// itself, keeps holding it while the outcome is unknown, and gives it back once nothing can have happened.
import { describe, expect, it } from 'vitest'
import type { AnyOperation } from '../../lib/idempotency/operation'
import { settle } from '../../lib/idempotency/store/settle'
import type { RefundRequest } from '../../lib/orders/schema'
import {
  answerOf,
  barrier,
  charged,
  declined,
  newKey,
  orderOf,
  refused,
  scriptedGateway,
  storeOn,
  timedOut,
  toldBy,
} from '../support/boundary'
import { bench, codeOf, ledgerOf, orderNow, refundsOf } from './one-order'

describe('concurrent refunds of one order', () => {
  it('with different keys succeed up to the order’s amount and no further', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => bench.refund(gateway, orderId, { amountCents: 100 })),
    )
    const told = outcomes.map(toldBy).sort()
    expect(told).toEqual([...Array(10).fill('201'), ...Array(10).fill('409')])
    expect(gateway.calls).toHaveLength(10)
    expect(await orderNow(orderId)).toEqual({ status: 'refunded', refunded: 1000, held: 0 })
    expect(await ledgerOf(orderId)).toHaveLength(10)
    expect(await refundsOf(orderId)).toEqual(Array(10).fill({ status: 'succeeded', cents: 100 }))
  })

  it('of uneven amounts never exceed the order’s amount', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    await Promise.all(Array.from({ length: 20 }, (_, i) => bench.refund(gateway, orderId, { amountCents: 70 + 7 * i })))
    const refunded = (await ledgerOf(orderId)).reduce((sum, { cents }) => sum + cents, 0)
    expect(refunded).toBeLessThanOrEqual(1000)
    expect(await orderNow(orderId)).toMatchObject({ refunded, held: 0 })
  })

  it('of the whole remaining amount succeed only once', async () => {
    const orderId = await bench.paidOrder(1000)
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => bench.refund(scriptedGateway(), orderId, {})))
    expect(outcomes.map(toldBy).sort()).toEqual(['201', ...Array(9).fill('409')])
    expect(await orderNow(orderId)).toEqual({ status: 'refunded', refunded: 1000, held: 0 })
  })

  it('hold their amounts during their provider calls', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    const call = barrier()
    gateway.nextCall(async () => {
      await call.pass()
      return charged()
    })
    const first = bench.refund(gateway, orderId, { amountCents: 700 })
    await call.reached
    expect(await orderNow(orderId)).toEqual({ status: 'paid', refunded: 0, held: 700 })
    expect(codeOf(await bench.refund(gateway, orderId, { amountCents: 301 }))).toBe('refund_exceeds_order')
    const rest = await bench.refund(gateway, orderId, {})
    expect(JSON.parse(answerOf(rest).body).amountCents).toBe(300)
    call.open()
    expect(toldBy(await first)).toBe('201')
    expect(await orderNow(orderId)).toEqual({ status: 'refunded', refunded: 1000, held: 0 })
  })

  it('respect an amount that a rival transaction holds and commits while they wait for the order’s row', async () => {
    const orderId = await bench.paidOrder(1000)
    const rival = await bench.transaction()
    await rival.query('UPDATE orders SET held_cents = 900 WHERE id = $1', [orderId])
    const refunding = bench.refund(scriptedGateway(), orderId, { amountCents: 200 })
    await bench.untilBlocked(1)
    await rival.query('COMMIT')
    rival.release()
    expect(codeOf(await refunding)).toBe('refund_exceeds_order')
    expect(await orderNow(orderId)).toMatchObject({ held: 900 })
  })
})

describe('a refund', () => {
  it('takes the remaining amount when no amount is given', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    const part = await bench.refund(gateway, orderId, { amountCents: 300, reason: 'broken' })
    expect(JSON.parse(answerOf(part).body)).toMatchObject({
      orderId,
      amountCents: 300,
      status: 'succeeded',
      reason: 'broken',
    })
    expect(await orderNow(orderId)).toEqual({ status: 'partially_refunded', refunded: 300, held: 0 })
    const rest = await bench.refund(gateway, orderId, {})
    expect(JSON.parse(answerOf(rest).body)).toMatchObject({ amountCents: 700, reason: null })
    expect(await orderNow(orderId)).toEqual({ status: 'refunded', refunded: 1000, held: 0 })
  })

  it('is replayed unchanged after the order has changed', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    const key = newKey()
    const first = await bench.refund(gateway, orderId, { amountCents: 100 }, { key })
    await bench.refund(gateway, orderId, {})
    const again = await bench.refund(gateway, orderId, { amountCents: 100 }, { key })
    expect(toldBy(again)).toBe('201 replayed')
    expect(answerOf(again)).toEqual(answerOf(first))
    expect(gateway.calls).toHaveLength(2)
  })

  it('passes the refunded charge and its record’s provider key to the provider', async () => {
    const orderId = await bench.paidOrder(1000)
    const [charge] = await bench.rows<{ provider_ref: string }>(
      `SELECT provider_ref FROM ledger_entries WHERE order_id = $1 AND kind = 'charge'`,
      [orderId],
    )
    const gateway = scriptedGateway()
    const key = newKey()
    await bench.refund(gateway, orderId, {}, { key })
    const { id } = await bench.recordOf(key)
    expect(gateway.calls).toMatchObject([
      { kind: 'refund', chargeRef: charge!.provider_ref, amountCents: 1000, providerKey: `onceover-${id}` },
    ])
  })

  it('passes the charge to the provider also when the order is paid while the refund waits for the order’s row', async () => {
    const key = newKey()
    const body = orderOf()
    const paying = scriptedGateway()
    const call = barrier()
    paying.nextCall(async () => {
      await call.pass()
      return timedOut()
    })
    const placing = bench.place(paying, body, { key })
    await call.reached
    const { id: recordId, resource_id: orderId, created_at: createdAt } = await bench.recordOf(key)
    const resource = { type: 'order', id: orderId }
    const operation = bench.placeOrder(paying)
    const settlement = operation.external.conclude(
      {
        recordId,
        tenantId: 'ten_bench',
        number: 1,
        createdAt,
        resource,
        input: { params: {}, body },
        report: null,
        providerKey: '',
        keyDigest: '',
        fingerprint: '',
      },
      { kind: 'succeeded', ref: `ch_${key}` },
    )
    const payment = await bench.transaction()
    await settle({ store: storeOn(payment) }, operation as AnyOperation, {
      recordId,
      attempt: 1,
      from: 'in_progress',
      settlement,
      event: { event: 'settled', by: 'test' },
    })
    const gateway = scriptedGateway()
    const refunding = bench.refund(gateway, orderId, {})
    await bench.untilBlocked(1)
    await payment.query('COMMIT')
    payment.release()
    expect(toldBy(await refunding)).toBe('201')
    expect(gateway.calls).toMatchObject([{ chargeRef: `ch_${key}` }])
    call.open()
    await placing
  })
})

describe('the refusal of a refund', () => {
  const refusedWith = async (orderId: string, body: RefundRequest, code: string, status: number) => {
    const gateway = scriptedGateway()
    const key = newKey()
    const first = await bench.refund(gateway, orderId, body, { key })
    expect(toldBy(first)).toBe(String(status))
    expect(codeOf(first)).toBe(code)
    const again = await bench.refund(gateway, orderId, body, { key })
    expect(toldBy(again)).toBe(`${status} replayed`)
    expect(answerOf(again)).toEqual(answerOf(first))
    expect(gateway.calls).toEqual([])
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', effect_ref: null })
  }

  it('is stored when the order does not exist', () => refusedWith('ord_nobody_has', {}, 'order_not_found', 404))

  it('is stored when the order belongs to another tenant', async () => {
    const orderId = await bench.paidOrder()
    await bench.db.query(`UPDATE orders SET tenant_id = 'ten_other' WHERE id = $1`, [orderId])
    await refusedWith(orderId, {}, 'order_not_found', 404)
  })

  it.each([
    ['declined', declined],
    ['not paid yet', timedOut],
  ] as const)('is stored when the order is %s', async (_, outcome) => {
    const gateway = scriptedGateway()
    gateway.nextCall(() => outcome())
    const key = newKey()
    await bench.place(gateway, orderOf(), { key })
    await refusedWith((await bench.recordOf(key)).resource_id, {}, 'order_not_refundable', 409)
  })

  it('is stored when the refund would exceed the order’s amount', async () => {
    const orderId = await bench.paidOrder(1000)
    await refusedWith(orderId, { amountCents: 1001 }, 'refund_exceeds_order', 409)
    expect(await orderNow(orderId)).toEqual({ status: 'paid', refunded: 0, held: 0 })
    expect(await refundsOf(orderId)).toEqual([])
  })

  it('is stored when nothing is left to refund', async () => {
    const orderId = await bench.paidOrder(1000)
    await bench.refund(scriptedGateway(), orderId, {})
    await refusedWith(orderId, {}, 'refund_exceeds_order', 409)
    await refusedWith(orderId, { amountCents: 1 }, 'refund_exceeds_order', 409)
  })

  it('is replayed although the order could be refunded by then', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    gateway.nextCall(refused)
    const holding = barrier()
    const held = scriptedGateway()
    held.nextCall(async () => {
      await holding.pass()
      return refused()
    })
    const other = bench.refund(held, orderId, {})
    await holding.reached
    const key = newKey()
    expect(codeOf(await bench.refund(gateway, orderId, { amountCents: 100 }, { key }))).toBe('refund_exceeds_order')
    holding.open()
    await other
    expect(toldBy(await bench.refund(gateway, orderId, { amountCents: 100 }, { key }))).toBe('409 replayed')
  })
})
