// Running an accepted request again: the worker may until the record's creation plus its retention, later only because an
// operator said so. Then the record is a dead letter: still proven not executed, and kept until it expires.
import sql, { type Sql } from 'sql-template-tag'
import type { Db, Store, Tx } from '../../db/store'
import type { Also } from '../operation'
import { appended, NOW } from './event'
import { MOVED, type MovedRow } from './transition'
import { atVersion } from './version'

/** Of an asynchronous record: until then its worker runs it again by itself. */
export const RUN_UNTIL: Sql = sql`created_at + retention_seconds * interval '1 s'`

/** A client decides for itself about its own request. An operator's word is good for the one attempt that follows it. */
export const MAY_RUN_AGAIN: Sql = sql`(NOT async OR state = 'pending' OR dead_lettered_at IS NULL
  AND (${RUN_UNTIL} > now.at OR timeline -> -1 ->> 'event' = 'run_again'))`

const IS_RUNNABLE: Sql = sql`async AND state = 'failed_retryable' AND NOT effect_evidence AND expires_at > now.at`

/** True when this call made it a dead letter; the claim that was refused and this agree on the reason. */
export async function deadLetterPastRetention(
  store: Pick<Store, 'query'>,
  recordId: string,
  by: string,
): Promise<boolean> {
  const rows = await store.query(sql`
    UPDATE idempotency_records r SET
      dead_lettered_at = now.at, timeline = ${appended({ event: 'dead_lettered', by })}
    FROM ${NOW}
    WHERE id = ${recordId} AND ${IS_RUNNABLE} AND dead_lettered_at IS NULL AND NOT ${MAY_RUN_AGAIN}
    RETURNING r.id`)
  return rows.length > 0
}

export interface RunAgain {
  recordId: string
  version: number
  by: string
  enqueue(tx: Tx, recordId: string): Promise<void>
  also: Also
}

/** False when it is not runnable, or not at that version any more. */
export const runAgain = (store: Db, r: RunAgain): Promise<boolean> =>
  store.transaction(async (tx) => {
    const [row] = await tx.query<MovedRow>(sql`
      UPDATE idempotency_records r SET
        version = version + 1, dead_lettered_at = NULL, timeline = ${appended({ event: 'run_again', by: r.by })}
      FROM ${NOW}
      WHERE id = ${r.recordId} AND ${IS_RUNNABLE} ${atVersion(r.version)}
      RETURNING ${MOVED}`)
    if (!row) return false
    await r.enqueue(tx, row.id)
    await r.also(tx, row)
    return true
  })
