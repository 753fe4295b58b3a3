// Each behaviour of the sandbox provider through the API, with a provider that knows idempotency keys and with one that
// does not. Whatever a client sends again, money moves at most once a key.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Answer,
  charges,
  countCharges,
  freshKey,
  type OrderView,
  orderBody,
  type ProblemView,
  REFUNDS,
  type RecordView,
  until,
} from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'

interface Behaviour {
  name: string
  /** What the first request is answered, and what it leaves. */
  first: string
  state: string
  /** What the same request is answered afterwards. */
  again: string
  /** How often money moved in the end. */
  moved: 0 | 1
}

const PAID = { first: '201', state: 'completed', again: '201', moved: 1 } as const
const UNKNOWN = { first: '504 payment_outcome_unknown', state: 'unknown', again: '409 idempotency_outcome_unknown' }

const BEHAVIOURS: Behaviour[] = [
  { name: 'ok', ...PAID },
  { name: 'whatever_is_not_listed', ...PAID },
  { name: 'slow_300', ...PAID },
  { name: 'slow_0', ...PAID },
  { name: 'declined', first: '402 payment_declined', state: 'completed', again: '402 payment_declined', moved: 0 },
  { name: 'slow_5000', ...UNKNOWN, moved: 1 },
  { name: 'timeout_charged', ...UNKNOWN, moved: 1 },
  { name: 'timeout_lost_once', ...UNKNOWN, moved: 0 },
  { name: 'late_200_once', ...UNKNOWN, moved: 1 },
  { name: 'late_1500_once', ...UNKNOWN, moved: 1 },
  {
    name: 'refused_once',
    first: '503 payment_provider_unavailable',
    state: 'failed_retryable',
    again: '201',
    moved: 1,
  },
  { name: 'error_once', ...UNKNOWN, moved: 1 },
  { name: 'unreachable', ...UNKNOWN, moved: 0 },
]

const told = (answer: Answer) =>
  answer.status < 300 ? String(answer.status) : `${answer.status} ${answer.json<ProblemView>().code}`

describe.each(['true', 'false'])('SANDBOX_IDEMPOTENT=%s', (SANDBOX_IDEMPOTENT) => {
  let site: Site
  beforeAll(async () => {
    site = await openSite({ ...QUICK_PROVIDER, SANDBOX_IDEMPOTENT })
  })
  afterAll(() => site?.close())

  async function expectOnce(
    { first, state, again, moved }: Behaviour,
    request: {
      customerId: string
      kind: 'charge' | 'refund'
      send(prefer?: string): Promise<Answer>
      record(): Promise<Answer>
    },
  ) {
    expect(told(await request.send())).toBe(first)
    expect((await request.record()).json<RecordView>().state).toBe(state)
    expect(told(await request.send())).toBe(again)
    const more = await Promise.all([...Array(5).keys()].map((i) => request.send(i % 2 ? 'wait=1' : undefined)))
    expect(new Set(more.map(told))).toEqual(new Set([again]))
    await until(
      () => countCharges(site.url, request.customerId, request.kind),
      (count) => count === moved,
    )
  }

  describe.concurrent('a charge', () => {
    test.each(BEHAVIOURS)('with pm_$name gets $first, and its retries get $again', async (behaviour) => {
      const key = freshKey()
      const body = orderBody({ paymentMethod: `pm_${behaviour.name}` })
      await expectOnce(behaviour, {
        customerId: body.customerId,
        kind: 'charge',
        send: (prefer) => site.client.order(key, body, { prefer }),
        record: () => site.client.record(key),
      })
      const { resource } = (await site.client.record(key)).json<RecordView>()
      const status = { '201': 'paid', '402 payment_declined': 'declined' }[behaviour.again] ?? 'pending_payment'
      expect((await site.client.get(`/api/orders/${resource?.id}`)).json()).toMatchObject({ status })
    })
  })

  describe.concurrent('a refund', () => {
    test.each(BEHAVIOURS)('with sandbox:$name gets $first, and its retries get $again', async (behaviour) => {
      const order = orderBody()
      const { id } = (await site.client.order(freshKey(), order)).json<OrderView>()
      const key = freshKey()
      const body = { amountCents: 1000, reason: `sandbox:${behaviour.name}` }
      await expectOnce(behaviour, {
        customerId: order.customerId,
        kind: 'refund',
        send: (prefer) => site.client.refund(id, key, body, { prefer }),
        record: () => site.client.record(key, REFUNDS),
      })
      const refunded = behaviour.again === '201'
      expect((await site.client.get(`/api/orders/${id}`)).json()).toMatchObject({
        status: refunded ? 'partially_refunded' : 'paid',
        refundedCents: refunded ? 1000 : 0,
      })
      // 1500 are left in any case; 1501 only where the first 1000 are neither refunded nor held.
      const more = await site.client.refund(id, freshKey(), { amountCents: 1501 })
      expect(told(more)).toBe(behaviour.name === 'declined' ? '201' : '409 refund_exceeds_order')
    })
  })

  test('a decline leaves a failed payment at the provider', async () => {
    const body = orderBody({ paymentMethod: 'pm_declined' })
    await site.client.order(freshKey(), body)
    const booked = await charges(site.url, body.customerId)
    expect(booked).toMatchObject([{ kind: 'charge', status: 'failed', amountCents: 2500 }])
  })

  test('a refund is not steered by its order’s payment method, nor by a reason without the sandbox: prefix', async () => {
    const order = orderBody({ paymentMethod: 'pm_refused_once' })
    const key = freshKey()
    await site.client.order(key, order)
    const { id } = (await site.client.order(key, order)).json<OrderView>()
    expect((await site.client.refund(id, freshKey(), { reason: 'refused_once' })).status).toBe(201)
  })
})
