// A run as people see it: who asked, how far it is, what it did. Progress is written after each batch, and the same
// write learns whether somebody wants it stopped.
import sql, { type Sql } from 'sql-template-tag'
import { newId } from '../db/id'
import type { Db, Store, Tx } from '../db/store'
import { log } from '../log'
import { withRequestId } from '../request-context'
import type { BulkActionName } from './bulk-action'
import { DAEMONS, type Daemon, type Progress, progressOf } from './daemon'

/** Of which another node takes up the rest. */
export const WORKED_KINDS = ['bulk', 'restore'] as const
export const RUN_KINDS = [...DAEMONS, ...WORKED_KINDS, 'traffic'] as const
export type RunKind = (typeof RUN_KINDS)[number]

export const RUN_STATES = ['running', 'succeeded', 'failed', 'aborted'] as const
export type RunState = (typeof RUN_STATES)[number]

export interface Run {
  id: string
  kind: RunKind
  /** Of a bulk run: what it does to each key. */
  action: BulkActionName | null
  dryRun: boolean
  state: RunState
  done: number
  total: number | null
  counts: Record<string, number>
  sample: string[]
  startedAt: Date
  finishedAt: Date | null
  /** Who: an operator, a token, or the node whose schedule it was. */
  requestedBy: string
  scheduled: boolean
  reason: string | null
  error: string | null
}

export interface RunRequest {
  /** Where it was given before: a second run of this id is not begun. */
  id?: string
  dryRun: boolean
  scheduled: boolean
  requestedBy: string
  reason: string | null
  /** What commits with its beginning. */
  also?: (tx: Tx) => Promise<void>
}

/** A run whose node died: nobody has written its progress for so long. */
export const DEAD_AFTER_MS = 60_000

export const RUN_COLUMNS: Sql = sql`id, kind, CASE WHEN kind = 'bulk' THEN coalesce(action, 'reconcile') END AS action, dry_run AS "dryRun", state, done, total, counts, sample,
  started_at AS "startedAt", finished_at AS "finishedAt", requested_by AS "requestedBy", scheduled, reason, error`

/** The run has begun when this returns; `ended` is its last word. It never rejects: a failure is a state. */
export async function startRun(
  store: Store,
  daemon: Daemon<RunKind>,
  request: RunRequest,
  stopping?: AbortSignal,
): Promise<{ run: Run; ended: Promise<Run> }> {
  const id = request.id ?? newId('run')
  const run = await store.transaction(async (tx) => {
    const [begun] = await tx.query<Run>(sql`
      INSERT INTO runs (id, kind, dry_run, scheduled, requested_by, reason, state, counts, sample)
      VALUES (${id}, ${daemon.kind}, ${request.dryRun}::boolean, ${request.scheduled}::boolean,
        ${request.requestedBy}, ${request.reason}, 'running', '{}', '{}')
      ON CONFLICT (id) DO NOTHING
      RETURNING ${RUN_COLUMNS}`)
    if (begun) await request.also?.(tx)
    return begun
  })
  if (run) return { run, ended: withRequestId(run.id, () => follow(store, daemon, run, stopping)) }
  // Asked for by the same call, whose node died: there is one run for it, whoever follows it.
  const begun = await findRun(store, id)
  return { run: begun!, ended: Promise.resolve(begun!) }
}

async function follow(store: Store, daemon: Daemon<RunKind>, run: Run, stopping?: AbortSignal): Promise<Run> {
  let progress: Progress = { done: 0, total: null, counts: {}, sample: [], groups: [] }
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
    WHERE id = ${id} AND state = 'running' RETURNING abort_requested`)
  return row?.abort_requested ?? true
}

async function finish(store: Store, run: Run, state: RunState, p: Progress, error: string | null = null): Promise<Run> {
  const [row] = await store.query<Run>(sql`
    UPDATE runs SET state = ${state}::run_state, done = ${p.done}::int, total = coalesce(${p.total}::int, ${p.done}::int),
      counts = ${JSON.stringify(p.counts)}::jsonb, sample = ${p.sample}::text[], error = ${error},
      groups = ${p.groups.length > 0 ? JSON.stringify(p.groups) : null}::jsonb,
      finished_at = clock_timestamp(), heartbeat_at = clock_timestamp()
    WHERE id = ${run.id} AND state = 'running' RETURNING ${RUN_COLUMNS}`)
  // Given up for dead meanwhile: that stands, and is what everybody was told.
  return row ?? (await findRun(store, run.id)) ?? run
}

/** The run, when there was one to stop: it ends after the batch that it is in. `also` commits with the first call alone. */
export async function abortRun(store: Db, id: string, also?: (tx: Tx) => Promise<void>): Promise<Run | null> {
  const row = await store.transaction(async (tx) => {
    const [aborted] = await tx.query<Run>(sql`
      UPDATE runs SET abort_requested = true WHERE id = ${id} AND state = 'running' AND NOT abort_requested
      RETURNING ${RUN_COLUMNS}`)
    if (aborted) await also?.(tx)
    return aborted
  })
  const run = row ?? (await findRun(store, id))
  return run?.state === 'running' ? run : null
}

export async function findRun(store: Pick<Store, 'query'>, id: string): Promise<Run | null> {
  const [row] = await store.query<Run>(sql`SELECT ${RUN_COLUMNS} FROM runs WHERE id = ${id}`)
  return row ?? null
}

export const DIES_WITH_ITS_NODE: Sql = sql`NOT kind = ANY(${[...WORKED_KINDS]}::text[])`

/** What a node left behind when it died is not running any more. */
export async function failDeadRuns(store: Store): Promise<void> {
  await store.query(sql`
    UPDATE runs SET state = 'failed', error = 'its node stopped', finished_at = clock_timestamp()
    WHERE state = 'running' AND ${DIES_WITH_ITS_NODE}
      AND heartbeat_at < clock_timestamp() - ${DEAD_AFTER_MS}::float8 * interval '1 ms'`)
}

/** Scheduled runs that found nothing to do are not history: the last hour of them is enough. */
export async function forgetIdleRuns(store: Store): Promise<void> {
  await store.query(sql`
    DELETE FROM runs WHERE scheduled AND state = 'succeeded' AND done = 0
      AND started_at < clock_timestamp() - interval '1 hour'`)
}
