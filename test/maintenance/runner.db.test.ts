// Runs that people ask for: one a call, in the log, answered in time, and history afterwards.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Batch, Daemon } from '../../lib/maintenance/daemon'
import type { Run } from '../../lib/maintenance/runs'
import { isRefused } from '../../lib/operators/refusal'
import { currentRequestId } from '../../lib/request-context'
import { type Desk, OLGA, openDesk, VERA } from '../reconciliation/desk'
import { type Bench, barrier, openBench } from '../support/boundary'

let bench: Bench

beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(() => bench.rows('TRUNCATE runs, run_items'))

const ONE: Batch = { counts: { moved: 1 }, ids: ['idem_a'] }
const daemonOf = (batches: Daemon['batches'], kind: Daemon['kind'] = 'sweeper'): Daemon => ({ kind, batches })
const oneBatch = daemonOf(async function* () {
  yield ONE
})

async function runSweeper(desk: Desk, asked: { dryRun?: boolean; reason?: string } = {}, call = OLGA): Promise<Run> {
  const run = await desk.runDaemon.sweeper(call, { dryRun: false, ...asked })
  if (isRefused(run)) throw new Error(run.refused)
  return run
}

describe('a daemon’s run that an operator starts', () => {
  it('is answered after its end, and is in the audit log', async () => {
    const desk = openDesk(bench, { daemons: [oneBatch] })
    const run = await runSweeper(desk, { reason: 'after the outage' })
    expect(run).toEqual({
      id: expect.stringMatching(/^run_/),
      kind: 'sweeper',
      action: null,
      dryRun: false,
      state: 'succeeded',
      done: 1,
      total: 1,
      counts: { moved: 1 },
      sample: ['idem_a'],
      startedAt: expect.any(Date),
      finishedAt: expect.any(Date),
      requestedBy: 'opr_olga',
      scheduled: false,
      reason: 'after the outage',
      error: null,
    })
    expect(await desk.audit(run.id)).toEqual([
      {
        actor_id: 'opr_olga',
        action: 'sweeper.run',
        target: run.id,
        outcome: 'done',
        reason: 'after the outage',
        before: null,
        after: { dryRun: false },
        request_id: 'req_olga',
      },
    ])
  })

  it('is answered as still running when it takes longer than the answer limit, and goes on', async () => {
    const second = barrier()
    const daemon = daemonOf(async function* () {
      yield ONE
      await second.pass()
      yield ONE
    })
    const desk = openDesk(bench, { daemons: [daemon], answerAfterMs: 50 })
    const asked = runSweeper(desk)
    await second.reached
    const run = await asked
    expect(run).toMatchObject({ state: 'running', done: 1, finishedAt: null })
    second.open()
    await desk.runner.stop()
    expect(await desk.showRun(VERA, { id: run.id, limit: 10, after: 0 })).toMatchObject({ run: { done: 2 } })
  })

  it('is started only once when its call is repeated', async () => {
    let began = 0
    const hold = barrier()
    const daemon = daemonOf(async function* () {
      began++
      await hold.pass()
      yield ONE
    })
    const desk = openDesk(bench, { daemons: [daemon] })
    const call = { ...OLGA, newId: () => 'run_same' }
    const first = runSweeper(desk, {}, call)
    await hold.reached
    expect(await runSweeper(desk, {}, call)).toMatchObject({ id: 'run_same', state: 'running' })
    hold.open()
    expect(await first).toMatchObject({ id: 'run_same', state: 'succeeded' })
    expect(await runSweeper(desk, {}, call)).toMatchObject({ id: 'run_same', state: 'succeeded' })
    expect(began).toBe(1)
    expect(await desk.audit('run_same')).toHaveLength(1)
  })

  it('has its run id as the request id', async () => {
    const names: (string | undefined)[] = []
    const daemon = daemonOf(async function* () {
      names.push(currentRequestId())
      yield ONE
      names.push(currentRequestId())
    })
    const run = await runSweeper(openDesk(bench, { daemons: [daemon] }))
    expect(names).toEqual([run.id, run.id])
    expect(currentRequestId()).toBeUndefined()
  })

  it('does not start when its audit entry can’t be written, nor for a viewer', async () => {
    let began = 0
    const daemon = daemonOf(async function* () {
      began++
      yield ONE
    })
    const desk = openDesk(bench, { daemons: [daemon] })
    expect(await desk.runDaemon.sweeper(VERA, { dryRun: true })).toMatchObject({ refused: 'forbidden' })
    await bench.rows('ALTER TABLE audit_entries ADD CONSTRAINT refused CHECK (action <> $$sweeper.run$$) NOT VALID')
    await expect(runSweeper(desk)).rejects.toThrow('refused')
    await bench.rows('ALTER TABLE audit_entries DROP CONSTRAINT refused')
    expect(await bench.rows('SELECT 1 FROM runs')).toEqual([])
    expect(began).toBe(0)
  })

  it('ends as aborted after its current batch when the node stops', async () => {
    const between = barrier()
    const daemon = daemonOf(async function* () {
      await between.pass()
      for (;;) yield ONE
    })
    const desk = openDesk(bench, { daemons: [daemon] })
    const asked = runSweeper(desk)
    await between.reached
    const stopped = desk.runner.stop()
    between.open()
    await stopped
    expect(await asked).toMatchObject({ state: 'aborted', done: 1 })
  })
})

