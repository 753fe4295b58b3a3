// The sweeper: what nobody works on any more is moved on, or given to somebody. Leases that are over go by their
// recovery point; what somebody was told of and did not settle is settled; accepted requests past their time end with
// a stored 408; accepted requests whose job was lost with its worker get a new one. It never calls the provider.
import sql, { type Sql } from 'sql-template-tag'
import { abandon } from '../idempotency/abandon'
import type { Boundary } from '../idempotency/boundary'
import type { Operations } from '../idempotency/operation'
import { settleByEvidence } from '../idempotency/settle-by-evidence'
import { BY_RECOVERY_POINT, endLeases, LEASE_IS_OVER } from '../idempotency/store/end-lease'
import { findWithRequest } from '../idempotency/store/find'
import { enqueueAccepted } from '../jobs/enqueue'
import type { Batch, Daemon } from './daemon'
import { wouldTouch } from './dry-run'

const BATCH = 200

/** Accepted, past its time, and nobody has begun. */
const ABANDONED: Sql = sql`r.async AND r.state = 'pending' AND r.expires_at <= clock_timestamp()`

/**
 * Accepted and waiting, but no job will take it up: there is none, it has failed for good, or it is locked since longer than any attempt
 * lasts, which means that its worker is dead. The job engine would wait for four hours.
 */
const orphaned = (leaseMs: number): Sql => sql`
  r.async AND r.state IN ('pending', 'failed_retryable') AND r.expires_at > clock_timestamp()
  AND r.dead_lettered_at IS NULL AND NOT r.effect_evidence
  AND r.created_at <= clock_timestamp() - ${leaseMs}::float8 * interval '1 ms'
  AND NOT EXISTS (
    SELECT 1 FROM graphile_worker.jobs j WHERE j.key = r.id AND j.attempts < j.max_attempts
      AND (j.locked_at IS NULL OR j.locked_at > clock_timestamp() - ${leaseMs}::float8 * interval '1 ms'))`

/** Told of the effect, and whoever was told did not live to settle with it. */
const TOLD: Sql = sql`r.state IN ('failed_retryable', 'unknown') AND r.effect_evidence`

export function sweeper(boundary: Boundary, operations: Operations): Daemon {
  const orphans = orphaned(boundary.leaseMs)
  return {
    kind: 'sweeper',
    async *batches({ dryRun }) {
      if (dryRun) {
        yield* wouldTouch(boundary.store, 'leasesOver', LEASE_IS_OVER, BY_RECOVERY_POINT)
        yield* wouldTouch(boundary.store, 'settledByEvidence', TOLD, sql`'completed'`)
        yield* wouldTouch(boundary.store, 'abandoned', ABANDONED, sql`'completed'`)
        yield* wouldTouch(boundary.store, 'requeued', orphans)
        return
      }
      yield* sweepExpiredLeases(boundary, operations)
      yield* settleTold(boundary, operations)
      yield* abandonUntaken(boundary, operations)
      yield* requeueOrphans(boundary, orphans)
    },
  }
}

async function* sweepExpiredLeases(boundary: Boundary, operations: Operations): AsyncIterable<Batch> {
  for (;;) {
    const moved = await endLeases(boundary, { limit: BATCH, by: 'sweeper' })
    const counts = { leasesOver: moved.length, unknown: 0, failedRetryable: 0 }
    for (const { id, state, endpoint, hasEvidence } of moved) {
      if (state === 'unknown') counts.unknown++
      else counts.failedRetryable++
      const operation = operations.get(endpoint)
      if (hasEvidence && operation) await settleByEvidence(boundary, operation, id)
    }
    if (moved.length > 0) yield { counts, ids: moved.map(({ id }) => id) }
    if (moved.length < BATCH) return
  }
}

async function* settleTold(boundary: Boundary, operations: Operations): AsyncIterable<Batch> {
  let after = ''
  for (;;) {
    const rows = await boundary.store.query<{ id: string; endpoint: string }>(sql`
      SELECT r.id, r.endpoint FROM idempotency_records r WHERE ${TOLD} AND r.id > ${after}
      ORDER BY r.id LIMIT ${BATCH}::int`)
    const ids: string[] = []
    for (const { id, endpoint } of rows) {
      const operation = operations.get(endpoint)
      await boundary.step?.('found')
      if (operation && (await settleByEvidence(boundary, operation, id))) ids.push(id)
    }
    if (ids.length > 0) yield { counts: { settledByEvidence: ids.length }, ids }
    if (rows.length < BATCH) return
    after = rows.at(-1)!.id
  }
}

async function* abandonUntaken(boundary: Boundary, operations: Operations): AsyncIterable<Batch> {
  let after = ''
  for (;;) {
    const rows = await boundary.store.query<{ id: string }>(sql`
      SELECT r.id FROM idempotency_records r WHERE ${ABANDONED} AND r.id > ${after} ORDER BY r.id LIMIT ${BATCH}::int`)
    const ids: string[] = []
    for (const { id } of rows) {
      await boundary.step?.('found')
      const record = await findWithRequest(boundary.store, id)
      await boundary.step?.('recalled')
      const operation = record && operations.get(record.record.endpoint)
      if (!operation) continue
      if (await abandon(boundary, operation, record.record, 'sweeper')) ids.push(id)
      // After a restore it may have been executed: a worker finds out.
      else if (boundary.lostEffects) await enqueueAccepted(boundary.store, id)
    }
    if (ids.length > 0) yield { counts: { abandoned: ids.length }, ids }
    if (rows.length < BATCH) return
    after = rows.at(-1)!.id
  }
}

async function* requeueOrphans(boundary: Boundary, orphans: Sql): AsyncIterable<Batch> {
  for (;;) {
    const ids = await boundary.store.query<{ id: string }>(sql`
      SELECT r.id FROM idempotency_records r WHERE ${orphans} ORDER BY r.created_at LIMIT ${BATCH}::int`)
    // One statement each: a job that came into being meanwhile is replaced, never doubled.
    for (const { id } of ids) {
      await boundary.step?.('found')
      await enqueueAccepted(boundary.store, id)
      await boundary.step?.('requeued')
    }
    if (ids.length > 0) yield { counts: { requeued: ids.length }, ids: ids.map(({ id }) => id) }
    if (ids.length < BATCH) return
  }
}
