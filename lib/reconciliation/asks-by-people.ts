// People who ask the provider about a key: at most one ask a second for each key, over all nodes. The record itself stays
// as it is but for the mark that it is being asked about.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { markAsking, unmarkAsking } from '../idempotency/store/reschedule'

const PAUSE_MS = 1000

/** In how many milliseconds the key may be asked about; null: now, and this ask is the one of this second. */
export async function takeAsk(store: Pick<Store, 'query'>, recordId: string): Promise<number | null> {
  const [row] = await store.query<{ taken: boolean; wait_ms: number | null }>(sql`
    WITH outlived AS (
      DELETE FROM asks_by_people
      WHERE asked_at < clock_timestamp() - interval '1 hour' AND record_id <> ${recordId}
    ), taken AS (
      INSERT INTO asks_by_people AS a (record_id, asked_at) VALUES (${recordId}, clock_timestamp())
      ON CONFLICT (record_id) DO UPDATE SET asked_at = excluded.asked_at
        WHERE a.asked_at <= excluded.asked_at - ${PAUSE_MS}::float8 * interval '1 ms'
      RETURNING record_id
    )
    SELECT EXISTS (SELECT FROM taken) AS taken, (
      SELECT ${PAUSE_MS}::float8 - extract(epoch FROM clock_timestamp() - asked_at) * 1000 FROM asks_by_people
      WHERE record_id = ${recordId})::float8 AS wait_ms`)
  // Another ask that was faster may not be visible to this statement.
  return row?.taken ? null : Math.max(1, row?.wait_ms ?? PAUSE_MS)
}

/** Meanwhile a client's 409 advises it to retry at once. */
export async function whileAsking<Answer>(
  store: Pick<Store, 'query'>,
  recordId: string,
  limitMs: number,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const until = await markAsking(store, recordId, limitMs)
  try {
    return await ask()
  } finally {
    if (until) await unmarkAsking(store, recordId, until)
  }
}
