// Recovery points: what a lease that ran out means depends on whether a phase that may call the provider had been
// entered, and a later attempt resumes behind what was done.
import sql from 'sql-template-tag'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../lib/db/id'
import type { Tx } from '../../lib/db/store'
import type { Step } from '../../lib/idempotency/boundary'
import type { AnyOperation, CallVerdict, LocalPhase, LookUpVerdict, Operation } from '../../lib/idempotency/operation'
import { runAccepted } from '../../lib/idempotency/run'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { findWithRequest } from '../../lib/idempotency/store/find'
import { rerunAccepted } from '../../lib/jobs/enqueue'
import { migrateJobs } from '../../lib/jobs/worker'
import {
  type Asking,
  accepted,
  type Barrier,
  type Bench,
  barrier,
  charged,
  claimOf,
  newKey,
  newRef,
  openBench,
  orderOf,
  refused,
  scriptedGateway,
  timedOut,
  toldBy,
} from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
  await migrateJobs(bench.url)
  await bench.db.query('CREATE TABLE steps (record_id text, step text, attempt int)')
})
afterAll(() => bench.close())

type Read = NonNullable<Awaited<ReturnType<typeof findWithRequest>>>

interface Trip {
  where: string
}

/** An endpoint with two local phases before its external one: stock is taken, a seat is assigned, then it is booked. */
function bookTrip() {
  const script = {
    /** Where an attempt stops, so that the test can take its owner away. */
    stops: new Map<string, Barrier>(),
    ran: [] as string[],
    call: (): CallVerdict => ({ kind: 'succeeded', ref: newRef() }),
    lookUp: (): LookUpVerdict => ({ kind: 'not_found' }),
  }
  const note = async (tx: Tx, recordId: string, step: string, attempt: number) => {
    await tx.query(sql`INSERT INTO steps (record_id, step, attempt) VALUES (${recordId}, ${step}, ${attempt}::int)`)
  }
  const local = (name: string) => ({
    name,
    async run(tx: Tx, { recordId, number }: { recordId: string; number: number }) {
      script.ran.push(`${name} ${number}`)
      await note(tx, recordId, name, number)
      return null
    },
  })
  const operation: Operation<Trip, null, number> & { local: readonly LocalPhase<Trip, null, number>[] } = {
    endpoint: 'POST /api/trips',
    newResource: () => ({ type: 'trip', id: newId('ord') }),
    local: [local('taking_stock'), local('assigning_seat')],
    external: {
      name: 'booking',
      timeLimitMs: 1000,
      async call(attempt) {
        script.ran.push(`booking ${attempt.number}`)
        await script.stops.get(`booking ${attempt.number}`)?.pass()
        return script.call()
      },
      async lookUp(attempt) {
        script.ran.push(`look-up ${attempt.number}`)
        return script.lookUp()
      },
      conclude: (attempt, executed) => ({
        answer: { status: executed.kind === 'succeeded' ? 201 : 402, headers: {}, body: `{"ref":"${executed.ref}"}` },
        booking: attempt.number,
      }),
    },
    async book(tx, [booked]) {
      await note(tx, booked!.recordId, 'booked', booked!.booking)
    },
  }
  return { operation, script }
}

let trip: ReturnType<typeof bookTrip>
let key: string
const body: Trip = { where: 'Lisbon' }
beforeEach(() => {
  trip = bookTrip()
  key = newKey()
})

/** Stops come between two transactions: before a local phase, or in the call. */
const book = ({ boundary = bench.boundary, ...asking }: Asking<Trip> = {}) =>
  bench.ask(trip.operation, body, { key, ...asking, boundary: { ...boundary, step: stopBeforePhase } })

async function stopBeforePhase(step: Step): Promise<void> {
  if (!['reserved', 'claimed', 'advanced'].includes(step)) return
  const { attempt, recovery_point, external } = await bench.recordOf(key)
  if (!external) await trip.script.stops.get(`${recovery_point} ${attempt}`)?.pass()
}

