// Which unknown outcomes are due, and what has to be known before the provider is asked about one.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Input } from '../idempotency/operation'
import { type KeyRecord, RECORD_COLUMNS, type RecordRow, toRecord } from '../idempotency/record'
import { appended, BY_NOW, NOW } from '../idempotency/sql/event'
import { RUN_UNTIL } from '../idempotency/sql/run-again'

export const DUE: Sql = sql`r.state = 'unknown' AND r.dead_lettered_at IS NULL AND r.reconcile_after <= ${BY_NOW}`

/** The first look-up begins when the outcome becomes unknown, and each further one when clients are told that it does. */
export const ANY_DUE: Sql = sql`EXISTS (SELECT FROM idempotency_records r WHERE ${DUE})`

/**
 * Takes due records for this reconciler by moving their time on: a second one does not see them, and if this one
 * dies they are due again after `holdMs`. Not a claim: the record stays unknown, and its version as it is.
 */
export async function takeDue(store: Store, t: { limit: number; holdMs: number }): Promise<string[]> {
  const rows = await store.query<{ id: string }>(sql`
    WITH due AS MATERIALIZED (
      SELECT r.id FROM idempotency_records r WHERE ${DUE}
      ORDER BY r.reconcile_after LIMIT ${t.limit}::int FOR UPDATE SKIP LOCKED
    )
    UPDATE idempotency_records r SET reconcile_after = held.until, asking_until = held.until
    FROM due, (SELECT clock_timestamp() + ${t.holdMs}::float8 * interval '1 ms' AS until) held
    WHERE r.id = due.id AND ${DUE} RETURNING r.id`)
  return rows.map(({ id }) => id)
}

export interface ToReconcile {
  record: KeyRecord
  input: Input
  requestId: string
  /** The settle window was over before the provider was asked: "no such charge" is proof from here on. */
  settled: boolean
  /** When it is over; null where nobody has called yet. */
  settlesAt: Date | null
  /** For how long its answer is kept, from when there is one. */
  retentionSeconds: number
  /** Of an asynchronous record: its worker would run it again by itself. */
  runsAgain: boolean
}

export async function findToReconcile(store: Store, recordId: string): Promise<ToReconcile | null> {
  const [row] = await store.query<
    RecordRow & {
      request: string | null
      request_id: string
      settles_at: Date | null
      settled: boolean | null
      retention_seconds: number
      runs_again: boolean
    }
  >(sql`
    SELECT ${RECORD_COLUMNS}, r.request, r.request_id, r.settles_at, r.settles_at <= clock_timestamp() AS settled,
      r.retention_seconds, ${RUN_UNTIL} > clock_timestamp() AS runs_again
    FROM idempotency_records r WHERE r.id = ${recordId}`)
  if (!row?.request) return null
  return {
    record: toRecord(row),
    input: JSON.parse(row.request),
    requestId: row.request_id,
    settled: row.settled ?? false,
    settlesAt: row.settles_at,
    retentionSeconds: row.retention_seconds,
    runsAgain: row.runs_again,
  }
}

/** Too early to tell: asked again when the window is over, and not counted as a look-up without an answer. */
export async function waitForSettleWindow(
  store: Store,
  guard: { recordId: string; attempt: number },
  by: string,
): Promise<void> {
  await store.query(sql`
    UPDATE idempotency_records r SET
      reconcile_after = greatest(settles_at, now.at), asking_until = NULL,
      timeline = ${appended({ event: 'looked_up', by, attempt: guard.attempt, verdict: 'too_early' })}
    FROM ${NOW}
    WHERE id = ${guard.recordId} AND state = 'unknown' AND attempt = ${guard.attempt}::int AND dead_lettered_at IS NULL`)
}
