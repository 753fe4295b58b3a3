// Refunds: the same boundary around another operation. What is refunded and what is held never exceeds the order.
import { beforeAll, describe, expect, test } from 'vitest'
import {
  charges,
  countCharges,
  freshKey,
  type OrderView,
  orderBody,
  type ProblemView,
  REFUNDS,
  type RecordView,
  type RefundView,
  until,
} from '../support/client'
import { expectProblem } from '../support/problem'
import { type SharedSite, shareSite } from '../support/site'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

async function paidOrder(): Promise<OrderView> {
  const answer = await site.client.order(freshKey(), orderBody())
  expect(answer.status).toBe(201)
  return answer.json<OrderView>()
}
const orderNow = async (id: string) => (await site.client.get(`/api/orders/${id}`)).json<OrderView>()

test('a partial refund: 201 with its Location, and the order is partially refunded', async () => {
  const order = await paidOrder()
  const key = freshKey()
  const answer = await site.client.refund(order.id, key, { amountCents: 1000, reason: 'one came broken' })
  expect(answer.status).toBe(201)
  expect(answer.headers['idempotency-key']).toBe(`"${key}"`)
  expect(answer.headers['idempotency-expires']).toMatch(/GMT$/)
  const refund = answer.json<RefundView>()
  expect(refund).toStrictEqual({
    id: expect.stringMatching(/^ref_/),
    orderId: order.id,
    amountCents: 1000,
    status: 'succeeded',
    providerRef: expect.stringMatching(/\S/),
    reason: 'one came broken',
    createdAt: expect.stringMatching(/Z$/),
  })
  expect(answer.headers.location).toBe(`/api/orders/${order.id}/refunds/${refund.id}`)
  expect((await site.client.get(answer.headers.location as string)).json()).toStrictEqual(refund)
  expect(await orderNow(order.id)).toStrictEqual({ ...order, status: 'partially_refunded', refundedCents: 1000 })
})

test('a refund without an amount refunds the rest of the order', async () => {
  const order = await paidOrder()
  const part = await site.client.refund(order.id, freshKey(), { amountCents: 1 })
  expect(part.json<RefundView>()).toMatchObject({ amountCents: 1, reason: null })
  const rest = await site.client.refund(order.id, freshKey())
  expect(rest.json<RefundView>().amountCents).toBe(2499)
  expect(await orderNow(order.id)).toStrictEqual({ ...order, status: 'refunded', refundedCents: 2500 })
  const booked = await charges(site.url, order.customerId)
  expect(
    booked
      .filter((entry) => entry.kind === 'refund')
      .map((entry) => entry.amountCents)
      .sort(),
  ).toEqual([1, 2499])
})

test('the amount of a refund without an amount is fixed once: a replay is the first answer', async () => {
  const order = await paidOrder()
  const key = freshKey()
  const first = await site.client.refund(order.id, key)
  const replay = await site.client.refund(order.id, key)
  expect(replay.headers['idempotent-replayed']).toBe('true')
  expect(replay.bytes).toEqual(first.bytes)
  expectProblem(await site.client.refund(order.id, key, { amountCents: 2500 }), 422, 'idempotency_key_reused', 'new')
  expect(await countCharges(site.url, order.customerId, 'refund')).toBe(1)
})

describe('a refused refund', () => {
  async function expectStored(orderId: string, body: object, status: number, code: string) {
    const key = freshKey()
    const first = await site.client.refund(orderId, key, body)
    expectProblem(first, status, code, 'new')
    expect(first.headers['idempotency-expires']).toMatch(/GMT$/)
    const replay = await site.client.refund(orderId, key, body)
    expect(replay.status).toBe(status)
    expect(replay.bytes).toEqual(first.bytes)
    expect(replay.headers['content-type']).toBe('application/problem+json')
    expect(replay.headers['idempotent-replayed']).toBe('true')
    expect((await site.client.record(key, REFUNDS)).json()).toMatchObject({
      state: 'completed',
      response: { status },
      resource: null,
    })
    return key
  }

  test('of an unknown order is 404, stored and replayed', async () => {
    await expectStored('ord_none', {}, 404, 'order_not_found')
  })

  test.each(['ord.none', 'a%20b', 'x'.repeat(80)])('of a malformed order id is 404, stored (%s)', async (id) => {
    await expectStored(id, {}, 404, 'order_not_found')
  })

  test('of an order id with a NUL byte is 404, and nothing is stored', async () => {
    const key = freshKey()
    expectProblem(await site.client.refund('%00', key), 404, 'order_not_found', 'new')
    expect((await site.client.record(key, REFUNDS)).status).toBe(404)
  })

  test('of more than the order, or than what is left of it, is 409, stored and replayed', async () => {
    const order = await paidOrder()
    await expectStored(order.id, { amountCents: 2501 }, 409, 'refund_exceeds_order')
    await site.client.refund(order.id, freshKey(), { amountCents: 2000 })
    const key = await expectStored(order.id, { amountCents: 501 }, 409, 'refund_exceeds_order')
    expect((await site.client.refund(order.id, freshKey(), { amountCents: 500 })).status).toBe(201)
    await expectStored(order.id, { amountCents: 1 }, 409, 'refund_exceeds_order')
    expectProblem(await site.client.refund(order.id, key, { amountCents: 501 }), 409, 'refund_exceeds_order', 'new')
    expect(await countCharges(site.url, order.customerId, 'refund')).toBe(2)
  })

  test('without an amount, of an order with nothing left, is 409', async () => {
    const order = await paidOrder()
    await site.client.refund(order.id, freshKey())
    const answer = await site.client.refund(order.id, freshKey())
    expect(answer.status).toBe(409)
    expect(['refund_exceeds_order', 'order_not_refundable']).toContain(answer.json<ProblemView>().code)
  })

  test('of a declined order is 409, stored and replayed', async () => {
    const key = freshKey()
    await site.client.order(key, orderBody({ paymentMethod: 'pm_declined' }))
    const { resource } = (await site.client.record(key)).json<RecordView>()
    await expectStored(resource?.id ?? '', {}, 409, 'order_not_refundable')
  })

  test('of an order whose payment outcome is unknown is 409, stored and replayed', async () => {
    const key = freshKey()
    await site.client.order(key, orderBody({ paymentMethod: 'pm_error_once' }))
    const { resource } = (await site.client.record(key)).json<RecordView>()
    await expectStored(resource?.id ?? '', {}, 409, 'order_not_refundable')
  })
})

