// The owner can't tell what happened. From here only reconciliation moves the record on.
import sql from 'sql-template-tag'
import type { Store } from '../../db/store'
import { appended, HAS_EVIDENCE, NOW } from './event'
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
): Promise<{ expiresAt: Date; hasEvidence: boolean } | null> {
  const [row] = await store.query<{ expires_at: Date; has_evidence: boolean }>(sql`
    WITH moved AS (
      UPDATE idempotency_records r SET
        state = 'unknown', version = version + 1, locked_until = NULL, locked_by = NULL, in_doubt = true, doubt_until = settles_at,
        reconcile_after = CASE WHEN money_differs THEN NULL ELSE now.at END,
        dead_lettered_at = CASE WHEN money_differs THEN now.at END,
        last_error_code = CASE WHEN money_differs THEN last_error_code ELSE ${u.code}::text END,
        timeline = ${appended({ event: 'outcome_unknown', by: u.nodeId, attempt: u.attempt, code: u.code })}
      FROM ${NOW}
      WHERE id = ${u.recordId} AND state = 'in_progress' AND attempt = ${u.attempt}::int
      RETURNING r.*
    )
    SELECT expires_at, ${HAS_EVIDENCE} AS has_evidence, ${NOTIFY_WAITERS} FROM moved`)
  return row ? { expiresAt: row.expires_at, hasEvidence: row.has_evidence } : null
}
