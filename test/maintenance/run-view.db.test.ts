import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runUseCases } from '../../lib/console/run-use-cases'
import { newId } from '../../lib/db/id'
import type { DaemonKind } from '../../lib/maintenance/daemon'
import { callOf } from '../../lib/operators/actor'
import { isRefused } from '../../lib/operators/refusal'
import { openGuard } from '../../lib/operators/use-case'
import { type Bench, openBench } from '../support/boundary'
import { insertInto, recordIn } from '../support/rows'

const VERA = callOf({ id: 'opr_vera', name: 'Vera', role: 'viewer' }, 'req_vera')
const INTERVALS = new Map<DaemonKind, number>([['sweeper', 60_000]])

let bench: Bench
let runs: ReturnType<typeof runUseCases>

beforeAll(async () => {
  bench = await openBench()
  runs = runUseCases({ store: bench.store, intervals: INTERVALS, tombstoneHours: 168 }, openGuard(bench.store))
  await insertInto(bench.db, 'operators', { id: 'opr_olga', name: 'Olga', email: 'olga@example.com', role: 'operator' })
})
afterAll(() => bench?.close())
beforeEach(() => bench.rows('TRUNCATE runs, run_items, schedules, idempotency_records CASCADE'))

interface Given {
  kind?: string
  dry_run?: boolean
  scheduled?: boolean
  requested_by?: string
  state?: string
  done?: number
  ago?: number
  unheard?: number
  sample?: string[]
}

async function ran({ ago = 60, unheard = 0, ...given }: Given = {}): Promise<string> {
  const id = newId('run')
  const at = (seconds: number) => new Date(Date.now() - seconds * 1000)
  await insertInto(bench.db, 'runs', {
    id,
    kind: 'reaper',
    dry_run: false,
    scheduled: false,
    requested_by: 'opr_olga',
    state: 'succeeded',
    done: 0,
    counts: { expired: given.done ?? 0 },
    sample: [],
    started_at: at(ago),
    heartbeat_at: at(unheard),
    finished_at: given.state === 'running' ? null : at(ago - 1),
    ...given,
  })
  return id
}

function told<T>(result: T): Exclude<T, { refused: unknown }> {
  if (isRefused(result)) throw new Error(result.refused)
  return result as Exclude<T, { refused: unknown }>
}
const seen = async (id: string) => told(await runs.seeRun(VERA, { id }))

describe('the view of a run', () => {
  it('names the operator who requested it, and none for a scheduled run', async () => {
    const [asked, scheduled, stranger] = [
      await ran(),
      await ran({ scheduled: true, requested_by: 'node-1' }),
      await ran({ requested_by: 'ADMIN_TOKEN' }),
    ]
    expect((await seen(asked)).by).toBe('Olga')
    expect((await seen(scheduled)).by).toBeNull()
    expect((await seen(stranger)).by).toBe('ADMIN_TOKEN')
  })

  it('shows the last dry run of its kind shortly before it, and no other', async () => {
    await ran({ dry_run: true, done: 9, ago: 3600 })
    await ran({ dry_run: true, done: 8, ago: 120, kind: 'sweeper' })
    await ran({ dry_run: true, done: 7, ago: 110, state: 'failed' })
    const dry = await ran({ dry_run: true, done: 5, ago: 120 })
    const run = await ran({ done: 3, ago: 100 })
    expect((await seen(run)).previewed).toEqual({ id: dry, done: 5, counts: { expired: 5 } })
    expect((await seen(await ran({ scheduled: true, ago: 90 }))).previewed).toBeNull()
    expect((await seen(await ran({ kind: 'ledger', ago: 90 }))).previewed).toBeNull()
  })

  it('marks a run without a recent heartbeat as lost, except a bulk run, which another node continues', async () => {
    const running = { state: 'running' }
    expect((await seen(await ran({ ...running, unheard: 10 }))).lost).toBe(false)
    expect((await seen(await ran({ ...running, unheard: 90 }))).lost).toBe(true)
    expect((await seen(await ran({ ...running, unheard: 90, kind: 'bulk' }))).lost).toBe(false)
  })

  it('is not_found for a run that does not exist', async () => {
    expect(await runs.seeRun(VERA, { id: newId('run') })).toMatchObject({ refused: 'not_found' })
  })

  it('shows the run’s keys as they are now, and which of them are deleted', async () => {
    const there = await recordIn(bench.db, 'unknown')
    const run = await ran({ sample: [there, 'idem_gone'], done: 2 })
    const { items, next } = told(await runs.seeRunKeys(VERA, { runId: run, limit: 1, after: 0 }))
    expect(items).toMatchObject([{ recordId: there, record: { state: 'unknown', tenant: 'ten_rows' }, outcome: null }])
    const rest = told(await runs.seeRunKeys(VERA, { runId: run, limit: 1, after: next! }))
    expect(rest).toMatchObject({ items: [{ recordId: 'idem_gone', record: null }], next: null })
  })
})