const steps = async () => {
  const { id } = await bench.recordOf(key)
  const rows = await bench.rows<{ step: string; attempt: number }>(
    'SELECT step, attempt FROM steps WHERE record_id = $1',
    [id],
  )
  return rows.map(({ step, attempt }) => `${step} ${attempt}`)
}

/** Takes an attempt as far as the stop, and its owner away. */
async function dieAt(stop: string): Promise<Barrier> {
  const stopped = barrier()
  trip.script.stops.set(stop, stopped)
  // The owner that comes back later finds itself fenced; each test that cares looks at that itself.
  book({ boundary: bench.otherNode() }).catch(() => {})
  await stopped.reached
  return stopped
}

describe('an endpoint with local phases before its external phase', () => {
  it('runs every phase in order and commits a recovery point for each', async () => {
    expect(toldBy(await book())).toBe('201')
    expect(trip.script.ran).toEqual(['taking_stock 1', 'assigning_seat 1', 'booking 1'])
    expect(await steps()).toEqual(['taking_stock 1', 'assigning_seat 1', 'booked 1'])
    const record = await bench.recordOf(key)
    expect(record.timeline.map(({ event }) => event)).toEqual(['reserved', 'phase', 'phase', 'settled'])
  })

  it('marks the record as external in the commit before the provider call, and not earlier', async () => {
    const stops = ['taking_stock 1', 'assigning_seat 1', 'booking 1']
    const seen: unknown[] = []
    for (const stop of stops) trip.script.stops.set(stop, barrier())
    const booking = book()
    for (const stop of stops) {
      await trip.script.stops.get(stop)!.reached
      const { recovery_point, external } = await bench.recordOf(key)
      seen.push([recovery_point, external])
      trip.script.stops.get(stop)!.open()
    }
    await booking
    expect(seen).toEqual([
      ['taking_stock', false],
      ['assigning_seat', false],
      ['booking', true],
    ])
  })

  it('releases the record after an exception in a local phase and stores no answer', async () => {
    const [, second] = trip.operation.local
    const bug = new Error('a bug')
    const broken = { ...second!, run: () => Promise.reject(bug) }
    await expect(
      bench.ask({ ...trip.operation, local: [trip.operation.local[0]!, broken] }, body, { key }),
    ).rejects.toBe(bug)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', last_error_code: 'internal_error' })
    expect(toldBy(await book())).toBe('201')
    expect(await steps()).toEqual(['taking_stock 1', 'assigning_seat 2', 'booked 2'])
  })

  it('completes with the answer of a local phase, without a provider call', async () => {
    const soldOut = {
      name: 'taking_stock',
      run: async () => ({
        answer: { status: 409, headers: {}, body: '"sold out"' },
      }),
    }
    const operation = { ...trip.operation, local: [soldOut] }
    expect(toldBy(await bench.ask(operation, body, { key }))).toBe('409')
    expect(toldBy(await bench.ask(operation, body, { key }))).toBe('409 replayed')
    expect(trip.script.ran).toEqual([])
  })

  it('commits nothing of a local phase whose answer is refused by evidence, and settles with the evidence', async () => {
    const soldOut = {
      name: 'taking_stock',
      async run(tx: Tx, { recordId }: { recordId: string }) {
        await tx.query(sql`INSERT INTO steps (record_id, step, attempt) VALUES (${recordId}, 'sold out', 1)`)
        return { answer: { status: 409, headers: {}, body: '"sold out"' } }
      },
    }
    const operation = { ...trip.operation, local: [soldOut] }
    const ref = newRef()
    const step = async (passed: Step) => {
      if (passed !== 'reserved') return
      const { id: recordId } = await bench.recordOf(key)
      const executed = { kind: 'succeeded', ref } as const
      const evidence = { recordId, source: 'webhook', sourceId: ref, attempt: 1, executed } as const
      await recordEvidence({ store: bench.store }, evidence)
    }
    expect(toldBy(await bench.ask(operation, body, { key, boundary: { ...bench.boundary, step } }))).toBe('201')
    expect(await steps()).toEqual(['booked 1'])
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', effect_ref: ref })
  })
})

