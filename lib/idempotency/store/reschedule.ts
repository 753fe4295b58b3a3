// When the provider is asked about an unknown outcome: taken when it is due, asked again later and later while there is no
// answer, and left to people after enough look-ups. The record stays unknown, and its version as it is.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../../db/store'
import { appended, BY_NOW, NOW } from './event'

const LONGEST_PAUSE_MS = 3_600_000

type Query = Pick<Store, 'query'>

interface Guard {
  recordId: string
  attempt: number
}

const AS_READ = ({ recordId, attempt }: Guard): Sql =>
  sql`id = ${recordId} AND state = 'unknown' AND attempt = ${attempt}::int`

export const DUE: Sql = sql`r.state = 'unknown' AND r.dead_lettered_at IS NULL AND r.reconcile_after <= ${BY_NOW}`

/** The first look-up begins when the outcome becomes unknown, and each further one at the time that its 409 has said. */
export const ANY_DUE: Sql = sql`EXISTS (SELECT FROM idempotency_records r WHERE ${DUE})`

/**
 * Takes due records for one reconciler by moving their time on: a second one does not see them, and if this one dies they
 * are due again after `holdMs`. Not a claim.
 */
export async function takeDue(store: Query, t: { limit: number; holdMs: number }): Promise<string[]> {
  const rows = await store.query<{ id: string }>(sql`
    UPDATE idempotency_records r SET reconcile_after = held.until, asking_until = held.until
    FROM (SELECT clock_timestamp() + ${t.holdMs}::float8 * interval '1 ms' AS until) held
    WHERE r.id = ANY(ARRAY(
      SELECT r.id FROM idempotency_records r WHERE ${DUE}
      ORDER BY r.reconcile_after LIMIT ${t.limit}::int FOR UPDATE SKIP LOCKED)) AND ${DUE}
    RETURNING r.id`)
  return rows.map(({ id }) => id)
}

/** A look-up without an answer. */
export async function reschedule(
  store: Query,
  r: Guard & { by: string; verdict: 'pending' | 'unreachable'; intervalMs: number; maxAttempts: number },
): Promise<{ deadLettered: boolean }> {
  const [row] = await store.query<{ dead_lettered: boolean }>(sql`
    UPDATE idempotency_records r SET
      reconcile_attempts = reconcile_attempts + 1,
      reconcile_after = CASE WHEN reconcile_attempts + 1 < ${r.maxAttempts}::int THEN now.at + least(
        ${r.intervalMs}::float8 * power(2, least(reconcile_attempts, 30)), ${LONGEST_PAUSE_MS}::float8) * interval '1 ms' END,
      dead_lettered_at = CASE WHEN reconcile_attempts + 1 >= ${r.maxAttempts}::int THEN now.at END, asking_until = NULL,
      timeline = ${appended({ event: 'looked_up', by: r.by, attempt: r.attempt, verdict: r.verdict })}
    FROM ${NOW}
    -- evidence of other money may have made it a dead letter while the provider was asked
    WHERE ${AS_READ(r)} AND dead_lettered_at IS NULL
    RETURNING dead_lettered_at IS NOT NULL AS dead_lettered`)
  return { deadLettered: row?.dead_lettered ?? false }
}

/** Too early to tell: asked again when the settle window is over, and not counted as a look-up without an answer. */
export async function waitForSettleWindow(store: Query, guard: Guard, by: string): Promise<void> {
  await store.query(sql`
    UPDATE idempotency_records r SET
      reconcile_after = greatest(settles_at, now.at), asking_until = NULL,
      timeline = ${appended({ event: 'looked_up', by, attempt: guard.attempt, verdict: 'too_early' })}
    FROM ${NOW}
    WHERE ${AS_READ(guard)} AND dead_lettered_at IS NULL`)
}

/**
 * Keeps what an unfinished look-up has read; it was started after the settle window, and counts as none. The schedule goes on
 * with it at once. What a person asked is not part of the schedule: its next look-up is due when it was.
 */
export async function continueSoon(
  store: Query,
  c: Guard & { by: string; progress: string; scheduled: boolean },
): Promise<void> {
  const event = appended({ event: 'looked_up', by: c.by, attempt: c.attempt, verdict: 'unfinished' })
  const schedule = sql`
    reconcile_after = CASE WHEN dead_lettered_at IS NULL THEN now.at ELSE reconcile_after END, asking_until = NULL,
    timeline = ${event},`
  await store.query(sql`
    UPDATE idempotency_records r SET ${c.scheduled ? schedule : sql``} look_up_progress = ${c.progress}
    FROM ${NOW} WHERE ${AS_READ(c)}`)
}

/** Marks that a person asks; a mark of the reconciler's stays. Null where there is one. */
export async function markAsking(store: Query, recordId: string, limitMs: number): Promise<Date | null> {
  const [marked] = await store.query<{ until: Date }>(sql`
    UPDATE idempotency_records SET asking_until = clock_timestamp() + ${limitMs}::float8 * interval '1 ms'
    WHERE id = ${recordId} AND state = 'unknown' AND coalesce(asking_until <= clock_timestamp(), true)
    RETURNING asking_until AS until`)
  return marked?.until ?? null
}

/** A newer mark stays. */
export async function unmarkAsking(store: Query, recordId: string, until: Date): Promise<void> {
  await store.query(sql`
    UPDATE idempotency_records SET asking_until = NULL WHERE id = ${recordId} AND asking_until = ${until}`)
}
