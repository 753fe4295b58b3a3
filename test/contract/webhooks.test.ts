// Webhooks over HTTP, against real nodes: what is taken in, what is refused, and that a record is found out about by a
// webhook alone. The sweeper, the reconciler and the rest are switched off on all of them.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signPayload } from '../../lib/payments/webhook-signature'
import {
  type Answer,
  charges,
  countCharges,
  createClient,
  freshKey,
  type OrderView,
  orderBody,
  REFUNDS,
  type RecordView,
  SECRETS,
  send,
  until,
} from '../support/client'
import { startNode } from '../support/node'
import { startMigratedPostgres } from '../support/postgres'
import { expectProblem } from '../support/problem'
import { openSite, SHORT_TIMES, type Site } from '../support/site'
import { runSql } from '../support/tenant'

const SECRET = 'the webhook secret of these tests'
const nowSeconds = () => Math.floor(Date.now() / 1000)

interface Sending {
  secret?: string
  at?: number
  signature?: string | null
  path?: string
  header?: string
}

/** A body as it is, signed as told. */
function post(site: { url: string }, body: string, sending: Sending = {}): Promise<Answer> {
  const { secret = SECRET, at = nowSeconds(), path = '/api/webhooks/sandbox', header = 'sandbox-signature' } = sending
  const signature = sending.signature === undefined ? signPayload(body, secret, at) : sending.signature
  return send(new URL(path, site.url), {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...(signature === null ? {} : { [header]: signature }) },
  })
}

interface Row {
  id: string
  state: string
  version: number
  /** The order. */
  resource_id: string
}
const rowOf = async (site: Site, key: string): Promise<Row> => {
  const [row] = await runSql<Row>(
    site.databaseUrl,
    'SELECT id, state, version, resource_id FROM idempotency_records WHERE key = $1',
    [key],
  )
  return row!
}

const eventOf = (
  about: Pick<Row, 'id' | 'resource_id'>,
  ref: string,
  changes: Record<string, unknown> = {},
  data = {},
) => ({
  id: `evt_${randomUUID()}`,
  type: 'charge.succeeded',
  createdAt: new Date().toISOString(),
  data: {
    ref,
    providerKey: `onceover-${about.id}`,
    kind: 'charge',
    status: 'succeeded',
    amountCents: 2500,
    currency: 'USD',
    orderId: about.resource_id,
    customerId: 'cus_1',
    ...data,
  },
  ...changes,
})

