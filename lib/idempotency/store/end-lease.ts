// A lease that ran out is never a licence to run again. The recovery point says what it means: a phase that may call
// the provider leaves the outcome unknown, any other is proven to have done nothing outside.
import sql, { type Sql } from 'sql-template-tag'
import type { Tx } from '../../db/store'
import type { State } from '../states'
import { appended, HAS_EVIDENCE, NOW } from './event'
import { notifyWaiters } from './notify'
import { MOVED, type MovedRow, observeMove, type Through, type Transition } from './transition'

export interface LeaseEnded extends Transition {
  state: Extract<State, 'unknown' | 'failed_retryable'>
  /** Evidence was recorded while the record was owned: it is kept for this moment. */
  hasEvidence: boolean
}

/** What the sweeper and the next request agree on: the very predicate of an expired lease. */
export const LEASE_IS_OVER: Sql = sql`r.state = 'in_progress' AND r.locked_until <= clock_timestamp()`

/** Where it goes. */
export const BY_RECOVERY_POINT: Sql = sql`CASE WHEN r.external OR r.money_differs THEN 'unknown' ELSE 'failed_retryable' END`

/** Of the record that a request just read. Null when it was moved since. */
export async function endLease(
  through: Through,
  l: { recordId: string; attempt: number; by: string },
): Promise<LeaseEnded | null> {
  const one = sql`SELECT r.id FROM idempotency_records r
    WHERE r.id = ${l.recordId} AND r.attempt = ${l.attempt}::int AND ${LEASE_IS_OVER} FOR UPDATE`
  return (await moveByRecoveryPoint(through, one, l.by))[0] ?? null
}

/** The longest overdue first. SKIP LOCKED: records that another sweeper or an owner is moving are left to it. */
export function endLeases(through: Through, s: { limit: number; by: string }): Promise<LeaseEnded[]> {
  const batch = sql`SELECT r.id FROM idempotency_records r
    WHERE ${LEASE_IS_OVER} ORDER BY r.locked_until LIMIT ${s.limit}::int FOR UPDATE SKIP LOCKED`
  return moveByRecoveryPoint(through, batch, s.by)
}

async function moveByRecoveryPoint({ store, observe, step }: Through, due: Sql, by: string): Promise<LeaseEnded[]> {
  const ended = await store.transaction((tx) => moveIn(tx, due, by))
  for (const one of ended) {
    observe?.({ kind: 'zombie', endpoint: one.endpoint, tenantId: one.tenantId })
    observeMove(observe, one)
  }
  await step?.(ended.length > 0 ? 'lease_over' : 'late')
  return ended
}

/** The first statement locks the rows in their newest versions, so the UPDATE needs no second look at the lease. */
async function moveIn(tx: Tx, due: Sql, by: string): Promise<LeaseEnded[]> {
  const ids = (await tx.query<{ id: string }>(due)).map(({ id }) => id)
  if (ids.length === 0) return []
  const rows = await tx.query<MovedRow & Pick<LeaseEnded, 'state' | 'hasEvidence'>>(sql`
    UPDATE idempotency_records r SET
      state = (${BY_RECOVERY_POINT})::record_state, version = version + 1,
      reconcile_after = CASE WHEN external AND NOT money_differs THEN now.at END,
      dead_lettered_at = CASE WHEN money_differs THEN now.at END,
      expires_at = CASE WHEN external THEN expires_at ELSE now.at + retention_seconds * interval '1 s' END,
      locked_until = NULL, locked_by = NULL, in_doubt = true, doubt_until = settles_at,
      last_error_code = CASE WHEN money_differs THEN last_error_code ELSE 'lease_over' END,
      timeline = ${appended({ event: 'lease_over', by })}
    FROM ${NOW}
    WHERE r.id = ANY(${ids}::text[])
    RETURNING ${MOVED}, ${HAS_EVIDENCE} AS "hasEvidence"`)
  await notifyWaiters(tx, rows)
  return rows.map((row) => ({ ...row, from: 'in_progress', unknownSeconds: null }))
}
