// An order commits with its reservation; its ledger row, its status and its answer commit together.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findOrder } from '../../lib/orders/read'
import { Order } from '../../lib/orders/schema'
import {
  answerOf,
  type Bench,
  barrier,
  charged,
  declined,
  newKey,
  openBench,
  orderOf,
  refused,
  scriptedGateway,
  TENANT,
  tampered,
  timedOut,
  toldBy,
} from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

const ledgerOf = (orderId: string) =>
  bench.rows(
    `SELECT kind, status, amount_cents::int AS cents, currency, provider_ref AS ref FROM ledger_entries
     WHERE order_id = $1`,
    [orderId],
  )

describe('an order that is paid', () => {
  it('is answered with the same order that a later read returns', async () => {
    const gateway = scriptedGateway()
    const body = orderOf({
      currency: 'EUR',
      note: 'leave it at the “back door” 🚪',
      items: [
        { sku: 'A', quantity: 3, unitPriceCents: 199 },
        { sku: 'B', quantity: 1, unitPriceCents: 1_000 },
      ],
    })
    const { status, headers, body: bytes } = answerOf(await bench.place(gateway, body))
    const order = Order.parse(JSON.parse(bytes))
    expect(status).toBe(201)
    expect(headers).toEqual({ 'content-type': 'application/json', location: `/api/orders/${order.id}` })
    const { paymentMethod: _, ...told } = body
    expect(order).toMatchObject({ ...told, status: 'paid', amountCents: 1597, refundedCents: 0 })
    expect(await findOrder(bench.store, TENANT, order.id)).toEqual(order)
    expect(await ledgerOf(order.id)).toEqual([
      { kind: 'charge', status: 'succeeded', cents: 1597, currency: 'EUR', ref: order.payment!.providerRef },
    ])
    expect(gateway.calls).toMatchObject([
      { kind: 'charge', orderId: order.id, amountCents: 1597, currency: 'EUR', paymentMethod: 'pm_ok' },
    ])
  })

  it('has a null note when none was given', async () => {
    const order = JSON.parse(answerOf(await bench.place(scriptedGateway(), orderOf())).body)
    expect(order.note).toBeNull()
    expect(await findOrder(bench.store, TENANT, order.id)).toEqual(order)
  })

  it('is stored as pending_payment before the provider is called', async () => {
    const gateway = scriptedGateway()
    const call = barrier()
    gateway.nextCall(async () => {
      await call.pass()
      return charged()
    })
    const placing = bench.place(gateway, orderOf())
    await call.reached
    const { orderId } = gateway.calls[0]!
    expect(await findOrder(bench.store, TENANT, orderId)).toMatchObject({ status: 'pending_payment', payment: null })
    expect(await ledgerOf(orderId)).toEqual([])
    call.open()
    await placing
  })

  it('is marked as paid, booked in the ledger and answered in one step or not at all', async () => {
    const gateway = scriptedGateway()
    const taken = `ch_${newKey()}`
    gateway.nextCall(
      () => charged(taken),
      () => charged(taken),
    )
    await bench.place(gateway, orderOf())
    const key = newKey()
    // the ledger has this reference already: the whole statement is refused
    await expect(bench.place(gateway, orderOf(), { key })).rejects.toMatchObject({ code: '23505' })
    const record = await bench.recordOf(key)
    expect(record).toMatchObject({ state: 'in_progress', response_status: null })
    expect(await findOrder(bench.store, TENANT, record.resource_id)).toMatchObject({ status: 'pending_payment' })
  })
})

describe('an order that is not paid', () => {
  it.each([
    ['declined', declined, '402', 'declined', [{ status: 'failed' }]],
    ['refused', refused, 'not_executed', 'pending_payment', []],
    ['timed out', timedOut, 'outcome_unknown', 'pending_payment', []],
  ] as const)('has matching answer, status and ledger: charge %s', async (_, outcome, told, status, ledger) => {
    const gateway = scriptedGateway()
    gateway.nextCall(() => outcome())
    const key = newKey()
    expect(toldBy(await bench.place(gateway, orderOf(), { key }))).toBe(told)
    const { resource_id } = await bench.recordOf(key)
    expect(await findOrder(bench.store, TENANT, resource_id)).toMatchObject({ status })
    expect(await ledgerOf(resource_id)).toMatchObject(ledger)
  })

  it('is the same order over all attempts of its key', async () => {
    const gateway = scriptedGateway()
    gateway.nextCall(refused, refused, () => charged())
    const key = newKey()
    const body = orderOf()
    for (let attempt = 1; attempt <= 3; attempt++) await bench.place(gateway, body, { key })
    expect(new Set(gateway.calls.map(({ orderId }) => orderId)).size).toBe(1)
    expect(await bench.rows('SELECT status FROM orders WHERE customer_id = $1', [body.customerId])).toEqual([
      { status: 'paid' },
    ])
  })
})

describe('a provider without idempotency keys', () => {
  it('is called once for thirty concurrent requests with one key over two nodes', async () => {
    const gateway = scriptedGateway()
    const key = newKey()
    const body = orderOf()
    const store = tampered(bench.store, async (send) => {
      const rows = await send()
      await new Promise(setImmediate)
      return rows
    })
    const asking = Array.from({ length: 30 }, (_, i) =>
      bench.place(gateway, body, {
        key,
        waitMs: i % 3 ? 10_000 : 0,
        boundary: i % 2 ? bench.otherNode({ store }) : bench.boundary,
      }),
    )
    const told = (await Promise.all(asking)).map(toldBy)
    expect(gateway.calls).toHaveLength(1)
    expect(told.filter((one) => one === '201')).toHaveLength(1)
    expect(new Set(told)).toEqual(
      new Set([...new Set(told)].filter((one) => /^(201|201 replayed|in_progress)$/.test(one))),
    )
  })
})