describe('a sandbox webhook', () => {
  let site: Site
  beforeAll(async () => {
    site = await openSite({ SANDBOX_WEBHOOK_SECRET: SECRET })
  })
  afterAll(() => site?.close())

  /** Charged, and the answer never came; with the event that would tell of it. */
  async function unknownOrder() {
    const key = freshKey()
    const order = orderBody({ paymentMethod: 'pm_timeout_charged' })
    expectProblem(await site.client.order(key, order), 504, 'payment_outcome_unknown', 'later')
    const [charge] = await charges(site.url, order.customerId)
    const record = await rowOf(site, key)
    return { key, order, ...record, ref: charge!.ref, event: JSON.stringify(eventOf(record, charge!.ref)) }
  }

  test('completes a record whose outcome is unknown, and the client’s retry gets the 201 as a replay', async () => {
    const { key, order, event, ref } = await unknownOrder()
    const answer = await post(site, event)
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({ received: true })
    const again = await site.client.order(key, order)
    expect(again.status).toBe(201)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.json<OrderView>()).toMatchObject({ status: 'paid', payment: { providerRef: ref } })
    expect(await countCharges(site.url, order.customerId)).toBe(1)
  })

  test('gets 200 and changes nothing when the same event is delivered again', async () => {
    const { key, event } = await unknownOrder()
    await post(site, event)
    const before = await rowOf(site, key)
    expect((await post(site, event)).status).toBe(200)
    expect(await rowOf(site, key)).toEqual(before)
  })

  test('is recorded once when it is delivered twenty times at once', async () => {
    const { key, id, event } = await unknownOrder()
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(site, event)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect((await rowOf(site, key)).state).toBe('completed')
    expect(await runSql(site.databaseUrl, 'SELECT 1 FROM evidence WHERE record_id = $1', [id])).toHaveLength(1)
  })

  describe('is refused and changes nothing', () => {
    let order: Awaited<ReturnType<typeof unknownOrder>>
    beforeAll(async () => {
      order = await unknownOrder()
    })

    test.each<[string, (event: string) => Sending & { body?: string }]>([
      ['without a signature', () => ({ signature: null })],
      ['with an empty signature', () => ({ signature: '' })],
      ['with a bearer token in place of the signature', () => ({ signature: 'Bearer oo_demo' })],
      ['signed with another secret', () => ({ secret: 'another secret' })],
      [
        'with a body that was changed after it was signed',
        (event) => ({ body: event.replace('2500', '2501'), signature: signPayload(event, SECRET, nowSeconds()) }),
      ],
      ['signed more than five minutes ago', () => ({ at: nowSeconds() - 310 })],
      ['signed more than five minutes ahead', () => ({ at: nowSeconds() + 310 })],
    ])('%s', async (_, how) => {
      const { body = order.event, ...sending } = how(order.event)
      expectProblem(await post(site, body, sending), 400, 'invalid_signature', 'none')
      expect((await rowOf(site, order.key)).state).toBe('unknown')
    })

    test('with a valid signature on a body that is not JSON or not an event', async () => {
      expectProblem(await post(site, '{'), 400, 'invalid_request', 'none')
      const broken = JSON.stringify(eventOf(order, order.ref, {}, { amountCents: 'much' }))
      expect(expectProblem(await post(site, broken), 400, 'invalid_request', 'none').issues).toMatchObject([
        { path: 'data.amountCents' },
      ])
      const contradicting = JSON.stringify(eventOf(order, order.ref, { type: 'charge.failed' }))
      expectProblem(await post(site, contradicting), 400, 'invalid_request', 'none')
      expect((await rowOf(site, order.key)).state).toBe('unknown')
    })

    test('with a body larger than 256 KiB', async () => {
      const large = JSON.stringify(eventOf(order, order.ref, { note: 'x'.repeat(256 * 1024) }))
      expectProblem(await post(site, large), 413, 'body_too_large', 'none')
    })

    test('except when its signature is only four minutes old: then it is accepted', async () => {
      expect((await post(site, order.event, { at: nowSeconds() - 240 })).status).toBe(200)
      expect((await rowOf(site, order.key)).state).toBe('completed')
    })
  })

  test('that arrives during the first request gets 200 and leaves the client’s answer unchanged', async () => {
    const key = freshKey()
    const order = orderBody({ paymentMethod: 'pm_slow_700' })
    const first = site.client.order(key, order)
    const [charge] = await until(
      () => charges(site.url, order.customerId),
      (booked) => booked.length === 1,
    )
    const record = await rowOf(site, key)
    const { id } = record
    expect(record.state).toBe('in_progress')
    expect((await post(site, JSON.stringify(eventOf(record, charge!.ref)))).status).toBe(200)
    const answer = await first
    expect(answer.status).toBe(201)
    expect(answer.headers['idempotent-replayed']).toBeUndefined()
    expect(answer.json<OrderView>().payment?.providerRef).toBe(charge!.ref)
    expect(await runSql(site.databaseUrl, 'SELECT 1 FROM discrepancies WHERE record_id = $1', [id])).toEqual([])
  })

  test('for a completed record opens a discrepancy only if it contradicts the charge, and never changes the answer', async () => {
    const key = freshKey()
    const order = orderBody()
    const first = await site.client.order(key, order)
    const record = await rowOf(site, key)
    const { id } = record
    const found = () =>
      runSql<{ kind: string }>(site.databaseUrl, 'SELECT kind FROM discrepancies WHERE record_id = $1', [id])
    const { providerRef } = first.json<OrderView>().payment!
    expect((await post(site, JSON.stringify(eventOf(record, providerRef)))).status).toBe(200)
    expect(await found()).toEqual([])
    expect((await post(site, JSON.stringify(eventOf(record, 'sbx_ch_another')))).status).toBe(200)
    expect(await found()).toEqual([{ kind: 'contradicting_evidence' }])
    expect((await site.client.order(key, order)).bytes).toEqual(first.bytes)
  })

  test.each([
    ['another amount', { amountCents: 1 }],
    ['another currency', { currency: 'JPY' }],
    ['another order', { orderId: 'ord_of_somebody_else' }],
  ])('for %s settles nothing: a person decides, and the client is told to wait for that', async (_, data) => {
    const { key, order, id, ...record } = await unknownOrder()
    const strange = eventOf({ id, ...record }, `sbx_ch_strange_${id}`, {}, data)
    expect((await post(site, JSON.stringify(strange))).status).toBe(200)
    const problem = expectProblem(await site.client.order(key, order), 409, 'idempotency_outcome_unknown', 'later')
    expect(problem.retry.afterSeconds).toBe(300)
    expect(problem.detail).toContain('a person has to decide')
    expect((await post(site, JSON.stringify(eventOf({ id, ...record }, `sbx_ch_right_${id}`)))).status).toBe(200)
    expect(
      await runSql(
        site.databaseUrl,
        `SELECT state, last_error_code, dead_lettered_at IS NOT NULL AS dead FROM idempotency_records WHERE id = $1`,
        [id],
      ),
    ).toEqual([{ state: 'unknown', last_error_code: 'amount_differs', dead: true }])
    expect(await runSql(site.databaseUrl, 'SELECT kind FROM discrepancies WHERE record_id = $1', [id])).toEqual([
      { kind: 'amount_differs' },
    ])
  })

  test('about an unknown record or of an unknown type gets 200', async () => {
    const unknownObjects = [
      eventOf({ id: 'idem_01k0000000000000000000000', resource_id: 'ord_1' }, 'ch_1'),
      eventOf({ id: 'idem_01k00000000000000000000000', resource_id: 'ord_1' }, 'ch_2'),
      eventOf({ id: 'x', resource_id: 'ord_1' }, 'ch_3', {}, { providerKey: 'somebody-else-s-key' }),
      { id: 'evt_later', type: 'dispute.opened', data: { anything: true } },
    ]
    for (const event of unknownObjects) expect((await post(site, JSON.stringify(event))).status).toBe(200)
  })

  test('is the only accepted kind when the gateway is the sandbox: the Stripe webhook path is 404', async () => {
    expectProblem(
      await post(site, '{}', { path: '/api/webhooks/stripe', header: 'stripe-signature' }),
      404,
      'not_found',
      'none',
    )
  })
})

