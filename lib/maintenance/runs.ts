// A run of a daemon as people see it: who asked, how far it is, what it did. Progress is written after each batch,
// and the same write learns whether somebody wants it stopped.
import sql, { type Sql } from 'sql-template-tag'
import { newId } from '../db/id'
import type { Store } from '../db/store'
import { log } from '../log'
import { type Daemon, type DaemonKind, type Progress, progressOf } from './daemon'

export type RunState = 'running' | 'succeeded' | 'failed' | 'aborted'

export interface Run {
  id: string
  kind: DaemonKind
  dryRun: boolean
  state: RunState
  done: number
  total: number | null
  counts: Record<string, number>
  sample: string[]
  startedAt: Date
  finishedAt: Date | null
}

export interface RunRequest {
  dryRun: boolean
  scheduled: boolean
  requestedBy: string
  reason: string | null
}

/** A run whose node died: nobody has written its progress for so long. */
const DEAD_AFTER_MS = 60_000

const COLUMNS: Sql = sql`id, kind, dry_run AS "dryRun", state, done, total, counts, sample,
  started_at AS "startedAt", finished_at AS "finishedAt"`

/** The run has begun when this returns; `ended` is its last word. It never rejects: a failure is a state. */
export async function startRun(
  store: Store,
  daemon: Daemon,
  request: RunRequest,
  stopping?: AbortSignal,
): Promise<{ run: Run; ended: Promise<Run> }> {
  const [run] = await store.query<Run>(sql`
    INSERT INTO runs (id, kind, dry_run, scheduled, requested_by, reason, state, counts, sample)
    VALUES (${newId('run')}, ${daemon.kind}, ${request.dryRun}::boolean, ${request.scheduled}::boolean,
      ${request.requestedBy}, ${request.reason}, 'running', '{}', '{}')
    RETURNING ${COLUMNS}`)
  return { run: run!, ended: follow(store, daemon, run!, stopping) }
}

async function follow(store: Store, daemon: Daemon, run: Run, stopping?: AbortSignal): Promise<Run> {
  let progress: Progress = { done: 0, total: null, counts: {}, sample: [] }
  try {
    for await (progress of progressOf(daemon, { dryRun: run.dryRun }))
      if ((await isAborted(store, run.id, progress)) || stopping?.aborted)
        return await finish(store, run, 'aborted', progress)
    return await finish(store, run, 'succeeded', progress)
  } catch (error) {
    log().error({ err: error, run: run.id, kind: run.kind }, 'a run failed')
    const failed = { ...run, ...progress, state: 'failed', finishedAt: new Date() } as const
    return finish(store, run, 'failed', progress, String((error as Error)?.message ?? error)).catch(() => failed)
  }
}

async function isAborted(store: Store, id: string, p: Progress): Promise<boolean> {
  const [row] = await store.query<{ abort_requested: boolean }>(sql`
    UPDATE runs SET done = ${p.done}::int, total = ${p.total}::int, counts = ${JSON.stringify(p.counts)}::jsonb,
      sample = ${p.sample}::text[], heartbeat_at = clock_timestamp()
    WHERE id = ${id} RETURNING abort_requested`)
  return row?.abort_requested ?? true
}

async function finish(store: Store, run: Run, state: RunState, p: Progress, error: string | null = null): Promise<Run> {
  const [row] = await store.query<Run>(sql`
    UPDATE runs SET state = ${state}::run_state, done = ${p.done}::int, total = coalesce(${p.total}::int, ${p.done}::int),
      counts = ${JSON.stringify(p.counts)}::jsonb, sample = ${p.sample}::text[], error = ${error},
      finished_at = clock_timestamp(), heartbeat_at = clock_timestamp()
    WHERE id = ${run.id} RETURNING ${COLUMNS}`)
  return row ?? run
}

/** True when there was a run to stop: it ends after the batch that it is in. */
export async function abortRun(store: Store, id: string): Promise<boolean> {
  const rows = await store.query(sql`
    UPDATE runs SET abort_requested = true WHERE id = ${id} AND state = 'running' RETURNING id`)
  return rows.length > 0
}

export async function findRun(store: Store, id: string): Promise<Run | null> {
  const [row] = await store.query<Run>(sql`SELECT ${COLUMNS} FROM runs WHERE id = ${id}`)
  return row ?? null
}

/** What a node left behind when it died is not running any more. */
export async function failDeadRuns(store: Store): Promise<void> {
  await store.query(sql`
    UPDATE runs SET state = 'failed', error = 'its node stopped', finished_at = clock_timestamp()
    WHERE state = 'running' AND heartbeat_at < clock_timestamp() - ${DEAD_AFTER_MS}::float8 * interval '1 ms'`)
}

/** Scheduled runs that found nothing to do are not history: the last hour of them is enough. */
export async function forgetIdleRuns(store: Store): Promise<void> {
  await store.query(sql`
    DELETE FROM runs WHERE scheduled AND state = 'succeeded' AND done = 0
      AND started_at < clock_timestamp() - interval '1 hour'`)
}
