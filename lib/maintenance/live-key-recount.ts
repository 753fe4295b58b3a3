// Counting tenants' live keys anew. A node adds the keys that it creates to their tenant's counter a moment later, and one
// that is killed takes what it had not added yet with it. A right counter is never changed, whatever happens meanwhile:
// what is counted is how many keys were live at one instant, by when each was created and expired, and that is compared
// with what the counter was at that instant, as closely as it can be said.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'

/** A node adds its new keys within half a second. What was created before this long ago is in its tenant's counter. */
const ADDED_WITHIN_MS = 3000
/** Read by one statement, and by one run: at ten million records a recount takes the runs of two days. */
const SLICE = 5000
const MOST_SLICES = 40

export interface Recount {
  /** Slices that one run may read, and records of each. */
  mostSlices?: number
  slice?: number
  /** A tombstone that is deleted while a recount is under way may be missing from it. */
  tombstoneHours: number
  /** Between two slices. */
  pause(tookMs: number): Promise<unknown>
}

/** Goes on with the recount that is under way, or begins one. How many counters were corrected, once it has ended. */
export async function recountLiveKeys(store: Store, recount: Recount): Promise<{ corrected: number } | null> {
  const { slice = SLICE, mostSlices = MOST_SLICES } = recount
  await begin(store)
  for (let read = 0; ; read++) {
    const at = await positionOf(store)
    if (!at) return null
    if (at.position === at.last) return { corrected: await end(store, at, recount.tombstoneHours) }
    if (read === mostSlices) return null
    const startedAt = performance.now()
    await tally(store, at, slice)
    await recount.pause(performance.now() - startedAt)
  }
}

/**
 * At this instant the counter has every key that was created by `as_of` (and perhaps some that came after: no more than
 * were added since), less every key that has expired by now. So the keys that were live at `as_of` are between `least`
 * and `most`, if it is right.
 */
async function begin(store: Store): Promise<void> {
  await store.query(sql`
    WITH begun AS (
      INSERT INTO live_key_recounts (name, as_of, position, last)
      SELECT 'live_keys', clock_timestamp() - ${ADDED_WITHIN_MS}::float8 * interval '1 ms', '',
        coalesce((SELECT max(id) FROM idempotency_records), '')
      ON CONFLICT (name) DO NOTHING
      RETURNING as_of
    ), gone AS (
      SELECT r.tenant_id, count(*) AS count FROM begun JOIN idempotency_records r ON r.expired_at > begun.as_of
      WHERE r.state = 'expired' GROUP BY r.tenant_id
    ), added AS (
      SELECT u.tenant_id, sum(u.count) AS count FROM begun JOIN tenant_usage u
        ON u.kind = 'new_key' AND u.second >= date_trunc('second', begun.as_of) GROUP BY u.tenant_id
    )
    INSERT INTO live_key_tallies (tenant_id, least, most, counted)
    SELECT l.tenant_id, l.count + coalesce(gone.count, 0) - coalesce(added.count, 0), l.count + coalesce(gone.count, 0), 0
    FROM begun, tenant_live_keys l LEFT JOIN gone USING (tenant_id) LEFT JOIN added USING (tenant_id)
    ON CONFLICT (tenant_id) DO UPDATE SET least = excluded.least, most = excluded.most, counted = 0`)
}

interface Position {
  position: string
  last: string
  as_of: Date
}

async function positionOf(store: Store): Promise<Position | null> {
  const [at] = await store.query<Position>(sql`SELECT position, last, as_of FROM live_key_recounts`)
  return at ?? null
}

/** Guarded by the position that was read: of two nodes, one tallies a slice. */
async function tally(store: Store, { position, last, as_of }: Position, limit: number): Promise<void> {
  await store.query(sql`
    WITH slice AS MATERIALIZED (
      SELECT id, tenant_id, created_at <= ${as_of} AND (expired_at IS NULL OR expired_at > ${as_of}) AS was_live
      FROM idempotency_records WHERE id > ${position} AND id <= ${last} ORDER BY id LIMIT ${limit}::int
    ), passed AS (
      UPDATE live_key_recounts SET position = CASE WHEN (SELECT count(*) FROM slice) < ${limit}::int THEN last
        ELSE (SELECT max(id) FROM slice) END
      WHERE position = ${position} AND as_of = ${as_of}
      RETURNING name
    )
    INSERT INTO live_key_tallies AS t (tenant_id, least, most, counted)
    SELECT slice.tenant_id, 0, 0, count(*) FROM slice, passed WHERE was_live GROUP BY slice.tenant_id
    ON CONFLICT (tenant_id) DO UPDATE SET counted = t.counted + excluded.counted`)
}

/** One counter a statement: each is locked by those who expire keys, in an order of their own. */
async function end(store: Store, { as_of }: Position, tombstoneHours: number): Promise<number> {
  await store.query(sql`
    DELETE FROM live_key_tallies t USING live_key_recounts c
    WHERE c.as_of = ${as_of} AND (t.counted BETWEEN t.least AND t.most OR ${as_of}::timestamptz
      < clock_timestamp() - ${ADDED_WITHIN_MS}::float8 * interval '1 ms' - ${tombstoneHours}::float8 * interval '1 h')`)
  let corrected = 0
  while (await correctOne(store, as_of)) corrected++
  await store.query(sql`DELETE FROM live_key_recounts WHERE as_of = ${as_of} AND position = last`)
  return corrected
}

async function correctOne(store: Store, asOf: Date): Promise<boolean> {
  const rows = await store.query(sql`
    WITH wrong AS (
      DELETE FROM live_key_tallies WHERE tenant_id = (
        SELECT tenant_id FROM live_key_tallies
        WHERE EXISTS (SELECT FROM live_key_recounts WHERE as_of = ${asOf} AND position = last)
        LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING tenant_id, CASE WHEN counted < least THEN counted - least ELSE counted - most END AS drift
    )
    INSERT INTO tenant_live_keys AS l (tenant_id, count) SELECT tenant_id, drift FROM wrong
    ON CONFLICT (tenant_id) DO UPDATE SET count = greatest(0, l.count + excluded.count)
    RETURNING l.tenant_id`)
  return rows.length > 0
}