describe('a webhook while the database is unreachable', () => {
  test('gets 503, and completes the record when it is delivered again after the outage', async () => {
    const [postgres, databaseUrl] = await startMigratedPostgres()
    const env = { ...SECRETS, ...SHORT_TIMES, SANDBOX_WEBHOOK_SECRET: SECRET }
    const node = await startNode({ databaseUrl, env })
    try {
      const key = freshKey()
      await createClient(node.url).order(key, orderBody({ paymentMethod: 'pm_timeout_charged' }))
      const [row] = await runSql<{ id: string; resource_id: string; ref: string }>(
        databaseUrl,
        'SELECT r.id, r.resource_id, c.ref FROM idempotency_records r, sandbox.charges c WHERE r.key = $1',
        [key],
      )
      const event = JSON.stringify(eventOf(row!, row!.ref))
      await postgres.stop({ mode: 'immediate' })
      expectProblem(await post(node, event), 503, 'idempotency_store_unavailable', 'later')
      await postgres.start()
      await until(
        () => post(node, event),
        ({ status }) => status === 200,
      )
      const record = await createClient(node.url).record(key)
      expect(record.json<RecordView>().state).toBe('completed')
    } finally {
      await node.stop()
      await postgres.remove()
    }
  })
})

describe('the sandbox with webhooks enabled', () => {
  let site: Site
  let second: Awaited<ReturnType<typeof startNode>>
  /** After the client was told that nobody knows. */
  const DELAY_MS = 3500
  beforeAll(async () => {
    const env = { SANDBOX_WEBHOOK_DELAY_MS: String(DELAY_MS), SANDBOX_IDEMPOTENT: 'false' }
    site = await openSite(env)
    second = await startNode({ databaseUrl: site.databaseUrl, env: { ...SECRETS, ...SHORT_TIMES, ...env } })
  })
  afterAll(async () => {
    await second?.stop()
    await site?.close()
  })

  const becomes = (key: string, state: string, endpoint?: string) =>
    until(
      async () => (await site.client.record(key, endpoint)).json<RecordView>(),
      (record) => record.state === state,
    )

  test('completes the record of a charge whose answer timed out, without a retry by the client', async () => {
    const key = freshKey()
    const order = orderBody({ paymentMethod: 'pm_timeout_charged' })
    expectProblem(await site.client.order(key, order), 504, 'payment_outcome_unknown', 'later')
    await becomes(key, 'completed')
    const again = await createClient(second.url).order(key, order)
    expect(again.status).toBe(201)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(await countCharges(site.url, order.customerId)).toBe(1)
  })

  test('completes the record of a charge that the provider books late', async () => {
    const key = freshKey()
    const order = orderBody({ paymentMethod: 'pm_late_4000_once' })
    expectProblem(await site.client.order(key, order), 504, 'payment_outcome_unknown', 'later')
    await becomes(key, 'completed')
    expect((await site.client.order(key, order)).status).toBe(201)
    expect(await countCharges(site.url, order.customerId)).toBe(1)
  })

  test('completes the record of a refund whose answer timed out', async () => {
    const order = (await site.client.order(freshKey(), orderBody())).json<OrderView>()
    const key = freshKey()
    const refund = { amountCents: 1000, reason: 'sandbox:timeout_charged' }
    expectProblem(await site.client.refund(order.id, key, refund), 504, 'payment_outcome_unknown', 'later')
    await becomes(key, 'completed', REFUNDS)
    expect((await site.client.refund(order.id, key, refund)).status).toBe(201)
    expect((await site.client.get(`/api/orders/${order.id}`)).json<OrderView>()).toMatchObject({ refundedCents: 1000 })
  })

  test('reports each entry once over two nodes, without opening a discrepancy', async () => {
    const orders = await Promise.all(
      [site.client, createClient(second.url)].flatMap((client) =>
        ['pm_ok', 'pm_declined', 'pm_error_once'].map((paymentMethod) =>
          client.order(freshKey(), orderBody({ paymentMethod })),
        ),
      ),
    )
    expect(orders.map(({ status }) => status).sort()).toEqual([201, 201, 402, 402, 504, 504])
    interface Counts {
      undelivered: number
      events: number
      entries: number
      evidence: number
    }
    const counts = async () => {
      const [row] = await runSql<Counts>(
        site.databaseUrl,
        `SELECT (SELECT count(*) FROM sandbox.events WHERE delivered_at IS NULL)::int AS undelivered,
          (SELECT count(*) FROM sandbox.events)::int AS events, (SELECT count(*) FROM sandbox.charges)::int AS entries,
          (SELECT count(*) FROM evidence WHERE source = 'webhook')::int AS evidence`,
      )
      return row!
    }
    const { events, entries, evidence } = await until(counts, ({ undelivered }) => undelivered === 0)
    expect(events).toBe(entries)
    expect(evidence).toBe(events)
    expect(await runSql(site.databaseUrl, 'SELECT kind FROM discrepancies')).toEqual([])
    expect(await runSql(site.databaseUrl, `SELECT id FROM idempotency_records WHERE state <> 'completed'`)).toEqual([])
  })
})

