// The reaper: keys that have run out become tombstones, and tombstones that have stood long enough are deleted. Then it
// counts live keys anew, some a run, and corrects the counters that lost some.
// Batches are small and each is a transaction of its own, so live traffic never waits behind one. What is pending,
// in progress or unknown is never touched. The ledger stays; an order whose key is proven not executed is abandoned.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Boundary } from '../idempotency/boundary'
import type { Operations } from '../idempotency/operation'
import { BY_NOW } from '../idempotency/store/event'
import { deleteTombstones, EXPIRABLE, expire } from '../idempotency/store/expire'
import type { Batch, Daemon } from './daemon'
import { groupsOf, wouldTouch } from './dry-run'
import { recountLiveKeys } from './live-key-recount'

/** Small enough that its locks are held for milliseconds. */
const BATCH = 100
/**
 * Between two batches: the disk and the connections belong to live traffic first. At least this long, and as long as the
 * batch took: of a busy disk a reaper never has more than half.
 */
const PAUSE_MS = 20

export const RUN_OUT: Sql = sql`${EXPIRABLE} AND r.expires_at <= ${BY_NOW}`
export const stoodFor = (hours: number): Sql =>
  sql`r.state = 'expired' AND r.expired_at <= ${BY_NOW} - ${hours}::float8 * interval '1 h'`
/** Past its retention and left alone: it may have charged somebody. */
const OUTLIVED: Sql = sql`r.state = 'unknown' AND r.expires_at <= ${BY_NOW}`

export interface ReaperOptions {
  tombstoneHours: number
  operations: Operations
  observe?: Boundary['observe']
}

export function reaper(store: Store, { tombstoneHours, operations, observe }: ReaperOptions): Daemon {
  const deletable = stoodFor(tombstoneHours)
  return {
    kind: 'reaper',
    async *batches({ dryRun }) {
      if (dryRun) {
        yield* wouldTouch(store, 'expired', RUN_OUT, sql`'expired'`)
        yield* wouldTouch(store, 'deleted', deletable, sql`'deleted'`)
        yield { counts: {}, ids: [], groups: await groupsOf(store, 'leftAlone', OUTLIVED) }
        return
      }
      yield* inBatches(() => expireBatch(store, operations, observe))
      yield* inBatches(() => deleteBatch(store, deletable, observe))
      const recount = await recountLiveKeys(store, { tombstoneHours, pause })
      if (recount?.corrected) yield { counts: { liveKeyCountsCorrected: recount.corrected }, ids: [] }
    },
  }
}

async function* inBatches(next: () => Promise<Batch & { full: boolean }>): AsyncIterable<Batch> {
  for (;;) {
    const startedAt = performance.now()
    const batch = await next()
    const tookMs = performance.now() - startedAt
    if (batch.ids.length > 0) yield batch
    if (!batch.full) return
    await pause(tookMs)
  }
}

const pause = (tookMs: number) => new Promise((resolve) => setTimeout(resolve, Math.max(PAUSE_MS, tookMs)))

async function expireBatch(
  store: Store,
  operations: Operations,
  observe: Boundary['observe'],
): Promise<Batch & { full: boolean }> {
  const due = sql`SELECT r.id, r.state FROM idempotency_records r WHERE ${RUN_OUT}
    ORDER BY r.expires_at LIMIT ${BATCH}::int FOR UPDATE SKIP LOCKED`
  const expired = await expire({ store, observe }, { due, by: 'reaper', operations })
  return { counts: { expired: expired.length }, ids: expired.map(({ id }) => id), full: expired.length === BATCH }
}

async function deleteBatch(
  store: Store,
  deletable: Sql,
  observe: Boundary['observe'],
): Promise<Batch & { full: boolean }> {
  const due = sql`SELECT r.id FROM idempotency_records r WHERE ${deletable}
    ORDER BY r.expired_at LIMIT ${BATCH}::int FOR UPDATE SKIP LOCKED`
  const ids = await deleteTombstones({ store, observe }, due)
  return { counts: { deleted: ids.length }, ids, full: ids.length === BATCH }
}
