import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AnyOperation } from '../../lib/idempotency/operation'
import { providerKeyOf } from '../../lib/idempotency/record'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { findWithRequest } from '../../lib/idempotency/store/find'
import { retryAfterSeconds } from '../../lib/idempotency/view'
import { enqueueAccepted } from '../../lib/jobs/enqueue'
import { runAcceptedJob } from '../../lib/jobs/run-accepted'
import { migrateJobs } from '../../lib/jobs/worker'
import { runOnce } from '../../lib/maintenance/daemon'
import { sweeper } from '../../lib/maintenance/sweeper'
import { applyProviderEvent } from '../../lib/reconciliation/evidence'
import { reconcile } from '../../lib/reconciliation/reconcile'
import { reconciler } from '../../lib/reconciliation/reconciler'
import {
  barrier,
  declined,
  found,
  newKey,
  openBench,
  orderOf,
  reported,
  type ScriptedGateway,
  scriptedGateway,
  timedOut,
} from '../support/boundary'

let bench: Awaited<ReturnType<typeof openBench>>
let gateway: ScriptedGateway
let operations: Map<string, AnyOperation>

beforeAll(async () => {
  bench = await openBench()
  await migrateJobs(bench.url)
})
afterAll(() => bench?.close())
beforeEach(async () => {
  await bench.rows('TRUNCATE idempotency_records, orders, refunds, ledger_entries, evidence CASCADE')
  gateway = scriptedGateway()
  const order = bench.placeOrder(gateway) as AnyOperation
  const refund = bench.refundOrder(gateway) as AnyOperation
  operations = new Map([order, refund].map((operation) => [operation.endpoint, operation]))
})

const options = (maxAttempts = 3) => ({
  boundary: bench.boundary,
  operations,
  intervalMs: 1000,
  maxAttempts,
  lookUpLimitMs: 1000,
})
const run = (maxAttempts?: number) => runOnce(reconciler(options(maxAttempts)))

async function unknownOrder(changes: { acceptedAs?: true } = {}): Promise<string> {
  const key = newKey()
  gateway.nextCall(timedOut)
  if (changes.acceptedAs) {
    await bench.place(gateway, orderOf(), { key, acceptedAs: enqueueAccepted })
    await runAcceptedJob(bench.boundary, operations, (await bench.recordOf(key)).id)
  } else await bench.place(gateway, orderOf(), { key })
  expect((await bench.recordOf(key)).state).toBe('unknown')
  return key
}

const settleWindowOver = (key: string) =>
  bench.rows(
    `UPDATE idempotency_records SET settles_at = clock_timestamp() - interval '1 ms',
       reconcile_after = clock_timestamp() - interval '1 ms'
     WHERE key = $1`,
    [key],
  )
// The column keeps milliseconds and rounds: "now" may be half a millisecond ahead, and then nothing is due yet.
const dueNow = (key: string) =>
  bench.rows(`UPDATE idempotency_records SET reconcile_after = clock_timestamp() - interval '1 ms' WHERE key = $1`, [
    key,
  ])

