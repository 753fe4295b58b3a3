// Two ways into `unknown`: the owner says that it can't tell, or the owner is gone and its lease is over. From here
// only reconciliation moves a record on.
import sql from 'sql-template-tag'
import type { Store } from '../../db/store'
import { appended, NOW } from './event'
import { NOTIFY_WAITERS } from './notify'

export interface OutcomeUnknown {
  recordId: string
  attempt: number
  code: string
  nodeId: string
}

/** The owner's own word. Null when it was fenced. */
export async function outcomeUnknown(
  store: Pick<Store, 'query'>,
  u: OutcomeUnknown,
): Promise<{ expiresAt: Date } | null> {
  const [row] = await store.query<{ expires_at: Date }>(sql`
    WITH moved AS (
      UPDATE idempotency_records r SET
        state = 'unknown', version = version + 1, locked_until = NULL, locked_by = NULL, reconcile_after = now.at,
        last_error_code = ${u.code},
        timeline = ${appended({ event: 'outcome_unknown', by: u.nodeId, attempt: u.attempt, code: u.code })}
      FROM ${NOW}
      WHERE id = ${u.recordId} AND state = 'in_progress' AND attempt = ${u.attempt}::int
      RETURNING r.*
    )
    SELECT expires_at, ${NOTIFY_WAITERS} FROM moved`)
  return row ? { expiresAt: row.expires_at } : null
}

/** A lease that ran out: by recovery point. A phase that may call the provider leaves the outcome unknown. */
export async function leaseOver(store: Store, l: { recordId: string; attempt: number; by: string }): Promise<boolean> {
  const rows = await store.query(sql`
    WITH moved AS (
      UPDATE idempotency_records r SET
        state = CASE WHEN external THEN 'unknown' ELSE 'failed_retryable' END::record_state, version = version + 1,
        reconcile_after = CASE WHEN external THEN now.at END,
        expires_at = CASE WHEN external THEN expires_at ELSE now.at + retention_seconds * interval '1 s' END,
        locked_until = NULL, locked_by = NULL, last_error_code = 'lease_over',
        timeline = ${appended({ event: 'lease_over', by: l.by, attempt: l.attempt })}
      FROM ${NOW}
      WHERE id = ${l.recordId} AND state = 'in_progress' AND attempt = ${l.attempt}::int AND locked_until <= now.at
      RETURNING r.*
    )
    SELECT ${NOTIFY_WAITERS} FROM moved`)
  return rows.length > 0
}
