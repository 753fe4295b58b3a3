// A request that is accepted and run by a worker: its job commits with it, it is claimed like any attempt, and what
// nobody takes up in time ends with a stored answer.
import sql from 'sql-template-tag'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import type { Tx } from '../../lib/db/store'
import type { AnyOperation } from '../../lib/idempotency/operation'
import { RUN_ACCEPTED } from '../../lib/jobs/enqueue'
import { runAcceptedJob } from '../../lib/jobs/run-accepted'
import { migrateJobs, startWorker } from '../../lib/jobs/worker'
import { accepted, answerOf, barrier, charged, declined, refused, timedOut, toldBy } from '../support/boundary'
import { bench, body, gateway, key, place } from './one-key'

beforeAll(() => migrateJobs(bench.url))

const operations = () => {
  const all: AnyOperation[] = [bench.placeOrder(gateway), bench.refundOrder(gateway)]
  return new Map(all.map((operation) => [operation.endpoint, operation]))
}
const work = async (of = key) => runAcceptedJob(bench.boundary, operations(), (await bench.recordOf(of)).id)
const jobs = async () =>
  bench.rows<{ task_identifier: string; run_at: Date; later: boolean }>(
    `SELECT task_identifier, run_at, run_at > clock_timestamp() AS later FROM graphile_worker.jobs WHERE key = $1`,
    [(await bench.recordOf(key)).id],
  )
const orders = () =>
  bench.rows(
    `SELECT o.status, l.status AS ledger FROM orders o LEFT JOIN ledger_entries l ON l.order_id = o.id
     WHERE o.customer_id = $1`,
    [body.customerId],
  )

describe('an accepted request', () => {
  it('is stored as pending with its order and its job in one transaction, without a provider call', async () => {
    const sent = await bench.sentBy(async () => {
      const outcome = await place(accepted)
      expect(outcome).toMatchObject({ kind: 'accepted', created: true, record: { state: 'pending', async: true } })
    })
    expect(sent.filter((text) => text === 'COMMIT')).toHaveLength(1)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'pending', attempt: 0, timeline: [{ event: 'accepted' }] })
    expect(await jobs()).toMatchObject([{ task_identifier: RUN_ACCEPTED, later: false }])
    expect(await orders()).toEqual([{ status: 'pending_payment', ledger: null }])
    expect(gateway.calls).toEqual([])
  })

  it('leaves neither record nor order when its job is refused', async () => {
    const tooLong = async (tx: Tx) => {
      await tx.query(sql`SELECT graphile_worker.add_job(repeat('x', 200))`)
    }
    await expect(place({ acceptedAs: tooLong })).rejects.toMatchObject({ code: '23514' })
    expect(await bench.rows('SELECT 1 FROM idempotency_records WHERE key = $1', [key])).toEqual([])
    expect(await orders()).toEqual([])
  })

  it('is created once when 20 identical requests arrive at the same time', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => place(accepted)))
    expect(outcomes.map(toldBy)).toEqual(Array(20).fill('accepted'))
    expect(outcomes.filter((outcome) => outcome.kind === 'accepted' && outcome.created)).toHaveLength(1)
    expect(await jobs()).toHaveLength(1)
  })

  it('gives the accepted answer to every duplicate, whether it waits or not', async () => {
    await place(accepted)
    expect(await place()).toMatchObject({ kind: 'accepted', created: false })
    expect(await place({ waitMs: 100 })).toMatchObject({ kind: 'accepted', created: false })
    expect(gateway.calls).toEqual([])
  })

  it('is claimed and settled by the worker, and then replayed', async () => {
    await place(accepted)
    await work()
    const record = await bench.recordOf(key)
    expect(record).toMatchObject({ state: 'completed', attempt: 1, response_status: 201 })
    expect(record.timeline.map(({ event }) => event)).toEqual(['accepted', 'claimed', 'settled'])
    expect(await orders()).toEqual([{ status: 'paid', ledger: 'succeeded' }])
    expect(gateway.lookUps).toEqual([])
    const replayed = await place(accepted)
    expect(toldBy(replayed)).toBe('201 replayed')
    expect(answerOf(replayed).body).toBe(record.response_body)
  })

  it('is run once when three workers take its job at once and another one later', async () => {
    await place(accepted)
    await Promise.all([work(), work(), work()])
    await work()
    expect(gateway.calls).toHaveLength(1)
    expect((await bench.recordOf(key)).attempt).toBe(1)
  })

  it('gives a duplicate the accepted answer while a worker runs it', async () => {
    const call = barrier()
    gateway.nextCall(async () => {
      await call.pass()
      return charged()
    })
    await place(accepted)
    const working = work()
    await call.reached
    expect(await place()).toMatchObject({ kind: 'accepted', created: false, record: { state: 'in_progress' } })
    call.open()
    await working
  })

  it('gives a waiting duplicate the replay, and the waiting first request its own response', async () => {
    const first = place({ ...accepted, waitMs: 20_000 })
    await vi.waitFor(async () => expect(await bench.recordOf(key)).toMatchObject({ awaited: true }), { interval: 5 })
    const duplicate = place({ waitMs: 20_000 })
    await work()
    expect(toldBy(await first)).toBe('201')
    expect(toldBy(await duplicate)).toBe('201 replayed')
  })

  it('that is declined is replayed as a 402', async () => {
    gateway.nextCall(() => declined())
    await place(accepted)
    await work()
    expect(toldBy(await place())).toBe('402 replayed')
  })

  it.each([
    ['taken up', []],
    ['run again after it was refused', [refused]],
  ])('is %s by the job engine, which then has no job left', async (_, script) => {
    gateway.nextCall(...script)
    // what the other tests left undone is none of this engine's business
    await bench.db.query('SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs')
    const worker = await startWorker(bench.url, {
      [RUN_ACCEPTED]: (payload) =>
        runAcceptedJob(bench.boundary, operations(), (payload as { recordId: string }).recordId),
    })
    try {
      expect(toldBy(await place({ ...accepted, waitMs: 8000 }))).toBe('201')
      await vi.waitFor(async () => expect(await jobs()).toEqual([]))
      expect(gateway.calls).toHaveLength(script.length + 1)
    } finally {
      await worker.stop()
    }
  })
})

