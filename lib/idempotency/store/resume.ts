// Dead letters that are looked up by schedule again, at once and then from the first interval on.
import sql, { type Sql } from 'sql-template-tag'
import type { Db, Tx } from '../../db/store'
import type { Also } from '../operation'
import { appended, NOW, UNKNOWN_SINCE } from './event'
import { MOVED, type MovedRow } from './transition'
import { atVersion } from './version'

const IS_DEAD_LETTER: Sql = sql`r.state = 'unknown' AND r.dead_lettered_at IS NOT NULL`

/** The settings of an UPDATE of `idempotency_records r` that reads the clock from `now`. */
const resumed = (by: string): Sql => sql`
  dead_lettered_at = NULL, reconcile_attempts = 0, reconcile_after = now.at,
  timeline = ${appended({ event: 'resumed', by })}`

/** False when it is no dead letter, or not at that version any more. */
export const resume = (store: Db, r: { recordId: string; version: number; by: string; also: Also }): Promise<boolean> =>
  store.transaction(async (tx) => {
    const [row] = await tx.query<MovedRow>(sql`
      UPDATE idempotency_records r SET version = version + 1, ${resumed(r.by)}
      FROM ${NOW}
      WHERE r.id = ${r.recordId} AND ${IS_DEAD_LETTER} ${atVersion(r.version)}
      RETURNING ${MOVED}`)
    if (row) await r.also(tx, row)
    return row !== undefined
  })

/**
 * Those that became dead letters since `answeredAt`, which is older than the later half of the time in which they were looked
 * up; none with one of the codes.
 */
export async function resumeSince(
  tx: Tx,
  { answeredAt, except, limit }: { answeredAt: Date | null; except: readonly string[]; limit: number },
): Promise<string[]> {
  const due = await tx.query<{ id: string }>(sql`
    SELECT r.id FROM idempotency_records r, (SELECT coalesce(${answeredAt}::timestamptz, '-infinity') AS answered_at) before
    WHERE ${IS_DEAD_LETTER} AND r.dead_lettered_at > before.answered_at
      AND coalesce(r.last_error_code, '') <> ALL(${[...except]}::text[])
      AND r.dead_lettered_at - (r.dead_lettered_at - greatest(${UNKNOWN_SINCE}, ${RESUMED_AT})) / 2 > before.answered_at
    ORDER BY r.id LIMIT ${limit}::int FOR UPDATE OF r`)
  const ids = due.map(({ id }) => id)
  if (ids.length > 0)
    await tx.query(sql`
      UPDATE idempotency_records r SET ${resumed('reconciler')} FROM ${NOW} WHERE r.id = ANY(${ids}::text[])`)
  return ids
}

const RESUMED_AT: Sql = sql`(SELECT max((e->>'at')::timestamptz) FROM jsonb_array_elements(timeline) e
  WHERE e->>'event' = 'resumed')`
