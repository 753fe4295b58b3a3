// Finding out what became of an unknown outcome. The provider is asked once; what it says moves the record only
// where that is proof, and only if the record is still as it was read before the question was asked.
import sql, { type Sql } from 'sql-template-tag'
import { newId } from '../db/id'
import { isIntegrityViolation } from '../db/sqlstate'
import type { Boundary } from '../idempotency/boundary'
import { applyEvidence } from '../idempotency/evidence'
import type { AnyOperation, Attempt, LookUpVerdict } from '../idempotency/operation'
import type { KeyRecord } from '../idempotency/record'
import { recallAttempt, settleByEvidence } from '../idempotency/settle-by-evidence'
import { openUnbookable } from '../idempotency/sql/evidence'
import { release } from '../idempotency/sql/release'
import { settle } from '../idempotency/sql/settle'
import type { State } from '../idempotency/states'
import { rerunAccepted } from '../jobs/enqueue'
import { log } from '../log'
import { findToReconcile, type ToReconcile, waitForSettleWindow } from './due'
import { putOff } from './put-off'

export type Verdict = LookUpVerdict['kind']

export interface Reconciled {
  verdict: Verdict
  /** What the record is now. */
  state: State
  /** The verdict was proof, and this call is the one that moved the record. */
  settled: boolean
  deadLettered: boolean
  ref: string | null
}

export interface Reconciliation {
  boundary: Boundary
  operations: ReadonlyMap<string, AnyOperation>
  /** The pause before the second look-up; it doubles up to an hour. */
  intervalMs: number
  maxAttempts: number
}

/** Null where there is no such record, or nothing is left to ask about. */
export async function reconcile(r: Reconciliation, recordId: string, by: string): Promise<Reconciled | null> {
  const { store } = r.boundary
  const found = await findToReconcile(store, recordId)
  const operation = found && r.operations.get(found.record.endpoint)
  // A refusal made nothing that the provider could know of.
  if (!operation || !found.record.resource) return null
  const { state } = found.record
  const reconciled =
    state === 'unknown' && found.record.effectEvidence
      ? await settleWithEvidence(r, operation, found, by)
      : await lookUp(r, operation, found, by)
  if (state === 'unknown') tell(r.boundary, found.record, reconciled)
  return reconciled
}

async function settleWithEvidence(
  r: Reconciliation,
  operation: AnyOperation,
  { record }: ToReconcile,
  by: string,
): Promise<Reconciled> {
  const told = { verdict: 'succeeded', settled: false, deadLettered: false, ref: null } as const
  // It is told of where it is settled; here only that it could not be.
  if (await settleByEvidence(r.boundary.store, operation, record.id))
    return { ...told, state: 'completed', settled: true }
  return { ...told, state: record.state, ...(await later(r, record, by, 'pending')) }
}

async function lookUp(r: Reconciliation, operation: AnyOperation, found: ToReconcile, by: string): Promise<Reconciled> {
  const attempt = await recallAttempt(operation, found)
  const verdict = await operation.external.lookUp(attempt).catch((bug: unknown): LookUpVerdict => {
    // One record's trouble must not keep the others waiting, and is counted like any look-up without an answer.
    log().error({ err: bug, recordId: found.record.id }, 'a look-up failed')
    return { kind: 'unreachable' }
  })
  const ref = 'ref' in verdict ? verdict.ref : null
  const unmoved = { verdict: verdict.kind, state: found.record.state, settled: false, deadLettered: false, ref }
  if (found.record.state !== 'unknown') return unmoved
  return { ...unmoved, ...(await apply(r, operation, found, attempt, verdict, by)) }
}

const later = (r: Reconciliation, record: KeyRecord, by: string, verdict: 'pending' | 'unreachable') =>
  putOff(r.boundary.store, {
    recordId: record.id,
    attempt: record.attempt,
    by,
    verdict,
    intervalMs: r.intervalMs,
    maxAttempts: r.maxAttempts,
  })

/** A look-up that came too early, or says "not yet", is neither. */
function tell(boundary: Boundary, { endpoint, tenantId }: KeyRecord, { settled, verdict, deadLettered }: Reconciled) {
  if (settled) boundary.observe?.({ kind: 'reconcile_resolved', endpoint, tenantId })
  else if (verdict === 'unreachable' || deadLettered)
    boundary.observe?.({ kind: 'reconcile_failed', endpoint, tenantId })
}

async function apply(
  r: Reconciliation,
  operation: AnyOperation,
  found: ToReconcile,
  attempt: Attempt<unknown, unknown>,
  verdict: LookUpVerdict,
  by: string,
): Promise<Partial<Reconciled>> {
  const { store } = r.boundary
  const { record } = found
  const guard = { recordId: record.id, attempt: record.attempt }
  // Until the window is over a call may still arrive, and "no such charge" proves nothing; nor does the decline of one
  // attempt speak for another that may be on its way.
  const tooEarly = verdict.kind === 'not_found' || (verdict.kind === 'declined' && record.attempt > 1)
  if (tooEarly && !found.settled) {
    await waitForSettleWindow(store, guard, by)
    return {}
  }
  switch (verdict.kind) {
    case 'declined':
    case 'succeeded': {
      const settlement = operation.external.conclude(attempt, verdict)
      const effects = [...settlement.effects, lookUpEvidence(guard.attempt, verdict.kind, verdict.ref)]
      const event = { event: 'settled', by, ...guard, verdict: verdict.kind } as const
      const settling = settle(store, { ...guard, from: ['unknown'], settlement: { ...settlement, effects }, event })
      const done = await settling.catch(async (error: unknown) => {
        if (!isIntegrityViolation(error)) throw error
        await openUnbookable(store, { recordId: record.id, source: 'look_up', executed: verdict }, error)
        return 'unbookable' as const
      })
      if (done === 'unbookable') return later(r, record, by, 'pending')
      if (done) return { settled: true, state: 'completed' }
      // Late: the record is not as it was read. What was learned is kept, and may settle what it is by now.
      const sourceId = `${guard.recordId}:${verdict.ref}`
      await applyEvidence(r.boundary, r.operations, { ...guard, source: 'look_up', sourceId, executed: verdict })
      return {}
    }
    case 'not_found': {
      const effects = [...operation.external.release(attempt), lookUpEvidence(guard.attempt, 'not_found', null)]
      const event = { event: 'released', by, ...guard, verdict: 'not_found' } as const
      const next = record.async ? rerunAccepted(record.id, record.attempt) : undefined
      const done = await release(store, { ...guard, from: 'unknown', code: 'not_executed', effects, event, next })
      if (done) return { settled: true, state: 'failed_retryable' }
      // Somebody moved it on, or told us of the effect while we asked.
      return (await settleByEvidence(store, operation, record.id)) ? { settled: true, state: 'completed' } : {}
    }
    case 'pending':
    case 'unreachable':
      return later(r, record, by, verdict.kind)
  }
}

/** What the look-up found commits with the move that it justifies. */
const lookUpEvidence = (attempt: number, verdict: 'succeeded' | 'declined' | 'not_found', ref: string | null): Sql => {
  const id = newId('evd')
  return sql`witnessed AS (
    INSERT INTO evidence (id, record_id, source, source_id, attempt, verdict, detail)
    SELECT ${id}, m.id, 'look_up', ${id}, ${attempt}::int, ${verdict}, ${JSON.stringify({ ref })}::jsonb FROM moved m
  )`
}