describe('the history of runs', () => {
  it('leaves out scheduled runs that found nothing to do, unless the filter includes them', async () => {
    await ran({ scheduled: true })
    const found = await ran({ scheduled: true, done: 1 })
    const asked = await ran({ ago: 30 })
    const page = { limit: 10, after: null }
    const list = async (filter: Parameters<typeof runs.seeRuns>[1]['filter']) =>
      told(await runs.seeRuns(VERA, { filter, ...page })).items.map(({ id }) => id)
    expect(await list({})).toEqual([asked, found])
    expect(await list({ idle: true })).toHaveLength(3)
    expect(await list({ asked: true })).toEqual([asked])
    expect(await list({ asked: false })).toEqual([found])
  })

  it('continues on the second page where the first ended', async () => {
    for (let ago = 1; ago <= 5; ago++) await ran({ ago })
    const first = told(await runs.seeRuns(VERA, { filter: {}, limit: 3, after: null }))
    const second = told(await runs.seeRuns(VERA, { filter: {}, limit: 3, after: first.next }))
    expect(new Set([...first.items, ...second.items].map(({ id }) => id)).size).toBe(5)
    expect(second.next).toBeNull()
  })
})

describe('the status of the daemons', () => {
  const statusOf = async (kind: DaemonKind) =>
    told(await runs.seeDaemons(VERA, undefined)).daemons.find((status) => status.kind === kind)!

  it('lists all four in order, including one that never ran', async () => {
    const { daemons, tombstoneHours } = told(await runs.seeDaemons(VERA, undefined))
    expect(daemons.map(({ kind }) => kind)).toEqual(['sweeper', 'reaper', 'reconciler', 'ledger'])
    expect(daemons[1]).toMatchObject({ intervalMs: 0, nextRunAt: null, last: null, running: null, bars: [] })
    expect(tombstoneHours).toBe(168)
  })

  it('has the next run, the current run, and the results of the last thirty runs', async () => {
    const next = new Date(Date.now() + 24_000)
    await insertInto(bench.db, 'schedules', { kind: 'sweeper', next_run_at: next })
    for (let i = 1; i <= 35; i++) await ran({ kind: 'sweeper', scheduled: true, done: i, ago: 1000 - i })
    const dry = await ran({ kind: 'sweeper', dry_run: true, done: 7, ago: 5 })
    const running = await ran({ kind: 'sweeper', state: 'running', done: 2, ago: 2 })
    const status = await statusOf('sweeper')
    expect(status).toMatchObject({
      intervalMs: 60_000,
      nextRunAt: next,
      last: { done: 35 },
      running: { id: running },
      dryRun: { id: dry },
    })
    expect(status.bars).toHaveLength(30)
    expect([status.bars[0]!.done, status.bars.at(-1)!.done]).toEqual([6, 35])
  })

  it('marks the runs that failed', async () => {
    await ran({ kind: 'ledger', state: 'failed', done: 1 })
    expect((await statusOf('ledger')).bars).toMatchObject([{ done: 1, failed: true }])
  })
})
