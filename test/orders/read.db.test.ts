// Orders and refunds as they are now, for their own tenant only.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findOrder, findRefund, listOrders } from '../../lib/orders/read'
import { answerOf, type Bench, newKey, openBench, orderOf, refused, scriptedGateway, TENANT } from '../support/boundary'
import { insertOrder, move } from '../support/rows'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

describe('an order', () => {
  it('is found by its own tenant only', async () => {
    const orderId = await bench.paidOrder()
    expect(await findOrder(bench.store, TENANT, orderId)).toMatchObject({ id: orderId })
    expect(await findOrder(bench.store, 'ten_other', orderId)).toBeNull()
    expect(await findOrder(bench.store, TENANT, 'ord_nobody_has')).toBeNull()
  })

  it('shows the amount refunded since it was answered', async () => {
    const orderId = await bench.paidOrder(1000)
    await bench.refund(scriptedGateway(), orderId, { amountCents: 400 })
    expect(await findOrder(bench.store, TENANT, orderId)).toMatchObject({
      status: 'partially_refunded',
      amountCents: 1000,
      refundedCents: 400,
      payment: { status: 'succeeded' },
    })
  })
})

describe('the list of orders', () => {
  it('has every order of the tenant once, newest first, page by page, also with equal timestamps', async () => {
    const tenant_id = 'ten_list'
    const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms)
    const made = await Promise.all(
      [0, 0, 0, 1, 2, 2, 3].map((ms) => insertOrder(bench.db, { tenant_id, created_at: at(ms) })),
    )
    await insertOrder(bench.db, { tenant_id: 'ten_list_other', created_at: at(9) })
    const seen: { id: string; createdAt: string }[] = []
    let after: Parameters<typeof listOrders>[2]['after'] = null
    const pages = []
    do {
      const page = await listOrders(bench.store, tenant_id, { limit: 3, after })
      pages.push(page.items.length)
      seen.push(...page.items)
      after = page.next
    } while (after)
    expect(pages).toEqual([3, 3, 1])
    expect(seen.map(({ id }) => id).sort()).toEqual([...made].sort())
    const times = seen.map(({ createdAt }) => createdAt)
    expect(times).toEqual([...times].sort().reverse())
  })

  it('has no further page after a full last page', async () => {
    const tenant_id = 'ten_full'
    await Promise.all([1, 2].map(() => insertOrder(bench.db, { tenant_id })))
    expect(await listOrders(bench.store, tenant_id, { limit: 2, after: null })).toMatchObject({ next: null })
    expect(await listOrders(bench.store, 'ten_nobody', { limit: 2, after: null })).toEqual({ items: [], next: null })
  })
})

describe('reading one refund or order', () => {
  it('returns a refund as it was answered, for its own tenant and order only', async () => {
    const orderId = await bench.paidOrder(1000)
    const outcome = await bench.refund(scriptedGateway(), orderId, { amountCents: 400, reason: 'late' })
    const refund = JSON.parse(answerOf(outcome).body)
    const at = { orderId, refundId: refund.id }
    expect(await findRefund(bench.store, TENANT, at)).toEqual(refund)
    expect(await findRefund(bench.store, 'ten_other', at)).toBeNull()
    expect(await findRefund(bench.store, TENANT, { ...at, orderId: await bench.paidOrder() })).toBeNull()
  })

  it('returns a refund without a provider reference when its call was refused', async () => {
    const orderId = await bench.paidOrder(1000)
    const gateway = scriptedGateway()
    gateway.nextCall(refused)
    const key = newKey()
    await bench.refund(gateway, orderId, {}, { key })
    const { resource_id: refundId } = await bench.recordOf(key)
    expect(await findRefund(bench.store, TENANT, { orderId, refundId })).toMatchObject({
      status: 'released',
      providerRef: null,
    })
  })

  it('returns a refund with its provider reference after its key is deleted', async () => {
    const orderId = await bench.paidOrder(1000)
    const key = newKey()
    const refund = JSON.parse(answerOf(await bench.refund(scriptedGateway(), orderId, {}, { key })).body)
    const { id } = await bench.recordOf(key)
    await move(bench.db, id, 'expired')
    await bench.db.query('DELETE FROM idempotency_records WHERE id = $1', [id])
    expect(await findRefund(bench.store, TENANT, { orderId, refundId: refund.id })).toEqual(refund)
  })

  it('returns an order unchanged after its key is deleted', async () => {
    const key = newKey()
    const order = JSON.parse(answerOf(await bench.place(scriptedGateway(), orderOf(), { key })).body)
    const { id } = await bench.recordOf(key)
    await move(bench.db, id, 'expired')
    await bench.db.query('DELETE FROM idempotency_records WHERE id = $1', [id])
    expect(await findOrder(bench.store, TENANT, order.id)).toEqual(order)
  })
})
