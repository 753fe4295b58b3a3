// Replays of a record, counted in batches. A replay is not a move: the version stays.
import sql from 'sql-template-tag'
import { rowsOf } from '../../db/arrays'
import type { Db } from '../../db/store'
import { NOW } from './event'

export interface Replays {
  recordId: string
  count: number
  /** How long ago the last one was. */
  ageMs: number
}

/**
 * The count is indexed, for the list of what is replayed most, so this writes the record's index entries again: once a call
 * for a key, however often it was replayed.
 */
export async function countReplays(store: Db, replays: readonly Replays[]): Promise<void> {
  const given = rowsOf('g', replays, {
    id: ['text', ({ recordId }) => recordId],
    count: ['int', ({ count }) => count],
    age_ms: ['float8', ({ ageMs }) => ageMs],
  })
  await store.transaction(async (tx) => {
    // In one order on every node. Not FOR UPDATE: what refers to the record may go on.
    await tx.query(sql`
      SELECT 1 FROM idempotency_records WHERE id = ANY(${replays.map(({ recordId }) => recordId)}::text[])
      ORDER BY id FOR NO KEY UPDATE`)
    await tx.query(sql`
      UPDATE idempotency_records r SET
        replay_count = r.replay_count + g.count,
        last_replayed_at = greatest(r.last_replayed_at, now.at - g.age_ms * interval '1 ms')
      FROM ${given}, ${NOW} WHERE r.id = g.id`)
  })
}
