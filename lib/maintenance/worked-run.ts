// A run that outlives its node: one worker at a time works on it, and whoever is not named any more stops. When the worker
// hands it over or dies, another one takes up the rest.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { DEAD_AFTER_MS, type Run, type WORKED_KINDS } from './runs'

type WorkedKind = (typeof WORKED_KINDS)[number]

/** The oldest of its kind, or that one, if nobody works on it: handed over, or its worker is dead. It is this worker's now. */
export async function takeUpRun(
  store: Store,
  kind: WorkedKind,
  worker: string,
  { runId = null, deadAfterMs = DEAD_AFTER_MS }: { runId?: string | null; deadAfterMs?: number } = {},
): Promise<string | null> {
  const [taken] = await store.query<{ id: string }>(sql`
    UPDATE runs SET worked_by = ${worker}, heartbeat_at = clock_timestamp()
    WHERE id = (
      SELECT id FROM runs WHERE kind = ${kind} AND state = 'running' AND id = coalesce(${runId}, id) AND (worked_by IS NULL
        OR heartbeat_at < clock_timestamp() - ${deadAfterMs}::float8 * interval '1 ms')
      ORDER BY started_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id`)
  return taken?.id ?? null
}

export async function beat(store: Store, runId: string, worker: string): Promise<void> {
  await store.query(sql`
    UPDATE runs SET heartbeat_at = clock_timestamp() WHERE id = ${runId} AND worked_by = ${worker}`)
}

export async function handOver(store: Store, runId: string, worker: string): Promise<void> {
  await store.query(sql`UPDATE runs SET worked_by = NULL WHERE id = ${runId} AND worked_by = ${worker}`)
}

export async function endRun(
  store: Store,
  { runId, worker }: { runId: string; worker: string },
  state: Run['state'],
  error: string | null = null,
): Promise<void> {
  await store.query(sql`
    UPDATE runs SET state = ${state}::run_state, error = ${error}, finished_at = clock_timestamp(),
      heartbeat_at = clock_timestamp()
    WHERE id = ${runId} AND state = 'running' AND worked_by = ${worker}`)
}
