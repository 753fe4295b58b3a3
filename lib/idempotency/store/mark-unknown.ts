// The owner can't tell what happened. From here only reconciliation moves the record on.
import sql from 'sql-template-tag'
import { appended, HAS_EVIDENCE, NOW } from './event'
import { notifyWaiters } from './notify'
import { MOVED, type MovedRow, type Through, type Transition, transition } from './transition'

export interface MarkUnknown {
  recordId: string
  attempt: number
  code: string
  nodeId: string
}

export interface MarkedUnknown extends Transition {
  expiresAt: Date
  hasEvidence: boolean
}

/** The owner's own word. Null when it was fenced. */
export const markUnknown = (through: Through, u: MarkUnknown): Promise<MarkedUnknown | null> =>
  transition(through, 'given_up', () =>
    through.store.transaction(async (tx) => {
      const [row] = await tx.query<MovedRow & Pick<MarkedUnknown, 'expiresAt' | 'hasEvidence'>>(sql`
        UPDATE idempotency_records r SET
          state = 'unknown', version = version + 1, locked_until = NULL, locked_by = NULL, in_doubt = true,
          doubt_until = settles_at,
          reconcile_after = CASE WHEN money_differs THEN NULL ELSE now.at END,
          dead_lettered_at = CASE WHEN money_differs THEN now.at END,
          last_error_code = CASE WHEN money_differs THEN last_error_code ELSE ${u.code}::text END,
          timeline = ${appended({ event: 'outcome_unknown', by: u.nodeId, attempt: u.attempt, code: u.code })}
        FROM ${NOW}
        WHERE id = ${u.recordId} AND state = 'in_progress' AND attempt = ${u.attempt}::int
        RETURNING ${MOVED}, expires_at AS "expiresAt", ${HAS_EVIDENCE} AS "hasEvidence"`)
      if (!row) return null
      await notifyWaiters(tx, [row])
      return { ...row, from: 'in_progress', unknownSeconds: null }
    }),
  )