describe('stopping a run', () => {
  it('is in the audit log once, and is refused for a run that has ended or does not exist', async () => {
    const between = barrier()
    const daemon = daemonOf(async function* () {
      yield ONE
      await between.pass()
      for (;;) yield ONE
    })
    const desk = openDesk(bench, { daemons: [daemon] })
    const asked = runSweeper(desk)
    await between.reached
    const [row] = await bench.rows<{ id: string }>('SELECT id FROM runs')
    expect(await desk.abortRun(VERA, row!)).toMatchObject({ refused: 'forbidden' })
    expect(await desk.abortRun(OLGA, { ...row!, reason: 'too long' })).toMatchObject({ state: 'running' })
    // It is being stopped already: asking once more is answered alike, and changes nothing.
    expect(await desk.abortRun(OLGA, { ...row!, reason: 'now' })).toMatchObject({ state: 'running' })
    between.open()
    expect(await asked).toMatchObject({ state: 'aborted', done: 2 })
    expect(await desk.abortRun(OLGA, row!)).toMatchObject({ refused: 'already_ended' })
    expect(await desk.abortRun(OLGA, { id: 'run_nobody' })).toMatchObject({ refused: 'not_found' })
    const entries = (await desk.audit(row!.id)).filter(({ action }) => action === 'run.abort')
    expect(entries).toMatchObject([
      { outcome: 'forbidden' },
      { outcome: 'done', reason: 'too long', before: { state: 'running' }, after: { abortRequested: true } },
    ])
  })
})

it('a run whose node died is marked as failed, and stopping it is refused as already_ended', async () => {
  await bench.rows(
    `INSERT INTO runs (id, kind, dry_run, scheduled, requested_by, state, counts, sample, heartbeat_at)
     VALUES ('run_dead', 'reaper', false, false, 'opr_olga', 'running', '{}', '{}', now() - interval '61 s')`,
  )
  expect(await openDesk(bench).abortRun(OLGA, { id: 'run_dead' })).toMatchObject({ refused: 'already_ended' })
  expect(await bench.rows('SELECT state, error FROM runs')).toEqual([{ state: 'failed', error: 'its node stopped' }])
})

describe('the history of runs', () => {
  it('is listed newest first without gaps between pages, filtered by kind, state or dry run', async () => {
    await bench.rows(
      `INSERT INTO runs (id, kind, dry_run, scheduled, requested_by, state, counts, sample, started_at, finished_at)
       SELECT 'run_' || n, (ARRAY['sweeper', 'reaper'])[1 + n % 2], n % 3 = 0, true, 'node-1', 'succeeded', '{}', '{}',
         -- two at each instant: the id decides
         timestamptz '2025-11-16' + (n / 2) * interval '1 s', now()
       FROM generate_series(1, 20) n`,
    )
    const desk = openDesk(bench)
    async function all(filter: Parameters<Desk['listRuns']>[1]['filter'], limit: number): Promise<Run[]> {
      const seen: Run[] = []
      let after: { startedAt: string; id: string } | null = null
      do {
        const page: Awaited<ReturnType<Desk['listRuns']>> = await desk.listRuns(VERA, { filter, limit, after })
        if (isRefused(page)) throw new Error(page.refused)
        seen.push(...page.items)
        after = page.next
      } while (after)
      return seen
    }
    const whole = await all({}, 100)
    expect(whole).toHaveLength(20)
    const times = whole.map(({ startedAt }) => startedAt.getTime())
    expect(times).toEqual([...times].sort((a, b) => b - a))
    expect(await all({}, 3)).toEqual(whole)
    expect(await all({ kind: 'reaper' }, 3)).toEqual(whole.filter(({ kind }) => kind === 'reaper'))
    expect(await all({ dryRun: true }, 4)).toEqual(whole.filter(({ dryRun }) => dryRun))
    expect(await all({ state: 'failed' }, 4)).toEqual([])
  })

  it('has no list of keys for a daemon’s run', async () => {
    const desk = openDesk(bench, { daemons: [oneBatch] })
    const { id } = await runSweeper(desk)
    expect(await desk.showRun(VERA, { id, limit: 10, after: 0 })).toMatchObject({ items: null })
    expect(await desk.showRun(VERA, { id: 'run_nobody', limit: 10, after: 0 })).toMatchObject({ refused: 'not_found' })
  })
})
