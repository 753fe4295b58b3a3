// A bulk run: one action on many keys, which are fixed when it is made. It is worked off in batches. What is done is written down with each batch, so after a crash another
// node does only the rest, and a key whose outcome was lost with the node is done twice: its action has to bear that.
import sql from 'sql-template-tag'
import { audited } from '../audit/append'
import { isUnavailable } from '../db/sqlstate'
import type { Store } from '../db/store'
import type { State } from '../idempotency/states'
import { log } from '../log'
import type { Actor, Call } from '../operators/actor'
import { withRequestId } from '../request-context'
import type { BulkActionName } from './bulk-action'
import type { Counts } from './daemon'
import { DEAD_AFTER_MS, findRun, RUN_COLUMNS, type Run } from './runs'
import { beat, endRun, handOver } from './worked-run'

/** More is not one person's decision any more, and the reconciler works them off by itself. */
export const MAX_KEYS = 10_000
/** At the same time: each is a request to the provider. */
const BATCH = 20
/** Often enough that a batch that waits for a slow provider is not taken for dead. */
const HEARTBEAT_MS = DEAD_AFTER_MS / 4
const SAMPLE_SIZE = 100

const AUDITED_AS = 'key.bulk'

export type Outcome = { verdict: string; state: State; settled: boolean } | { error: string }

/** What an action is told of the run that it is part of. */
interface BulkRun {
  id: string
  reason: string | null
  /** Who asked for it. */
  actor: Pick<Actor, 'id' | 'name'>
}
export type BulkAction = (run: BulkRun, recordId: string) => Promise<Outcome>
export type BulkActions = Readonly<Record<BulkActionName, BulkAction>>

export interface NewBulkRun {
  action: BulkActionName
  ids: readonly string[]
  /** How they were found, where they were not named. */
  filter?: object
  reason: string
}

/** The run with all of its keys, and nothing done yet: `worker` is to work it off. One for each call, however repeated. */
export async function createBulkRun(store: Store, call: Call, bulk: NewBulkRun, worker: string): Promise<Run> {
  const { action, filter, reason } = bulk
  const ids = [...new Set(bulk.ids)]
  const id = call.newId('run')
  const entry = { ...call, action: AUDITED_AS, target: id, reason, after: { action, filter, keys: ids.length } }
  const [run] = await store.query<Run>(sql`
    WITH made AS (
      INSERT INTO runs (id, kind, action, dry_run, scheduled, requested_by, reason, state, total, counts, sample, worked_by)
      VALUES (${id}, 'bulk', ${action}, false, false, ${call.actor.id}, ${reason}, 'running', ${ids.length}::int, '{}',
        ${ids.slice(0, SAMPLE_SIZE)}::text[], ${worker})
      ON CONFLICT (id) DO NOTHING
      RETURNING *
    ), ${audited(entry, sql`made`)}, keys AS (
      INSERT INTO run_items (run_id, position, record_id)
      SELECT made.id, k.position, k.id FROM made, unnest(${ids}::text[]) WITH ORDINALITY k (id, position)
    )
    SELECT ${RUN_COLUMNS} FROM made`)
  return run ?? (await findRun(store, id))!
}

interface Work {
  store: Store
  runId: string
  worker: string
  actions: BulkActions
  /** Aborts when the worker's node stops: the run is then another's. */
  stopping: AbortSignal
}

/** Ends when the run has, or when it is not this worker's any more. It never rejects. */
export async function workOffBulkRun(work: Work): Promise<void> {
  const { store, runId, worker } = work
  const heart = setInterval(() => void beat(store, runId, worker).catch(() => {}), HEARTBEAT_MS)
  try {
    await withRequestId(runId, () => workOff(work))
  } catch (error) {
    log().error({ err: error, run: runId }, 'a bulk run stopped')
    // Without a store nothing can be said; whoever finds the run without a heartbeat does the rest.
    if (!isUnavailable(error))
      await endRun(store, work, 'failed', String((error as Error)?.message ?? error)).catch(() => {})
  } finally {
    clearInterval(heart)
  }
}

