// A lease that ran out is never a licence to run again. The recovery point says what it means: a phase that may call
// the provider leaves the outcome unknown, any other is proven to have done nothing outside.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../../db/store'
import type { State } from '../states'
import { appended, HAS_EVIDENCE, NOW } from './event'
import { NOTIFY_WAITERS } from './notify'

export interface MovedByLease {
  id: string
  state: Extract<State, 'unknown' | 'failed_retryable'>
  endpoint: string
  tenantId: string
  /** Somebody learned of the outcome while it was owned: that was kept for this moment. */
  hasEvidence: boolean
}

/** What the sweeper and the next request agree on: the very predicate of an expired lease. */
export const LEASE_IS_OVER: Sql = sql`r.state = 'in_progress' AND r.locked_until <= clock_timestamp()`

/** Where it goes. */
export const BY_RECOVERY_POINT: Sql = sql`CASE WHEN r.external OR r.money_differs THEN 'unknown' ELSE 'failed_retryable' END`

/** The record that a request just read. Null when somebody was faster. */
export async function leaseOver(
  store: Store,
  l: { recordId: string; attempt: number; by: string },
): Promise<MovedByLease | null> {
  const one = sql`SELECT r.id FROM idempotency_records r
    WHERE r.id = ${l.recordId} AND r.attempt = ${l.attempt}::int AND ${LEASE_IS_OVER} FOR UPDATE`
  return (await moveByRecoveryPoint(store, one, l.by))[0] ?? null
}

/** The longest overdue first. SKIP LOCKED: what another sweeper or an owner has in hand is theirs. */
export function sweepLeases(store: Store, s: { limit: number; by: string }): Promise<MovedByLease[]> {
  const batch = sql`SELECT r.id FROM idempotency_records r
    WHERE ${LEASE_IS_OVER} ORDER BY r.locked_until LIMIT ${s.limit}::int FOR UPDATE SKIP LOCKED`
  return moveByRecoveryPoint(store, batch, s.by)
}

// `due` locks the rows and has seen their newest versions, so the update that follows needs no second look.
function moveByRecoveryPoint(store: Store, due: Sql, by: string): Promise<MovedByLease[]> {
  return store.query<MovedByLease>(sql`
    WITH due AS MATERIALIZED (${due}),
    moved AS (
      UPDATE idempotency_records r SET
        state = (${BY_RECOVERY_POINT})::record_state, version = version + 1,
        reconcile_after = CASE WHEN external AND NOT money_differs THEN now.at END,
        dead_lettered_at = CASE WHEN money_differs THEN now.at END,
        expires_at = CASE WHEN external THEN expires_at ELSE now.at + retention_seconds * interval '1 s' END,
        locked_until = NULL, locked_by = NULL, in_doubt = true, doubt_until = settles_at,
        last_error_code = CASE WHEN money_differs THEN last_error_code ELSE 'lease_over' END,
        timeline = ${appended({ event: 'lease_over', by })}
      FROM due, ${NOW}
      WHERE r.id = due.id AND ${LEASE_IS_OVER}
      RETURNING r.*
    )
    SELECT id, state, endpoint, tenant_id AS "tenantId", ${HAS_EVIDENCE} AS "hasEvidence", ${NOTIFY_WAITERS}
    FROM moved`)
}
