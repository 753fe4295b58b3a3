// A Stripe account that makes more payment intents than one look-up can read in its time: the look-up is continued from
// where it stopped, whoever asks next, until everything of the window was read.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AnyOperation } from '../../lib/idempotency/operation'
import { migrateJobs } from '../../lib/jobs/worker'
import { runOnce } from '../../lib/maintenance/daemon'
import type { OrderRequest } from '../../lib/orders/schema'
import { createStripe } from '../../lib/payments/stripe'
import { type Reconciliation, reconcile } from '../../lib/reconciliation/reconcile'
import { reconciler } from '../../lib/reconciliation/reconciler'
import { answerOf, newKey, openBench, orderOf, toldBy } from '../support/boundary'
import {
  answered,
  apiError,
  listOf,
  paymentIntent,
  type Reply,
  type SeenRequest,
  type StripeObject,
  type StripeServer,
  seconds,
  startStripe,
} from '../support/stripe-server'

const TIME_LIMIT_MS = 1000
const PER_SECOND = 20
/** As far back as a look-up reads, and a little more: the margin for clocks is five minutes. */
const BUSY_SECONDS = 330
/** The page after so many is not answered any more, which ends the look-up. */
const PAGES_IN_TIME = 25

let bench: Awaited<ReturnType<typeof openBench>>
let stripe: StripeServer
let key: string
let body: OrderRequest
/** What the account has, and what a request to charge gets. */
let intents: StripeObject[]
let charge: (request: SeenRequest) => Reply
/** How the page that is too much ends. */
let tooMuch: Reply

beforeAll(async () => {
  bench = await openBench()
  await migrateJobs(bench.url)
})
afterAll(() => bench?.close())

beforeEach(async () => {
  stripe = await startStripe()
  key = newKey()
  body = orderOf()
  intents = Array.from({ length: BUSY_SECONDS * PER_SECOND }, (_, n) =>
    paymentIntent({
      id: `pi_${n}`,
      created: seconds(-Math.floor(n / PER_SECOND)),
      metadata: { onceover_key: `other_${n}` },
    }),
  )
  charge = () => 'reset'
  tooMuch = 'reset'
  let read = 0
  stripe.reply((request) => {
    if (request.method === 'POST') return charge(request)
    read += 1
    return read % (PAGES_IN_TIME + 1) === 0 ? tooMuch : listOf(intents)(request)
  })
})
afterEach(() => stripe.close())

/** A process of its own has a gateway of its own: nothing is remembered but what is in the database. */
const gateway = () => createStripe({ secretKey: 'sk_test_1', timeLimitMs: TIME_LIMIT_MS, api: stripe.api })
const place = () => bench.place(gateway(), body, { key })
const record = () => bench.recordOf(key)

function reconciliation(): Reconciliation {
  const all: AnyOperation[] = [bench.placeOrder(gateway())]
  const operations = new Map(all.map((operation) => [operation.endpoint, operation]))
  return { boundary: bench.boundary, operations, intervalMs: 30_000, maxAttempts: 2 }
}
const lookUp = async () => reconcile(reconciliation(), (await record()).id, 'reconciler')
const runReconciler = () => runOnce(reconciler({ ...reconciliation(), lookUpLimitMs: TIME_LIMIT_MS }))

const settleWindowOver = () =>
  bench.rows(
    `UPDATE idempotency_records SET settles_at = clock_timestamp() - interval '2 ms',
       doubt_until = clock_timestamp() - interval '2 ms', reconcile_after = clock_timestamp() - interval '2 ms'
     WHERE key = $1`,
    [key],
  )

/** References are unique in the ledger. */
const ours = () => `pi_${key}`

const lists = () => stripe.seen.filter(({ method }) => method === 'GET')
const calls = () => stripe.seen.filter(({ method }) => method === 'POST')
const verdicts = async () =>
  (await record()).timeline.flatMap((event) =>
    event.event === 'looked_up' ? [(event as typeof event & { verdict: string }).verdict] : [],
  )

async function loseTheCall(): Promise<void> {
  expect(toldBy(await place())).toBe('outcome_unknown')
}

/** The account's own object for what was asked for. */
const chargedFor = ({ params }: SeenRequest, fields: Partial<StripeObject> = {}): StripeObject =>
  paymentIntent({
    id: ours(),
    amount: Number(params.get('amount')),
    currency: params.get('currency')!,
    metadata: { onceover_key: params.get('metadata[onceover_key]')! },
    ...fields,
  })

