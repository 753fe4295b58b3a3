// Release: it is proven that nothing was executed. The record may be claimed again, with all of its retention ahead.
import sql from 'sql-template-tag'
import type { Tx } from '../../db/store'
import type { Also } from '../operation'
import type { State } from '../states'
import { appended, NOW, type TimelineEvent, unknownSeconds } from './event'
import { notifyWaiters } from './notify'
import { RUN_UNTIL } from './run-again'
import { MOVED, type MovedRow, type Through, type Transition, transition } from './transition'
import { atVersion } from './version'

export interface Release {
  recordId: string
  from: State
  attempt: number
  /** As in settle. */
  version?: number
  despiteOtherMoney?: boolean
  code: string
  /** Of an unfinished look-up. Any other release ends what a look-up had begun. */
  lookUpProgress?: string | null
  /** What the operation gives back. */
  giveBack?: (tx: Tx) => Promise<void>
  event: TimelineEvent
  /** The job of an accepted request's next run; past its time there is none, but a dead letter. */
  enqueue?: (tx: Tx, recordId: string) => Promise<void>
  also?: Also
}

export interface Released extends Transition {
  /** When the key expires now. */
  expiresAt: Date
}

/**
 * Null when the record was not there any more as it was read, or evidence of an effect is stored: then nothing is given
 * back that the effect has taken. What other money means, only a person says.
 */
export const release = (through: Through, r: Release): Promise<Released | null> =>
  transition(through, 'released', () =>
    through.store.transaction(async (tx) => {
      const [row] = await tx.query<MovedRow & Omit<Released, 'from'> & { deadLettered: boolean }>(sql`
        UPDATE idempotency_records r SET
          state = 'failed_retryable', version = version + 1, expires_at = now.at + retention_seconds * interval '1 s',
          locked_until = NULL, locked_by = NULL, reconcile_after = NULL,
          money_differs = false, look_up_progress = ${r.lookUpProgress ?? null},
          dead_lettered_at = CASE WHEN ${r.enqueue !== undefined}::boolean AND ${RUN_UNTIL} <= now.at THEN now.at END,
          last_error_code = ${r.code}, timeline = ${appended({ ...r.event, code: r.code })}
        FROM ${NOW}
        WHERE id = ${r.recordId} AND state = ${r.from}::record_state AND attempt = ${r.attempt}::int
          ${atVersion(r.version)} AND NOT effect_evidence AND (${r.despiteOtherMoney ?? false}::boolean OR NOT money_differs)
        RETURNING ${MOVED}, expires_at AS "expiresAt", dead_lettered_at IS NOT NULL AS "deadLettered",
          ${unknownSeconds(r.from)} AS "unknownSeconds"`)
      if (!row) return null
      await r.giveBack?.(tx)
      if (!row.deadLettered) await r.enqueue?.(tx, row.id)
      await notifyWaiters(tx, [row])
      await r.also?.(tx, row)
      return { ...row, from: r.from }
    }),
  )