describe('a Stripe webhook', () => {
  let site: Site
  beforeAll(async () => {
    site = await openSite({
      GATEWAY: 'stripe',
      STRIPE_SECRET_KEY: 'sk_test_none',
      STRIPE_WEBHOOK_SECRET: SECRET,
      // nobody is there
      STRIPE_API_URL: 'http://127.0.0.1:1',
    })
  })
  afterAll(() => site?.close())

  const stripe = { path: '/api/webhooks/stripe', header: 'stripe-signature' }
  const intentEvent = (recordId: string, id = `evt_${randomUUID()}`) =>
    JSON.stringify({
      id,
      object: 'event',
      type: 'payment_intent.succeeded',
      data: {
        object: {
          id: `pi_${recordId}`,
          object: 'payment_intent',
          status: 'succeeded',
          amount: 2500,
          currency: 'usd',
          metadata: { onceover_key: `onceover-${recordId}` },
        },
      },
    })

  test('completes the record of its payment intent, and changes nothing when it is delivered again', async () => {
    const key = freshKey()
    const order = orderBody()
    expectProblem(await site.client.order(key, order), 503, 'payment_provider_unavailable', 'later')
    const { id } = await rowOf(site, key)
    const event = intentEvent(id)
    expect((await post(site, event, stripe)).status).toBe(200)
    const settled = await rowOf(site, key)
    expect(settled.state).toBe('completed')
    expect((await post(site, event, stripe)).status).toBe(200)
    expect(await rowOf(site, key)).toEqual(settled)
    const again = await site.client.order(key, order)
    expect(again.status).toBe(201)
    expect(again.json<OrderView>().payment?.providerRef).toBe(`pi_${id}`)
  })

  test('gets 400 with a bad, old or missing signature, and 200 for a foreign payment intent', async () => {
    const event = intentEvent('idem_01k00000000000000000000000')
    expectProblem(await post(site, event, { ...stripe, secret: 'another' }), 400, 'invalid_signature', 'none')
    expectProblem(await post(site, event, { ...stripe, at: nowSeconds() - 310 }), 400, 'invalid_signature', 'none')
    expectProblem(await post(site, event, { ...stripe, signature: null }), 400, 'invalid_signature', 'none')
    const theirs = event.replace(/"onceover_key":"[^"]*"/, '"their_key":"1"')
    expect((await post(site, theirs, stripe)).status).toBe(200)
    expect(await runSql(site.databaseUrl, `SELECT 1 FROM evidence WHERE detail->>'ref' LIKE '%01k0000%'`)).toEqual([])
  })

  test('is the only accepted kind when the gateway is Stripe: the sandbox webhook path is 404', async () => {
    expectProblem(await post(site, '{}'), 404, 'not_found', 'none')
  })
})
