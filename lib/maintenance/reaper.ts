// The reaper: keys that have run out become tombstones, and tombstones that have stood long enough are deleted.
// Batches are small and each is a transaction of its own, so live traffic never waits behind one. What is pending,
// in progress or unknown is never touched; orders and ledger stay.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import { appended, NOW } from '../idempotency/sql/event'
import type { Batch, Daemon } from './daemon'
import { wouldTouch } from './dry-run'

/** Small enough that its locks are held for milliseconds. */
const BATCH = 500
/** Between two batches: the disk and the connections belong to live traffic first. */
const PAUSE_MS = 20

export const RUN_OUT: Sql = sql`r.state IN ('completed', 'failed_retryable') AND r.expires_at <= clock_timestamp()
  AND NOT (r.state = 'failed_retryable' AND r.effect_evidence)`
export const stoodFor = (hours: number): Sql =>
  sql`r.state = 'expired' AND r.expired_at <= clock_timestamp() - ${hours}::float8 * interval '1 h'`

export interface ReaperOptions {
  tombstoneHours: number
  /** Told how many tombstones of each tenant and endpoint were deleted. */
  onDeleted?(deleted: { endpoint: string; tenantId: string; count: number }): void
}

export function reaper(store: Store, options: ReaperOptions): Daemon {
  const deletable = stoodFor(options.tombstoneHours)
  return {
    kind: 'reaper',
    async *batches({ dryRun }) {
      if (dryRun) {
        yield* wouldTouch(store, 'expired', RUN_OUT)
        yield* wouldTouch(store, 'deleted', deletable)
        return
      }
      yield* inBatches(() => expireBatch(store))
      yield* inBatches(() => deleteBatch(store, deletable, options.onDeleted))
    },
  }
}

async function* inBatches(next: () => Promise<Batch & { full: boolean }>): AsyncIterable<Batch> {
  for (;;) {
    const batch = await next()
    if (batch.ids.length > 0) yield batch
    if (!batch.full) return
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

/** The stored request and answer are erased; fingerprint, status and resource stay, for the 410. */
async function expireBatch(store: Store): Promise<Batch & { full: boolean }> {
  const moved = await store.query<{ id: string }>(sql`
    WITH due AS MATERIALIZED (
      SELECT r.id FROM idempotency_records r WHERE ${RUN_OUT}
      ORDER BY r.expires_at LIMIT ${BATCH}::int FOR UPDATE SKIP LOCKED
    ), moved AS (
      UPDATE idempotency_records r SET
        state = 'expired', version = version + 1, expired_at = now.at, request = NULL, response_headers = NULL,
        response_body = NULL, response_version = NULL, timeline = ${appended({ event: 'expired', by: 'reaper' })}
      FROM due, ${NOW}
      WHERE r.id = due.id AND ${RUN_OUT}
      RETURNING r.id, r.tenant_id
    ), fewer AS (
      UPDATE tenant_live_keys t SET count = greatest(0, t.count - gone.count)
      FROM (SELECT tenant_id, count(*) AS count FROM moved GROUP BY tenant_id) gone WHERE t.tenant_id = gone.tenant_id
    )
    SELECT id FROM moved`)
  return { counts: { expired: moved.length }, ids: moved.map(({ id }) => id), full: moved.length === BATCH }
}

async function deleteBatch(
  store: Store,
  deletable: Sql,
  onDeleted: ReaperOptions['onDeleted'],
): Promise<Batch & { full: boolean }> {
  const gone = await store.query<{ id: string; endpoint: string; tenant_id: string }>(sql`
    WITH due AS MATERIALIZED (
      SELECT r.id FROM idempotency_records r WHERE ${deletable}
      ORDER BY r.expired_at LIMIT ${BATCH}::int FOR UPDATE SKIP LOCKED
    )
    DELETE FROM idempotency_records r USING due WHERE r.id = due.id RETURNING r.id, r.endpoint, r.tenant_id`)
  const byOwner = new Map<string, { endpoint: string; tenantId: string; count: number }>()
  for (const { endpoint, tenant_id: tenantId } of gone) {
    const owner = byOwner.get(`${tenantId} ${endpoint}`) ?? { endpoint, tenantId, count: 0 }
    byOwner.set(`${tenantId} ${endpoint}`, { ...owner, count: owner.count + 1 })
  }
  for (const deleted of byOwner.values()) onDeleted?.(deleted)
  return { counts: { deleted: gone.length }, ids: gone.map(({ id }) => id), full: gone.length === BATCH }
}
