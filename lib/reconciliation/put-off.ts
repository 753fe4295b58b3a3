// A look-up without an answer: asked again later and later, and after enough of them people are told. An unfinished one
// counts as none and goes on at once. The record stays unknown, and its version as it is.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { appended, NOW } from '../idempotency/sql/event'

const LONGEST_PAUSE_MS = 3_600_000

export interface PutOff {
  recordId: string
  attempt: number
  by: string
  verdict: 'pending' | 'unreachable'
  intervalMs: number
  maxAttempts: number
}

export async function putOff(store: Store, p: PutOff): Promise<{ deadLettered: boolean }> {
  const [row] = await store.query<{ dead_lettered: boolean }>(sql`
    UPDATE idempotency_records r SET
      reconcile_attempts = reconcile_attempts + 1,
      reconcile_after = CASE WHEN reconcile_attempts + 1 < ${p.maxAttempts}::int THEN now.at + least(
        ${p.intervalMs}::float8 * power(2, least(reconcile_attempts, 30)), ${LONGEST_PAUSE_MS}::float8) * interval '1 ms' END,
      dead_lettered_at = CASE WHEN reconcile_attempts + 1 >= ${p.maxAttempts}::int THEN now.at END, asking_until = NULL,
      timeline = ${appended({ event: 'looked_up', by: p.by, attempt: p.attempt, verdict: p.verdict })}
    FROM ${NOW}
    WHERE id = ${p.recordId} AND state = 'unknown' AND attempt = ${p.attempt}::int
      -- evidence of other money may have made it a dead letter while the provider was asked
      AND dead_lettered_at IS NULL
    RETURNING dead_lettered_at IS NOT NULL AS dead_lettered`)
  return { deadLettered: row?.dead_lettered ?? false }
}

/**
 * Keeps what an unfinished look-up has read; it was started after the settle window. The schedule goes on with it at once.
 * What a person asked is not part of the schedule: its next look-up is due when it was.
 */
export async function goOnSoon(
  store: Store,
  p: { recordId: string; attempt: number; by: string; progress: string; scheduled: boolean },
): Promise<void> {
  await store.query(sql`
    UPDATE idempotency_records r SET
      look_up_progress = ${p.progress},
      reconcile_after = CASE WHEN ${p.scheduled}::boolean AND dead_lettered_at IS NULL THEN now.at ELSE reconcile_after END,
      asking_until = CASE WHEN NOT ${p.scheduled}::boolean THEN asking_until END,
      timeline = CASE WHEN NOT ${p.scheduled}::boolean THEN timeline
        ELSE ${appended({ event: 'looked_up', by: p.by, attempt: p.attempt, verdict: 'unfinished' })} END
    FROM ${NOW}
    WHERE id = ${p.recordId} AND state = 'unknown' AND attempt = ${p.attempt}::int`)
}
