// An operator's POST with a key of its own: same key, same result, no second run. The id of what the call makes is
// reserved with the key, so a call that is run again after its node died can't make a second one.
import sql from 'sql-template-tag'
import { newUlid } from '../db/id'
import type { Store } from '../db/store'

/** No call takes longer; who has not finished by then is dead. */
const DEAD_AFTER_MS = 60_000
const KEPT_HOURS = 24
/** More than one call adds. */
const FORGOTTEN_AT_ONCE = 100

export interface RequestKey {
  actorId: string
  call: string
  key: string
}

export type Reserved =
  /** It is ours to run. */
  | { kind: 'run'; resourceId: string }
  | { kind: 'running' }
  | { kind: 'reused' }
  | { kind: 'finished'; status: number; body: string }

export async function reserveRequest(
  store: Pick<Store, 'query'>,
  at: RequestKey,
  fingerprint: string,
): Promise<Reserved> {
  const [taken] = await store.query<{ resource_id: string }>(sql`
    WITH forgotten AS (
      DELETE FROM operator_requests WHERE (actor_id, call, key) IN (
        SELECT actor_id, call, key FROM operator_requests
        WHERE reserved_at < clock_timestamp() - ${KEPT_HOURS}::float8 * interval '1 h'
          AND (actor_id, call, key) <> (${at.actorId}, ${at.call}, ${at.key})
        ORDER BY reserved_at LIMIT ${FORGOTTEN_AT_ONCE}::int FOR UPDATE SKIP LOCKED)
    )
    INSERT INTO operator_requests AS q (actor_id, call, key, fingerprint, resource_id, reserved_at)
    VALUES (${at.actorId}, ${at.call}, ${at.key}, ${fingerprint}, ${newUlid()}, clock_timestamp())
    ON CONFLICT (actor_id, call, key) DO UPDATE SET reserved_at = excluded.reserved_at
    WHERE q.fingerprint = excluded.fingerprint AND q.finished_at IS NULL
      AND q.reserved_at <= clock_timestamp() - ${DEAD_AFTER_MS}::float8 * interval '1 ms'
    RETURNING resource_id`)
  if (taken) return { kind: 'run', resourceId: taken.resource_id }
  const [row] = await store.query<{ fingerprint: string; status: number | null; body: string | null }>(sql`
    SELECT fingerprint, status, body FROM operator_requests
    WHERE actor_id = ${at.actorId} AND call = ${at.call} AND key = ${at.key}`)
  if (!row) return { kind: 'running' }
  if (row.fingerprint !== fingerprint) return { kind: 'reused' }
  return row.status === null ? { kind: 'running' } : { kind: 'finished', status: row.status, body: row.body ?? '' }
}

/** What the next one with this key gets. */
export async function finishRequest(
  store: Pick<Store, 'query'>,
  at: RequestKey,
  result: { status: number; body: string },
): Promise<void> {
  await store.query(sql`
    UPDATE operator_requests SET finished_at = clock_timestamp(), status = ${result.status}::smallint, body = ${result.body}
    WHERE actor_id = ${at.actorId} AND call = ${at.call} AND key = ${at.key}`)
}

/**
 * A call that failed by our own fault or the store's has no result: the key can be taken again at once. Its id stays
 * reserved, since whether the call had made something before it failed is not known.
 */
export async function releaseRequest(store: Pick<Store, 'query'>, at: RequestKey): Promise<void> {
  await store.query(sql`
    UPDATE operator_requests SET reserved_at = reserved_at - ${DEAD_AFTER_MS}::float8 * interval '1 ms'
    WHERE actor_id = ${at.actorId} AND call = ${at.call} AND key = ${at.key} AND finished_at IS NULL`)
}