describe('a lease that expires before the external phase', () => {
  it('proves that nothing was executed: the next request resumes after the last commit', async () => {
    await dieAt('assigning_seat 1')
    await bench.endLease(key)
    expect(toldBy(await book())).toBe('201')
    expect(trip.script.ran).toEqual(['taking_stock 1', 'assigning_seat 2', 'look-up 2', 'booking 2'])
    expect(await steps()).toEqual(['taking_stock 1', 'assigning_seat 2', 'booked 2'])
    const record = await bench.recordOf(key)
    expect(record.attempt).toBe(2)
    expect(record.timeline.map(({ event }) => event)).toEqual([
      'reserved',
      'phase',
      'lease_over',
      'claimed',
      'phase',
      'settled',
    ])
  })

  it('followed by a second expired lease: the third attempt resumes in that phase, and nothing is done twice', async () => {
    await dieAt('assigning_seat 1')
    await bench.endLease(key)
    await dieAt('assigning_seat 2')
    expect(await bench.recordOf(key)).toMatchObject({ attempt: 2, recovery_point: 'assigning_seat', external: false })
    await bench.endLease(key)
    expect(toldBy(await book())).toBe('201')
    expect(await steps()).toEqual(['taking_stock 1', 'assigning_seat 3', 'booked 3'])
    expect(trip.script.ran.filter((step) => step.startsWith('booking'))).toEqual(['booking 3'])
  })

  it('lets the next request claim the record, with full retention and no lookup due', async () => {
    await dieAt('taking_stock 1')
    await bench.db.query(
      `UPDATE idempotency_records SET expires_at = clock_timestamp() + interval '1 min' WHERE key = $1`,
      [key],
    )
    await bench.endLease(key)
    const stop = barrier()
    trip.script.stops.set('taking_stock 2', stop)
    const booking = book()
    await stop.reached
    const record = await bench.recordOf(key)
    expect(record.timeline.map(({ event }) => event)).toEqual(['reserved', 'lease_over', 'claimed'])
    expect(record).toMatchObject({ attempt: 2, recovery_point: 'taking_stock', external: false, reconcile_after: null })
    expect(record.expires_at.getTime() - Date.now()).toBeGreaterThan(23 * 3_600_000)
    stop.open()
    expect(toldBy(await booking)).toBe('201')
  })

  it('fences the returning owner: its phase commits nothing, and it answers as a duplicate', async () => {
    const first = barrier()
    trip.script.stops.set('assigning_seat 1', first)
    const late = book()
    await first.reached
    await bench.endLease(key)
    expect(toldBy(await book({ boundary: bench.otherNode() }))).toBe('201')
    first.open()
    expect(toldBy(await late)).toBe('201 replayed')
    expect(trip.script.ran.filter((step) => step.startsWith('booking'))).toEqual(['booking 2'])
    expect(await steps()).toEqual(['taking_stock 1', 'assigning_seat 2', 'booked 2'])
  })

  it('keeps its own owner from the next phase, even when no other attempt has claimed the record', async () => {
    const first = barrier()
    trip.script.stops.set('assigning_seat 1', first)
    const late = book()
    await first.reached
    await bench.endLease(key)
    first.open()
    expect(toldBy(await late)).toBe('not_executed')
    expect(toldBy(await book())).toBe('201')
    expect(trip.script.ran.filter((step) => step.startsWith('booking'))).toEqual(['booking 2'])
    expect(await steps()).toEqual(['taking_stock 1', 'assigning_seat 2', 'booked 2'])
  })
})

