// Release: it is proven that nothing was executed. The record may be claimed again, with all of its retention ahead.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../../db/store'
import type { Effects } from '../operation'
import type { State } from '../states'
import { withEffects } from './effects'
import { appended, NOW, type TimelineEvent, unknownSeconds } from './event'
import { NOTIFY_WAITERS } from './notify'
import { RUN_UNTIL } from './run-again'
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
  effects: Effects
  event: TimelineEvent
  /** The job of an accepted request's next run, a scalar over `moved r`; past its time there is none, but a dead letter. */
  next?: Sql
}

export interface Released {
  /** When the key expires now. */
  expiresAt: Date
  unknownSeconds: number | null
}

/**
 * Null when the record was not there any more as it was read, or evidence of an effect is stored: then nothing is given
 * back that the effect has taken. What other money means, only a person says.
 */
export async function release(store: Pick<Store, 'query'>, r: Release): Promise<Released | null> {
  const [row] = await store.query<Released>(sql`
    WITH moved AS (
      UPDATE idempotency_records r SET
        state = 'failed_retryable', version = version + 1, expires_at = now.at + retention_seconds * interval '1 s',
        locked_until = NULL, locked_by = NULL, reconcile_after = NULL,
        money_differs = false, look_up_progress = ${r.lookUpProgress ?? null},
        dead_lettered_at = CASE WHEN ${r.next !== undefined}::boolean AND ${RUN_UNTIL} <= now.at THEN now.at END,
        last_error_code = ${r.code}, timeline = ${appended({ ...r.event, code: r.code })}
      FROM ${NOW}
      WHERE id = ${r.recordId} AND state = ${r.from}::record_state AND attempt = ${r.attempt}::int
        ${atVersion(r.version)} AND NOT effect_evidence AND (${r.despiteOtherMoney ?? false}::boolean OR NOT money_differs)
      RETURNING r.*
    )${withEffects(r.effects)}
    SELECT expires_at AS "expiresAt", ${unknownSeconds([r.from])} AS "unknownSeconds", ${NOTIFY_WAITERS},
      CASE WHEN dead_lettered_at IS NULL THEN ${r.next ?? sql`NULL`} END::text AS job FROM moved r`)
  return row ?? null
}
