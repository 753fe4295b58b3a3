// What the reaper and the sweeper cost for a key, and what they cost live traffic.
import type pg from 'pg'
import type { Batch, Daemon } from '../../lib/maintenance/daemon'
import { reaper } from '../../lib/maintenance/reaper'
import { PLACE_ORDER } from '../../lib/orders/place-order'
import { type Subject, timed } from './scale-subject'

/** Some batches of either. */
const KEYS = 500

/** All tombstones are old enough: the oldest of however many there are. */
const TOMBSTONE_HOURS = 0

/** The time of the statements alone, for each key: a reaper pauses between batches. */
export async function reapedMsPerKey({ db, store }: Subject): Promise<number> {
  await endRetention(db, KEYS)
  const watched = timed(store)
  const done = await work(
    reaper(watched.store, { tombstoneHours: TOMBSTONE_HOURS, operations: new Map() }),
    (count) => count >= 2 * KEYS,
  )
  return watched.spentMs() / done
}

export async function sweptMsPerKey({ db, store, sweeper }: Subject): Promise<number> {
  await endLeases(db, KEYS)
  const watched = timed(store)
  const done = await work(sweeper(watched.store), () => false)
  return watched.spentMs() / done
}

export const reapUntil = ({ store }: Subject, over: () => boolean): Promise<number> =>
  work(reaper(store, { tombstoneHours: TOMBSTONE_HOURS, operations: new Map() }), over)

export const sweepUntil = ({ store, sweeper }: Subject, over: () => boolean): Promise<number> =>
  work(sweeper(store), over)

async function work(daemon: Daemon, enough: (done: number) => boolean): Promise<number> {
  let done = 0
  for await (const batch of daemon.batches({ dryRun: false }) as AsyncIterable<Batch>) {
    done += batch.size ?? batch.ids.length
    if (enough(done)) break
  }
  return done
}

/** As if all of their retention had passed: those that are nearest to it. */
export async function endRetention(db: pg.Pool, count: number): Promise<void> {
  await db.query(
    `UPDATE idempotency_records SET expires_at = now() - interval '1 s' WHERE id IN (
       SELECT id FROM idempotency_records WHERE state IN ('completed', 'failed_retryable') ORDER BY expires_at LIMIT $1)`,
    [count],
  )
}

/** Ids tell the time, as those of real requests do: new rows land at the end of their index. */
const ID = `lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || lpad(to_hex(g), 14, '0')`

/** Requests whose node died: their leases are over. */
export async function endLeases(db: pg.Pool, count: number): Promise<void> {
  await db.query(
    `INSERT INTO idempotency_records (id, tenant_id, endpoint, key, fingerprint, state, async, attempt, recovery_point, external,
       locked_until, locked_by, settles_at, request, request_id, resource_type, resource_id, retention_seconds, created_at, expires_at, timeline)
     SELECT 'idem_' || ${ID}, 'ten_00', $2, gen_random_uuid(), 'v1:' || repeat('0', 64), 'in_progress', false, 1,
       'charging', true, now() - interval '1 s', 'node-0', now() + interval '2 min', '{"params":{},"body":{}}', 'req_' || ${ID},
       'order', 'ord_' || ${ID}, 86400, now() - interval '1 min', now() + interval '1 d', '[{"event":"reserved"}]'
     FROM generate_series(1, $1::int) g`,
    [count, PLACE_ORDER],
  )
}