describe('an accepted request that was proven not executed', () => {
  it('gets a job for later in the commit of its release, and is not run by a client', async () => {
    gateway.nextCall(refused)
    await place(accepted)
    await bench.db.query('SELECT graphile_worker.complete_jobs(ARRAY[id]) FROM graphile_worker.jobs WHERE key = $1', [
      (await bench.recordOf(key)).id,
    ])
    expect(await jobs()).toEqual([])
    const sent = await bench.sentBy(() => work())
    expect(sent.filter((text) => text.includes("state = 'failed_retryable'"))).toHaveLength(1)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', attempt: 1, dead_lettered_at: null })
    expect(await jobs()).toMatchObject([{ task_identifier: RUN_ACCEPTED, later: true }])
    expect(toldBy(await place())).toBe('accepted')
    expect(gateway.calls).toHaveLength(1)
  })

  it('is looked up at the provider by the second run before the second call where the record is in doubt', async () => {
    gateway.nextCall(refused)
    await place(accepted)
    await work()
    await bench.doubt(key)
    await work()
    expect(gateway.lookUps).toHaveLength(1)
    expect(gateway.calls).toHaveLength(2)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', attempt: 2 })
    expect(toldBy(await place())).toBe('201 replayed')
  })

  it('is run again however often it failed, within its creation plus retention', async () => {
    await place(accepted)
    for (let run = 1; run <= 30; run++) {
      gateway.nextCall(refused)
      await work()
    }
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', attempt: 30, dead_lettered_at: null })
    const [job] = await jobs()
    const pauseMs = job!.run_at.getTime() - Date.now()
    expect(pauseMs).toBeGreaterThan(140_000)
    expect(pauseMs).toBeLessThanOrEqual(300_000)
  })

  it('gets its next job no later than its creation plus retention', async () => {
    await place(accepted)
    for (const retention of ['86400', `extract(epoch FROM clock_timestamp() - created_at) + 60`]) {
      await bench.rows(`UPDATE idempotency_records SET retention_seconds = ${retention} WHERE key = $1`, [key])
      gateway.nextCall(...Array(9).fill(refused))
      for (let run = 1; run <= 9; run++) await work()
    }
    const { attempt, created_at, retention_seconds } = await bench.recordOf(key)
    const [job] = await jobs()
    expect(attempt).toBe(18)
    expect(Math.abs(job!.run_at.getTime() - created_at.getTime() - Number(retention_seconds) * 1000)).toBeLessThan(5)
  })

  it('becomes a dead letter with the release that comes past its creation plus retention', async () => {
    await place(accepted)
    await bench.db.query('SELECT graphile_worker.complete_jobs(ARRAY[id]) FROM graphile_worker.jobs WHERE key = $1', [
      (await bench.recordOf(key)).id,
    ])
    gateway.nextCall(async () => {
      await bench.endRerunning(key)
      return refused()
    })
    await work()
    const record = await bench.recordOf(key)
    expect(record).toMatchObject({ state: 'failed_retryable', attempt: 1, dead_lettered_at: expect.any(Date) })
    expect(await jobs()).toEqual([])
  })

  it('becomes a dead letter instead of being claimed past its creation plus retention', async () => {
    gateway.nextCall(refused)
    await place(accepted)
    await work()
    const before = await bench.recordOf(key)
    await bench.endRerunning(key)
    await work()
    await work()
    const record = await bench.recordOf(key)
    expect(record).toMatchObject({ state: 'failed_retryable', attempt: 1, dead_lettered_at: expect.any(Date) })
    expect(record.version).toBe(before.version)
    expect(record.expires_at).toEqual(before.expires_at)
    expect(record.timeline.map(({ event }) => event)).toEqual(['accepted', 'claimed', 'released', 'dead_lettered'])
    expect(gateway.calls).toHaveLength(1)
    expect(toldBy(await place())).toBe('accepted')
  })

  it('is not claimed as a dead letter by a worker that read it before', async () => {
    gateway.nextCall(refused)
    await place(accepted)
    await work()
    const found = barrier()
    const stalled = runAcceptedJob(
      { ...bench.boundary, step: async (name) => (name === 'found' ? found.pass() : undefined) },
      operations(),
      (await bench.recordOf(key)).id,
    )
    await found.reached
    await bench.endRerunning(key)
    await work()
    await bench.rows('UPDATE idempotency_records SET retention_seconds = 86400 WHERE key = $1', [key])
    found.open()
    await stalled
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', attempt: 1 })
    expect(gateway.calls).toHaveLength(1)
  })
})