describe('concurrent refunds of an order', () => {
  test('ten refunds of 400 with ten keys: six fit into 2500', async () => {
    const order = await paidOrder()
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        site.client.refund(order.id, freshKey(), { amountCents: 400, reason: `sandbox:slow_${i * 20}` }),
      ),
    )
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(6)
    for (const answer of answers) if (answer.status !== 201) expectProblem(answer, 409, 'refund_exceeds_order', 'new')
    expect(await orderNow(order.id)).toMatchObject({ status: 'partially_refunded', refundedCents: 2400 })
    expect(await countCharges(site.url, order.customerId, 'refund')).toBe(6)
  })

  test('ten full refunds with ten keys: one succeeds', async () => {
    const order = await paidOrder()
    const answers = await Promise.all(Array.from({ length: 10 }, () => site.client.refund(order.id, freshKey())))
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1)
    expect(await orderNow(order.id)).toMatchObject({ status: 'refunded', refundedCents: 2500 })
    expect(await countCharges(site.url, order.customerId, 'refund')).toBe(1)
  })

  test('twenty requests with one key: one refund', async () => {
    const order = await paidOrder()
    const key = freshKey()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => site.client.refund(order.id, key, { amountCents: 100 }, { prefer: 'wait=5' })),
    )
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(201))
    expect(answers.filter((answer) => !answer.headers['idempotent-replayed'])).toHaveLength(1)
    expect(new Set(answers.map((answer) => answer.bytes.toString())).size).toBe(1)
    expect((await orderNow(order.id)).refundedCents).toBe(100)
  })

  test('a refund in progress holds its amount', async () => {
    const order = await paidOrder()
    const key = freshKey()
    const slow = site.client.refund(order.id, key, { amountCents: 2000, reason: 'sandbox:slow_800' })
    await until(
      () => site.client.record(key, REFUNDS),
      (record) => record.status === 200,
    )
    const tooMuch = await site.client.refund(order.id, freshKey(), { amountCents: 501 })
    expectProblem(tooMuch, 409, 'refund_exceeds_order', 'new')
    const rest = await site.client.refund(order.id, freshKey())
    expect(rest.json<RefundView>().amountCents).toBe(500)
    expect((await slow).status).toBe(201)
    expect(await orderNow(order.id)).toMatchObject({ status: 'refunded', refundedCents: 2500 })
  })
})

test('a refund that was not executed releases its amount, and a retry refunds it', async () => {
  const order = await paidOrder()
  const key = freshKey()
  const body = { amountCents: 2000, reason: 'sandbox:refused_once' }
  expectProblem(await site.client.refund(order.id, key, body), 503, 'payment_provider_unavailable', 'later')
  expect((await site.client.refund(order.id, freshKey(), { amountCents: 400 })).status).toBe(201)
  const retried = await site.client.refund(order.id, key, body)
  expect(retried.json<RefundView>()).toMatchObject({ amountCents: 2000, status: 'succeeded' })
  expect((await orderNow(order.id)).refundedCents).toBe(2400)
})

test('a refund retry that exceeds what is left by then is refused with a stored 409', async () => {
  const order = await paidOrder()
  const key = freshKey()
  const body = { amountCents: 2000, reason: 'sandbox:refused_once' }
  expectProblem(await site.client.refund(order.id, key, body), 503, 'payment_provider_unavailable', 'later')
  expect((await site.client.refund(order.id, freshKey(), { amountCents: 600 })).status).toBe(201)
  for (let i = 0; i < 2; i++)
    expectProblem(await site.client.refund(order.id, key, body), 409, 'refund_exceeds_order', 'new')
  expect((await orderNow(order.id)).refundedCents).toBe(600)
  expect(await countCharges(site.url, order.customerId, 'refund')).toBe(1)
})
