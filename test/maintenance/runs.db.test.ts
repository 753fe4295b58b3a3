import sql from 'sql-template-tag'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Batch, Daemon } from '../../lib/maintenance/daemon'
import { wouldTouch } from '../../lib/maintenance/dry-run'
import { abortRun, failDeadRuns, findRun, startRun } from '../../lib/maintenance/runs'
import { startSchedule } from '../../lib/maintenance/schedule'
import { barrier, openBench } from '../support/boundary'

let bench: Awaited<ReturnType<typeof openBench>>

beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(() => bench.rows('TRUNCATE runs, run_items, schedules'))

const NOTHING: Batch = { counts: {}, ids: [] }
const REQUEST = { dryRun: false, scheduled: false, requestedBy: 'test', reason: 'to see' }

function daemonOf(batches: Daemon['batches']): Daemon {
  return { kind: 'sweeper', batches }
}

describe('a maintenance run', () => {
  it('shows its progress after each batch and ends with the sum', async () => {
    const second = barrier()
    const daemon = daemonOf(async function* (): AsyncIterable<Batch> {
      yield { counts: { moved: 2 }, ids: ['a', 'b'] }
      await second.pass()
      yield { counts: { moved: 1, other: 1 }, ids: ['c'] }
    })
    const { run, ended } = await startRun(bench.store, daemon, REQUEST)
    expect(run).toMatchObject({ state: 'running', done: 0, finishedAt: null })
    await second.reached
    expect(await findRun(bench.store, run.id)).toMatchObject({ state: 'running', done: 2, counts: { moved: 2 } })
    second.open()
    expect(await ended).toMatchObject({
      state: 'succeeded',
      done: 3,
      total: 3,
      counts: { moved: 3, other: 1 },
      sample: ['a', 'b', 'c'],
    })
  })

  it('that was failed as dead stays failed, and stops after its current batch', async () => {
    const between = barrier()
    let batches = 0
    const daemon = daemonOf(async function* (): AsyncIterable<Batch> {
      yield { counts: { moved: 1 }, ids: [`a${batches++}`] }
      await between.pass()
      yield { counts: { moved: 1 }, ids: [`a${batches++}`] }
      batches++
    })
    const { run, ended } = await startRun(bench.store, daemon, REQUEST)
    await between.reached
    await bench.rows(`UPDATE runs SET heartbeat_at = now() - interval '1 hour'`)
    await failDeadRuns(bench.store)
    between.open()
    expect(await ended).toMatchObject({ state: 'failed', done: 1 })
    expect(await findRun(bench.store, run.id)).toMatchObject({ state: 'failed', done: 1 })
    expect(batches).toBe(2)
  })

  it('that is aborted stops after its current batch', async () => {
    const between = barrier()
    let batches = 0
    const daemon = daemonOf(async function* (): AsyncIterable<Batch> {
      yield { counts: { moved: 1 }, ids: [`a${batches++}`] }
      await between.pass()
      for (;;) yield { counts: { moved: 1 }, ids: [`a${batches++}`] }
    })
    const { run, ended } = await startRun(bench.store, daemon, REQUEST)
    await between.reached
    expect(await abortRun(bench.store, run.id)).toMatchObject({ state: 'running' })
    between.open()
    expect(await ended).toMatchObject({ state: 'aborted', done: 2 })
    expect(batches).toBe(2)
    expect(await abortRun(bench.store, run.id)).toBeNull()
  })

  it('that throws is failed, with its count so far', async () => {
    const daemon = daemonOf(async function* (): AsyncIterable<Batch> {
      yield { counts: { moved: 1 }, ids: ['a'] }
      throw new Error('broken on purpose')
    })
    const { ended } = await startRun(bench.store, daemon, REQUEST)
    expect(await ended).toMatchObject({ state: 'failed', done: 1 })
    expect(await bench.rows('SELECT error FROM runs')).toEqual([{ error: 'broken on purpose' }])
  })

  it('is failed when its heartbeat is too old', async () => {
    await startRun(
      bench.store,
      daemonOf(async function* (): AsyncIterable<Batch> {}),
      REQUEST,
    ).then(({ ended }) => ended)
    await bench.rows(
      `UPDATE runs SET state = 'running', finished_at = NULL, heartbeat_at = now() - interval '5 minutes'`,
    )
    await failDeadRuns(bench.store)
    expect(await bench.rows('SELECT state FROM runs')).toEqual([{ state: 'failed' }])
  })

  it('keeps a sample of at most 100 ids', async () => {
    const ids = Array.from({ length: 250 }, (_, i) => `id${i}`)
    const daemon = daemonOf(async function* (): AsyncIterable<Batch> {
      yield { counts: { moved: ids.length }, ids }
    })
    const { ended } = await startRun(bench.store, daemon, REQUEST)
    expect((await ended).sample).toHaveLength(100)
    expect((await ended).done).toBe(250)
  })
})