describe('an accepted request whose outcome is unknown', () => {
  it('is answered as unknown, and not run again', async () => {
    gateway.nextCall(timedOut)
    await place(accepted)
    await work()
    await work()
    expect(toldBy(await place())).toBe('unknown')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', attempt: 1 })
    expect(gateway.calls).toHaveLength(1)
  })

  it('is the result of a worker that died during its provider call', async () => {
    const call = barrier()
    gateway.nextCall(async () => {
      await call.pass()
      return timedOut()
    })
    await place(accepted)
    const dying = work()
    await call.reached
    await work()
    expect(gateway.calls).toHaveLength(1)
    await bench.endLease(key)
    expect(toldBy(await place())).toBe('unknown')
    call.open()
    await dying
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', attempt: 1 })
  })
})

describe('an accepted request that no worker took up within its retention', () => {
  it('ends with a stored 408 and an abandoned order, without a provider call', async () => {
    await place(accepted)
    await bench.endRetention(key)
    expect(toldBy(await place())).toBe('accepted')
    await work()
    const record = await bench.recordOf(key)
    expect(record).toMatchObject({ state: 'completed', response_status: 408, effect_ref: null, attempt: 0 })
    expect(record.timeline.map(({ event }) => event)).toEqual(['accepted', 'abandoned'])
    expect(record.expires_at.getTime()).toBeGreaterThan(Date.now() + 3_600_000)
    expect(await orders()).toEqual([{ status: 'abandoned', ledger: null }])
    expect(gateway.calls).toEqual([])
    expect(toldBy(await place())).toBe('408 replayed')
  })

  it('for a refund releases the amount that it held of its order', async () => {
    const orderId = await bench.paidOrder(1000)
    await bench.refund(gateway, orderId, { amountCents: 400 }, { key, ...accepted })
    const held = () => bench.rows('SELECT held_cents, refunded_cents FROM orders WHERE id = $1', [orderId])
    expect(await held()).toEqual([{ held_cents: '400', refunded_cents: '0' }])
    await bench.endRetention(key)
    await work()
    expect(await held()).toEqual([{ held_cents: '0', refunded_cents: '0' }])
    expect(await bench.rows('SELECT status FROM refunds WHERE order_id = $1', [orderId])).toEqual([
      { status: 'abandoned' },
    ])
  })

  it('gives a waiting client the stored 408', async () => {
    await place(accepted)
    const waiting = place({ waitMs: 20_000 })
    await vi.waitFor(async () => expect(await bench.recordOf(key)).toMatchObject({ awaited: true }), { interval: 5 })
    await bench.endRetention(key)
    await work()
    expect(toldBy(await waiting)).toBe('408 replayed')
  })
})
