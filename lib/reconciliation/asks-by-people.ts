// People who ask the provider about a key: at most one ask a second for each key, over all nodes. The record itself stays
// as it is but for the mark that it is being asked about.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'

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

/** Clients are told to come back at once meanwhile. A mark of the reconciler's stays, and so does a newer one. */
export async function whileAsking<Answer>(
  store: Pick<Store, 'query'>,
  recordId: string,
  limitMs: number,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const [marked] = await store.query<{ until: Date }>(sql`
    UPDATE idempotency_records SET asking_until = clock_timestamp() + ${limitMs}::float8 * interval '1 ms'
    WHERE id = ${recordId} AND state = 'unknown' AND coalesce(asking_until <= clock_timestamp(), true)
    RETURNING asking_until AS until`)
  try {
    return await ask()
  } finally {
    if (marked)
      await store.query(sql`
        UPDATE idempotency_records SET asking_until = NULL WHERE id = ${recordId} AND asking_until = ${marked.until}`)
  }
}