describe('a dry run', () => {
  it('counts the records that it would touch, and samples at most 100 of them', async () => {
    await bench.rows(
      `INSERT INTO idempotency_records (id, tenant_id, endpoint, key, fingerprint, state, async, attempt, external,
         request, request_id, retention_seconds, created_at, expires_at, timeline)
       SELECT 'idem_' || n, 'ten_bench', 'POST /api/orders', 'key-0000000000-' || n, 'v1:' || repeat('0', 64), 'pending',
         true, 0, false, '{}', 'req', 60, now(), now(), '[{}]' FROM generate_series(1, 250) n`,
    )
    const daemon = daemonOf(() => wouldTouch(bench.store, 'pending', sql`r.state = 'pending'`))
    const { ended } = await startRun(bench.store, daemon, { ...REQUEST, dryRun: true })
    const run = await ended
    expect(run).toMatchObject({ dryRun: true, done: 250, total: 250, counts: { pending: 250 } })
    expect(run.sample).toHaveLength(100)
  })
})

describe('the schedule', () => {
  it('runs a daemon on one of several nodes in each interval', async () => {
    const ran: string[] = []
    const daemon = (node: string) =>
      daemonOf(async function* (): AsyncIterable<Batch> {
        ran.push(node)
        yield NOTHING
      })
    const schedules = ['n1', 'n2', 'n3'].map((node) =>
      startSchedule(bench.store, node, [{ daemon: daemon(node), intervalMs: 60_000 }]),
    )
    await expect.poll(() => ran.length).toBe(1)
    // Due again: the clock is moved, not waited for.
    await bench.rows(`UPDATE schedules SET next_run_at = now(), last_run_at = now() - interval '2 minutes'`)
    // Ended by itself: a schedule that is stopped cuts short what is under way.
    const succeeded = () => bench.rows(`SELECT count(*)::int AS n FROM runs WHERE scheduled AND state = 'succeeded'`)
    await expect.poll(succeeded).toEqual([{ n: 2 }])
    await Promise.all(schedules.map((schedule) => schedule.stop()))
    expect(ran).toHaveLength(2)
    expect(await bench.rows('SELECT state FROM runs')).toHaveLength(2)
  })

  it('runs a daemon before its interval is over when something is due, on one of several nodes', async () => {
    const ran: string[] = []
    const schedules = ['n1', 'n2', 'n3'].map((node) =>
      startSchedule(bench.store, node, [
        {
          daemon: daemonOf(async function* (): AsyncIterable<Batch> {
            ran.push(node)
            yield NOTHING
          }),
          intervalMs: 3_600_000,
          due: sql`(SELECT count(*) FROM runs) = 1`,
        },
      ]),
    )
    const succeeded = () => bench.rows(`SELECT count(*)::int AS n FROM runs WHERE state = 'succeeded'`)
    await expect.poll(succeeded).toEqual([{ n: 2 }])
    await Promise.all(schedules.map((schedule) => schedule.stop()))
    expect(ran).toHaveLength(2)
  })

  it('runs no daemon with an interval of 0, and stops only when the current run has ended', async () => {
    const hold = barrier()
    let off = 0
    const schedule = startSchedule(bench.store, 'n1', [
      {
        daemon: {
          kind: 'reaper',
          async *batches() {
            off++
            yield NOTHING
          },
        },
        intervalMs: 0,
      },
      {
        daemon: daemonOf(async function* (): AsyncIterable<Batch> {
          await hold.pass()
          yield { counts: { moved: 1 }, ids: ['a'] }
        }),
        intervalMs: 50,
      },
    ])
    await hold.reached
    const stopping = schedule.stop()
    hold.open()
    await stopping
    expect(await bench.rows(`SELECT kind, state, done FROM runs`)).toEqual([
      { kind: 'sweeper', state: 'aborted', done: 1 },
    ])
    expect(off).toBe(0)
  })
})