describe('a lease that expires after the external phase has begun', () => {
  it('leaves the outcome unknown and due for lookup at once; no request runs the operation again', async () => {
    const stop = await dieAt('booking 1')
    await bench.endLease(key)
    for (let retry = 0; retry < 3; retry++) expect(toldBy(await book())).toBe('unknown')
    const record = await bench.recordOf(key)
    expect(record).toMatchObject({ state: 'unknown', attempt: 1, last_error_code: 'lease_over', locked_until: null })
    const movedAt = Date.parse(record.timeline.at(-1)!.at)
    expect(Math.abs(record.reconcile_after!.getTime() - movedAt)).toBeLessThanOrEqual(1)
    expect(record.timeline.map(({ event }) => event)).toEqual(['reserved', 'phase', 'phase', 'lease_over'])
    expect(trip.script.ran.filter((step) => step.startsWith('booking'))).toEqual(['booking 1'])
    stop.open()
  })

  it('leaves the outcome of an order unknown, whose reservation already begins the external phase', async () => {
    const gateway = scriptedGateway()
    const stop = barrier()
    gateway.nextCall(async () => {
      await stop.pass()
      return timedOut()
    })
    const order = orderOf()
    const dying = bench.place(gateway, order, { key })
    await stop.reached
    await bench.endLease(key)
    const retry = await bench.place(gateway, order, { key })
    expect(toldBy(retry)).toBe('unknown')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', recovery_point: 'charging', external: true })
    expect(gateway.calls).toHaveLength(1)
    stop.open()
    expect(toldBy(await dying)).toBe('unknown')
  })

  it('does not move the record before its end: a request until then gets in_progress', async () => {
    const stop = await dieAt('booking 1')
    expect(toldBy(await book())).toBe('in_progress')
    expect((await bench.recordOf(key)).state).toBe('in_progress')
    stop.open()
  })

  it('moves the record to unknown once when many requests arrive together', async () => {
    const stop = await dieAt('booking 1')
    await bench.endLease(key)
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => book()))
    expect(outcomes.map(toldBy)).toEqual(Array(10).fill('unknown'))
    const { timeline } = await bench.recordOf(key)
    expect(timeline.filter(({ event }) => event === 'lease_over')).toHaveLength(1)
    stop.open()
  })
})

describe('a claim', () => {
  it('is refused to a worker that read the record while it was still running', async () => {
    const stop = barrier()
    trip.script.stops.set('assigning_seat 1', stop)
    await book(accepted)
    const { id } = await bench.recordOf(key)
    const work = (read: Read) =>
      runAccepted({ ...bench.boundary, step: stopBeforePhase }, trip.operation as AnyOperation, {
        ...read,
        rerun: rerunAccepted,
      })
    const owner = work((await findWithRequest(bench.store, id))!)
    await stop.reached
    // A second worker reads the record while it is in assigning_seat; then it goes on, and is proven not executed.
    const stale = (await findWithRequest(bench.store, id))!
    trip.script.call = () => ({ kind: 'not_executed', code: 'connection_refused' })
    stop.open()
    expect(await owner).toMatchObject({ kind: 'not_executed' })
    expect(await bench.recordOf(key)).toMatchObject({
      state: 'failed_retryable',
      attempt: 1,
      recovery_point: 'booking',
    })
    expect(await work(stale)).toEqual({ kind: 'not_claimed' })
    expect(await steps()).toEqual(['taking_stock 1', 'assigning_seat 1'])
  })

  it('succeeds for exactly one of many workers that read the same state', async () => {
    const gateway = scriptedGateway()
    gateway.nextCall(refused)
    const order = orderOf()
    await bench.place(gateway, order, { key })
    const record = await bench.recordOf(key)
    const all = Array.from({ length: 20 }, () => claimOf(bench, record))
    const claimed = (await Promise.all(all)).filter((one) => one !== null)
    expect(claimed).toHaveLength(1)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'in_progress', attempt: 2 })
  })

  it('never shortens the settle window of an earlier attempt', async () => {
    const gateway = scriptedGateway()
    gateway.nextCall(refused, () => charged())
    const order = orderOf()
    await bench.place(gateway, order, { key, boundary: { ...bench.boundary, leaseMs: 600_000 } })
    const first = (await bench.recordOf(key)).settles_at!
    await bench.place(gateway, order, { key })
    expect((await bench.recordOf(key)).settles_at).toEqual(first)
  })
})