describe('the reconciler', () => {
  it('stores the 201 that the client should have had when the provider has the charge', async () => {
    const key = await unknownOrder()
    gateway.nextLookUp(() => found('ch_1'))
    expect(await run()).toEqual({ lookUps: 1, succeeded: 1, settled: 1 })
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', response_status: 201, effect_ref: 'ch_1' })
    expect(await bench.rows('SELECT status FROM orders')).toEqual([{ status: 'paid' }])
    expect(await bench.rows('SELECT provider_ref, status FROM ledger_entries')).toEqual([
      { provider_ref: 'ch_1', status: 'succeeded' },
    ])
    expect(await bench.rows('SELECT source, verdict FROM evidence')).toEqual([
      { source: 'look_up', verdict: 'succeeded' },
    ])
  })

  it('stores the 402 when the only attempt was declined', async () => {
    const key = await unknownOrder()
    gateway.nextLookUp(() => ({ kind: 'declined', providerRef: 'ch_2' }))
    await run()
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', response_status: 402 })
    expect(await bench.rows('SELECT status FROM orders')).toEqual([{ status: 'declined' }])
  })

  it('takes "no such charge" for proof only if the look-up began after the settle window', async () => {
    const key = await unknownOrder()
    const asked = barrier()
    gateway.nextLookUp(() => asked.pass().then(() => ({ kind: 'not_found' }) as const))
    const running = run()
    await asked.reached
    // The window ends while the look-up is under way: it began too early all the same.
    await bench.rows(`UPDATE idempotency_records SET settles_at = clock_timestamp() - interval '1 ms' WHERE key = $1`, [
      key,
    ])
    asked.open()
    await running
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', reconcile_attempts: 0 })

    await settleWindowOver(key)
    expect(await run()).toEqual({ lookUps: 1, not_found: 1, settled: 1 })
    expect((await bench.recordOf(key)).state).toBe('failed_retryable')
  })

  it('reschedules to the end of the settle window without counting the look-up or raising the version', async () => {
    const key = await unknownOrder()
    const before = await bench.recordOf(key)
    await run()
    const after = await bench.recordOf(key)
    expect(after).toMatchObject({ state: 'unknown', reconcile_attempts: 0, version: before.version })
    expect(after.reconcile_after).toEqual(after.settles_at)
    expect(await run()).toEqual({})
  })

  it('looks up at growing intervals while the provider is unreachable, then dead-letters the key and stops', async () => {
    const key = await unknownOrder()
    gateway.nextLookUp(...Array.from({ length: 3 }, () => () => ({ kind: 'unreachable', code: 'down' }) as const))
    const pauses: number[] = []
    for (let i = 0; i < 2; i++) {
      await run()
      const [row] = await bench.rows<{ pause: number }>(
        `SELECT extract(epoch FROM reconcile_after - clock_timestamp())::float8 AS pause FROM idempotency_records`,
      )
      pauses.push(row!.pause)
      await dueNow(key)
    }
    expect(pauses[0]).toBeLessThanOrEqual(1)
    expect(pauses[1]).toBeGreaterThan(1)
    expect(await run()).toEqual({ lookUps: 1, unreachable: 1, deadLettered: 1 })
    const record = await bench.recordOf(key)
    expect(record).toMatchObject({ state: 'unknown', reconcile_attempts: 3, reconcile_after: null })
    expect(record.dead_lettered_at).not.toBeNull()
    expect(await run()).toEqual({})
  })

  it('has clients told to come back at once while it looks a key up, and after the pause when there was no answer', async () => {
    const key = await unknownOrder()
    const retryIn = async () => {
      const { id } = await bench.recordOf(key)
      return retryAfterSeconds((await findWithRequest(bench.store, id))!.record)
    }
    const look = barrier()
    gateway.nextLookUp(() => look.pass().then(() => ({ kind: 'unreachable', code: 'down' }) as const))
    const running = runOnce(reconciler({ ...options(), intervalMs: 60_000 }))
    await look.reached
    expect(await retryIn()).toBe(1)
    look.open()
    await running
    expect(await retryIn()).toBe(60)
  })

  it('leaves a dead letter of other money as it is when that became known during a look-up without an answer', async () => {
    const key = await unknownOrder()
    const { id: recordId } = await bench.recordOf(key)
    const look = barrier()
    gateway.nextLookUp(() => look.pass().then(() => ({ kind: 'unreachable', code: 'down' }) as const))
    const running = run()
    await look.reached
    const event = reported('ch_other', { amountCents: 1, currency: 'JPY' })
    await applyProviderEvent(bench.boundary, operations, {
      id: 'evt_other',
      providerKey: providerKeyOf(recordId),
      outcome: event,
    })
    const before = await bench.recordOf(key)
    expect(before).toMatchObject({
      last_error_code: 'amount_differs',
      reconcile_after: null,
      dead_lettered_at: expect.any(Date),
    })
    look.open()
    await running
    expect(await bench.recordOf(key)).toEqual(before)
  })

  it('looks up each key once when two reconcilers run at the same time', async () => {
    for (let i = 0; i < 5; i++) await unknownOrder()
    gateway.nextLookUp(...Array.from({ length: 5 }, () => () => found()))
    const [first, second] = await Promise.all([run(), run()])
    expect((first.settled ?? 0) + (second.settled ?? 0)).toBe(5)
    expect(gateway.lookUps).toHaveLength(5)
    expect(await bench.rows('SELECT count(*)::int AS n FROM ledger_entries')).toEqual([{ n: 5 }])
  })

  it('writes nothing when the record was settled during the look-up', async () => {
    const key = await unknownOrder()
    const { id } = await bench.recordOf(key)
    const asked = barrier()
    gateway.nextLookUp(
      () => asked.pass().then(() => ({ kind: 'declined', providerRef: 'ch_late' }) as const),
      () => found('ch_first'),
    )
    const slow = reconcile(options(), id, 'slow')
    await asked.reached
    expect(await reconcile(options(), id, 'fast')).toMatchObject({ settled: true, state: 'completed' })
    asked.open()
    expect(await slow).toMatchObject({ settled: false })
    expect(await bench.recordOf(key)).toMatchObject({ response_status: 201, effect_ref: 'ch_first' })
  })

  it('does not settle a key of two attempts by one decline before the settle window is over', async () => {
    const key = newKey()
    gateway.nextCall(() => ({ kind: 'not_executed', code: 'refused' }), timedOut)
    const body = orderOf()
    await bench.place(gateway, body, { key })
    await bench.place(gateway, body, { key })
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', attempt: 2 })
    gateway.nextLookUp(
      () => ({ kind: 'declined', providerRef: 'ch_3' }),
      () => ({ kind: 'declined', providerRef: 'ch_3' }),
    )
    await run()
    expect((await bench.recordOf(key)).state).toBe('unknown')
    await settleWindowOver(key)
    await run()
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', response_status: 402 })
  })

  it('has the worker run an accepted request again when it was not executed', async () => {
    const key = await unknownOrder({ acceptedAs: true })
    await settleWindowOver(key)
    await bench.rows('DELETE FROM graphile_worker._private_jobs')
    await run()
    const record = await bench.recordOf(key)
    expect(record).toMatchObject({ state: 'failed_retryable', attempt: 1 })
    const jobs = await bench.rows<{ key: string }>('SELECT key FROM graphile_worker.jobs')
    expect(jobs).toEqual([{ key: record.id }])
    await runAcceptedJob(bench.boundary, operations, record.id)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', attempt: 2 })
  })

  it('releases the held amount of a refund that was not executed', async () => {
    const orderId = await bench.paidOrder(1000)
    const key = newKey()
    gateway.nextCall(timedOut)
    await bench.refund(gateway, orderId, { amountCents: 400 }, { key })
    expect(await bench.rows('SELECT held_cents FROM orders')).toEqual([{ held_cents: '400' }])
    await settleWindowOver(key)
    await run()
    expect(await bench.rows('SELECT held_cents, refunded_cents FROM orders')).toEqual([
      { held_cents: '0', refunded_cents: '0' },
    ])
  })

  it('reports the provider’s verdict and changes nothing when the outcome is already known', async () => {
    const key = newKey()
    gateway.nextCall(() => declined('ch_4'))
    await bench.place(gateway, orderOf(), { key })
    const before = await bench.recordOf(key)
    gateway.nextLookUp(() => found('ch_5'))
    expect(await reconcile(options(), before.id, 'operator')).toMatchObject({ verdict: 'succeeded', settled: false })
    expect(await bench.recordOf(key)).toEqual(before)
  })

  it('counts the due look-ups in a dry run without calling the provider', async () => {
    await unknownOrder()
    expect(await runOnce(reconciler(options()), { dryRun: true })).toEqual({ lookUps: 1 })
    expect(gateway.lookUps).toHaveLength(0)
  })

  it('releases a refund that the reservation ruled out and whose owner died; a retry gets the stored refusal', async () => {
    const key = newKey()
    const dead = {
      ...bench.boundary,
      step: (step: string) => (step === 'reserved' ? new Promise<void>(() => {}) : undefined),
    }
    void bench.refund(gateway, 'ord_none', {}, { key, boundary: dead })
    await expect.poll(() => bench.rows('SELECT 1 FROM idempotency_records WHERE key = $1', [key])).toHaveLength(1)
    await bench.endLease(key)
    await runOnce(sweeper(bench.boundary, operations))
    await settleWindowOver(key)
    expect(await run()).toMatchObject({ not_found: 1, settled: 1 })
    expect(gateway.lookUps).toHaveLength(0)
    const retried = await bench.refund(gateway, 'ord_none', {}, { key })
    expect(retried).toMatchObject({ kind: 'answered', answer: { status: 404 } })
    const { id } = await bench.recordOf(key)
    expect(await reconcile(options(), id, 'operator')).toMatchObject({ settled: false })
  })

  it('goes on after a look-up that throws, and counts that look-up', async () => {
    const [broken, fine] = [await unknownOrder(), await unknownOrder()]
    const { id } = await bench.recordOf(broken)
    const answer = (request: { providerKey: string }) => {
      if (request.providerKey.endsWith(id)) throw new Error('a bug')
      return found()
    }
    gateway.nextLookUp(answer, answer)
    await run()
    expect(await bench.recordOf(broken)).toMatchObject({ state: 'unknown', reconcile_attempts: 1 })
    expect((await bench.recordOf(fine)).state).toBe('completed')
  })

  it('opens a discrepancy for a charge that another record has booked, and finally dead-letters the key', async () => {
    const [first, second] = [await unknownOrder(), await unknownOrder()]
    gateway.nextLookUp(
      () => found('ch_same'),
      () => found('ch_same'),
      () => found('ch_same'),
    )
    await run(2)
    const states = [await bench.recordOf(first), await bench.recordOf(second)]
    const stuck = states.find(({ state }) => state === 'unknown')!
    expect(states.filter(({ state }) => state === 'completed')).toHaveLength(1)
    await dueNow(String(stuck.key))
    expect(await run(2)).toMatchObject({ deadLettered: 1 })
    expect(await bench.rows(`SELECT kind FROM discrepancies WHERE record_id = $1`, [stuck.id])).toEqual([
      { kind: 'unbookable_evidence' },
    ])
  })

  it('settles a refund by its stored evidence instead of releasing the held amount', async () => {
    const orderId = await bench.paidOrder(1000)
    const key = newKey()
    gateway.nextCall(timedOut)
    await bench.refund(gateway, orderId, {}, { key })
    await settleWindowOver(key)
    const { id } = await bench.recordOf(key)
    gateway.nextLookUp(async () => {
      const executed = { kind: 'succeeded', ref: 're_seen' } as const
      await recordEvidence(
        { store: bench.store },
        { recordId: id, source: 'webhook', sourceId: 'evt_r', attempt: null, executed },
      )
      return { kind: 'not_found' }
    })
    await run()
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', response_status: 201, effect_ref: 're_seen' })
    expect(await bench.rows('SELECT held_cents, refunded_cents FROM orders')).toEqual([
      { held_cents: '0', refunded_cents: '1000' },
    ])
    expect(await bench.recordOf(key)).not.toMatchObject({
      timeline: expect.arrayContaining([expect.objectContaining({ event: 'released' })]),
    })
  })

  it('counts look-ups from zero for each attempt', async () => {
    const key = newKey()
    const body = orderOf()
    gateway.nextCall(timedOut, timedOut)
    await bench.place(gateway, body, { key })
    gateway.nextLookUp(() => ({ kind: 'unreachable', code: 'down' }))
    await run()
    await settleWindowOver(key)
    await run()
    await bench.place(gateway, body, { key })
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', attempt: 2, reconcile_attempts: 0 })
  })
})