describe('an unknown outcome at a busy account', () => {
  it('is proven not executed in one run, by look-ups that continue each other and count as one', async () => {
    tooMuch = 'silence'
    await loseTheCall()
    await settleWindowOver()
    expect(await runReconciler()).toEqual({ unfinished: expect.any(Number), lookUps: 1, not_found: 1, settled: 1 })
    expect(await record()).toMatchObject({ state: 'failed_retryable', last_error_code: 'not_executed' })
    expect((await verdicts()).every((verdict) => verdict === 'unfinished')).toBe(true)
    expect((await verdicts()).length).toBeGreaterThan(1)

    // Each page once, but for those without an answer, which were asked for again.
    const after = lists().map(({ params }) => params.get('starting_after'))
    expect(after.length - new Set(after).size).toBeLessThanOrEqual((await verdicts()).length)
    const bounds = new Set(lists().map(({ params }) => `${params.get('created[gte]')} ${params.get('created[lte]')}`))
    expect(bounds.size).toBe(1)
  })

  it('is settled with a charge that is at the far end of the list', async () => {
    await loseTheCall()
    await settleWindowOver()
    intents.push(chargedFor(calls()[0]!, { created: seconds(-300) }))
    expect(await runReconciler()).toMatchObject({ lookUps: 1, succeeded: 1, settled: 1 })
    expect(await record()).toMatchObject({ state: 'completed', response_status: 201, effect_ref: ours() })
  })

  it('is read on by another process from where one that was killed had stopped', async () => {
    await loseTheCall()
    await settleWindowOver()
    expect(await lookUp()).toMatchObject({ verdict: 'unfinished', state: 'unknown' })
    const kept = await record()
    expect(kept).toMatchObject({ reconcile_attempts: 0, dead_lettered_at: null })
    expect(kept.reconcile_after!.getTime()).toBeLessThanOrEqual(Date.now() + 1000)

    const before = lists().length
    await lookUp()
    const last = lists()[before - 1]!.params.get('starting_after')
    expect(lists()[before]!.params.get('starting_after')).toBe(last)
    expect(last).not.toBeNull()
  })

  it('keeps nothing of a look-up that started before the settle window was over', async () => {
    await loseTheCall()
    expect(await lookUp()).toMatchObject({ verdict: 'unfinished', state: 'unknown' })
    expect(await record()).toMatchObject({ look_up_progress: null, reconcile_attempts: 0 })
    expect(await verdicts()).toEqual(['too_early'])

    const before = lists().length
    await settleWindowOver()
    await lookUp()
    expect(lists()[before]!.params.get('starting_after')).toBeNull()
  })
})

describe('a further attempt at a busy account', () => {
  it('calls at once, without a look-up, when every attempt before was refused with a 429', async () => {
    charge = () => apiError(429, { type: 'invalid_request_error', code: 'rate_limit' })
    for (let i = 0; i < 3; i++) expect(toldBy(await place())).toBe('not_executed')
    charge = (request) => answered(chargedFor(request))
    expect(toldBy(await place())).toBe('201')
    expect(calls()).toHaveLength(4)
    expect(lists()).toEqual([])
  })

  it('of a record in doubt continues the look-up of the attempt before, and calls once it has read everything', async () => {
    await loseTheCall()
    await settleWindowOver()
    await runReconciler()
    charge = (request) => answered(chargedFor(request))
    const read = lists().length
    expect(toldBy(await place())).toBe('not_executed')
    expect(await record()).toMatchObject({ state: 'failed_retryable', last_error_code: 'look_up_unfinished' })
    expect(calls()).toHaveLength(1)

    let told = ''
    for (let i = 0; i < 20 && told !== '201'; i++) told = toldBy(await place())
    expect(told).toBe('201')
    expect(calls()).toHaveLength(2)
    const after = lists()
      .slice(read)
      .map(({ params }) => params.get('starting_after'))
    expect(after.filter((place) => place === null)).toHaveLength(1)
    expect(JSON.parse(answerOf(await place()).body).payment.providerRef).toBe(ours())
  })

  it('that is left in doubt itself is looked up from the beginning, in its own window', async () => {
    await loseTheCall()
    await settleWindowOver()
    await runReconciler()
    expect(toldBy(await place())).toBe('not_executed')
    expect((await record()).look_up_progress).not.toBeNull()
    // It is as if its process had died while it went on with the look-up.
    await bench.rows(
      `UPDATE idempotency_records SET state = 'in_progress', attempt = attempt + 1, version = version + 1,
         locked_until = clock_timestamp() - interval '1 ms', locked_by = 'node-2', timeline = timeline || '[{"event": "claimed"}]'
       WHERE key = $1`,
      [key],
    )
    expect(toldBy(await place())).toBe('unknown')
    await bench.rows(`UPDATE idempotency_records SET settles_at = clock_timestamp() - interval '1 ms' WHERE key = $1`, [
      key,
    ])
    const before = lists().length
    await lookUp()
    expect(lists()[before]!.params.get('starting_after')).toBeNull()
  })
})