async function workOff(work: Work): Promise<void> {
  const { store, runId, worker, stopping } = work
  const actor = await actorOf(store, runId)
  for (;;) {
    const batch = await nextBatch(store, runId, worker)
    if (!batch) return
    if (batch.aborted) return endRun(store, work, 'aborted')
    if (batch.keys.length === 0) return endRun(store, work, 'succeeded')
    if (stopping.aborted) return handOver(store, runId, worker)
    const run = { id: runId, reason: batch.reason, actor }
    const action = work.actions[batch.action]
    const outcomes = await Promise.all(batch.keys.map(({ recordId }) => outcomeOf(action, run, recordId)))
    if (!(await keep(work, batch, outcomes))) return
  }
}

/** One key's trouble must not keep the others waiting. */
async function outcomeOf(action: BulkAction, run: BulkRun, recordId: string): Promise<Outcome> {
  try {
    return await action(run, recordId)
  } catch (error) {
    if (isUnavailable(error)) throw error
    log().error({ err: error, run: run.id, recordId }, 'a key of a bulk run failed')
    return { error: 'internal_error' }
  }
}

interface BulkBatch {
  keys: { position: number; recordId: string }[]
  aborted: boolean
  counts: Counts
  reason: string | null
  action: BulkActionName
}

/** Null when the run has ended or is another's. */
async function nextBatch(store: Store, runId: string, worker: string): Promise<BulkBatch | null> {
  const [row] = await store.query<BulkBatch>(sql`
    SELECT r.abort_requested AS aborted, r.counts, r.reason, coalesce(r.action, 'reconcile') AS action, coalesce((
      SELECT json_agg(json_build_object('position', i.position, 'recordId', i.record_id) ORDER BY i.position)
      FROM (
        SELECT position, record_id FROM run_items WHERE run_id = r.id AND outcome IS NULL
        ORDER BY position LIMIT ${BATCH}::int
      ) i), '[]') AS keys
    FROM runs r WHERE r.id = ${runId} AND r.state = 'running' AND r.worked_by = ${worker}`)
  return row ?? null
}

/** Progress, heartbeat and outcomes together; false when the run is another's, who does these keys again. */
async function keep({ store, runId, worker }: Work, batch: BulkBatch, outcomes: readonly Outcome[]): Promise<boolean> {
  const counts = { ...batch.counts }
  for (const name of outcomes.flatMap((outcome) => namesOf(batch.action, outcome)))
    counts[name] = (counts[name] ?? 0) + 1
  const rows = await store.query(sql`
    WITH mine AS (
      UPDATE runs SET done = done + ${outcomes.length}::int, counts = ${JSON.stringify(counts)}::jsonb,
        heartbeat_at = clock_timestamp()
      WHERE id = ${runId} AND state = 'running' AND worked_by = ${worker}
      RETURNING id
    ), kept AS (
      UPDATE run_items i SET outcome = d.outcome, done_at = clock_timestamp()
      FROM mine, unnest(${batch.keys.map(({ position }) => position)}::int[],
        ${outcomes.map((outcome) => JSON.stringify(outcome))}::jsonb[]) d (position, outcome)
      WHERE i.run_id = mine.id AND i.position = d.position
    )
    SELECT id FROM mine`)
  return rows.length > 0
}

function namesOf(action: BulkActionName, outcome: Outcome): string[] {
  if ('error' in outcome) return ['errors']
  if (action !== 'reconcile') return [outcome.verdict]
  return outcome.settled ? ['lookUps', outcome.verdict, 'settled'] : ['lookUps', outcome.verdict]
}

/** The log has who asked for the run: that entry was written with it. */
async function actorOf(store: Store, runId: string): Promise<BulkRun['actor']> {
  const [row] = await store.query<BulkRun['actor']>(sql`
    SELECT r.requested_by AS id, coalesce(e.actor_name, r.requested_by) AS name
    FROM runs r LEFT JOIN audit_entries e ON e.target = r.id AND e.action = ${AUDITED_AS} WHERE r.id = ${runId}
    ORDER BY e.seq LIMIT 1`)
  return row!
}
