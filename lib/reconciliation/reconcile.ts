// Finding out what became of an unknown outcome. The provider is asked once; what it says moves the record only
// where that is proof, and only if the record is still as it was read before the question was asked.
import { violatedConstraint } from '../db/sqlstate'
import type { Boundary } from '../idempotency/boundary'
import { applyEvidence } from '../idempotency/evidence'
import {
  type Also,
  type AnyOperation,
  type Attempt,
  differenceOf,
  type Executed,
  type LookUpVerdict,
  type Operations,
  settlementOf,
} from '../idempotency/operation'
import type { KeyRecord } from '../idempotency/record'
import { recallAttempt, settleByEvidence } from '../idempotency/settle-by-evidence'
import type { State } from '../idempotency/states'
import { openUnbookable, recordJustification } from '../idempotency/store/evidence'
import { release } from '../idempotency/store/release'
import { continueSoon, reschedule, waitForSettleWindow } from '../idempotency/store/reschedule'
import { settle } from '../idempotency/store/settle'
import { currentOf } from '../idempotency/store/version'
import { rerunAccepted } from '../jobs/enqueue'
import { askProvider } from './ask-provider'
import { whileAsking } from './asks-by-people'
import { findToReconcile, type ToReconcile } from './due'

/** Who asks by schedule. */
export const RECONCILER = 'reconciler'

export type Verdict = LookUpVerdict['kind']

export interface Reconciled {
  verdict: Verdict
  /** What the record is now. */
  state: State
  /** The verdict was proof, and this call is the one that moved the record. */
  settled: boolean
  deadLettered: boolean
  ref: string | null
  /** What the provider's object says of itself, where it was fetched. */
  shown?: Executed['shown']
}

export interface Reconciliation {
  boundary: Boundary
  operations: Operations
  /** The pause before the second look-up; it doubles up to an hour. */
  intervalMs: number
  maxAttempts: number
}

/** On whose behalf. What `also` returns commits with the move, if there is one. */
interface Asker {
  by: string
  also(verdict: Verdict, record: KeyRecord): Also | undefined
}

/** Null where there is no such record, or nothing is left to ask about. */
export async function reconcile(
  r: Reconciliation,
  recordId: string,
  by: string,
  also: Asker['also'] = () => undefined,
): Promise<Reconciled | null> {
  const { store } = r.boundary
  await r.boundary.step?.('reconciling')
  const found = await findToReconcile(store, recordId)
  await r.boundary.step?.('found')
  const operation = found && r.operations.get(found.record.endpoint)
  // A refusal made nothing that the provider could know of.
  if (!operation || !found.record.resource) return null
  const { state } = found.record
  const reconciled =
    state === 'unknown' && found.record.effectEvidence
      ? await settleWithEvidence(r, operation, found, { by, also })
      : await lookUp(r, operation, found, { by, also })
  if (state !== 'unknown') return reconciled
  observeFailure(r.boundary, found.record, reconciled)
  // Another writer may have moved it while we asked.
  return reconciled.settled ? reconciled : { ...reconciled, state: (await currentOf(store, recordId))?.state ?? state }
}

async function settleWithEvidence(
  r: Reconciliation,
  operation: AnyOperation,
  { record }: ToReconcile,
  asker: Asker,
): Promise<Reconciled> {
  const told = { verdict: 'succeeded', settled: false, deadLettered: false, ref: null } as const
  if (await settleByEvidence(r.boundary, operation, record.id, asker.also('succeeded', record)))
    return { ...told, state: 'completed', settled: true }
  return { ...told, state: record.state, ...(await later(r, record, asker.by, 'pending')) }
}

async function lookUp(
  r: Reconciliation,
  operation: AnyOperation,
  found: ToReconcile,
  asker: Asker,
): Promise<Reconciled> {
  const attempt = await recallAttempt(operation, found)
  await r.boundary.step?.('recalled')
  const verdict =
    asker.by === RECONCILER
      ? await askProvider(r.boundary, operation, attempt, found.record.lookUp)
      : await whileAsking(r.boundary.store, found.record.id, operation.external.timeLimitMs, () =>
          askProvider(r.boundary, operation, attempt, found.record.lookUp),
        )
  await r.boundary.step?.('looked_up')
  const { ref = null, shown } = 'ref' in verdict ? verdict : {}
  const unmoved = { verdict: verdict.kind, state: found.record.state, settled: false, deadLettered: false, ref, shown }
  if (found.record.state !== 'unknown') return unmoved
  // What other money means, only a person says: if its look-ups were resumed, they end as those without an answer do.
  if (found.record.moneyDiffers) return { ...unmoved, ...(await later(r, found.record, asker.by, 'pending')) }
  return { ...unmoved, ...(await apply(r, operation, found, attempt, verdict, asker)) }
}

/** An ask by a person that has no answer changes nothing: the schedule goes on as it was. */
async function later(r: Reconciliation, record: KeyRecord, by: string, verdict: 'pending' | 'unreachable') {
  if (by !== RECONCILER) return { deadLettered: false }
  const { boundary, intervalMs, maxAttempts } = r
  const { id: recordId, attempt } = record
  const rescheduled = await reschedule(boundary.store, { recordId, attempt, by, verdict, intervalMs, maxAttempts })
  await boundary.step?.('put_off')
  return rescheduled
}

/** A look-up that came too early, or says "not yet", is no failure. */
function observeFailure(
  { observe }: Boundary,
  { endpoint, tenantId }: KeyRecord,
  { settled, verdict, deadLettered }: Reconciled,
) {
  if (!settled && (verdict === 'unreachable' || deadLettered))
    observe?.({ kind: 'reconcile_failed', endpoint, tenantId })
}

async function apply(
  r: Reconciliation,
  operation: AnyOperation,
  found: ToReconcile,
  attempt: Attempt<unknown, unknown>,
  verdict: LookUpVerdict,
  asker: Asker,
): Promise<Partial<Reconciled>> {
  const { store } = r.boundary
  const { record } = found
  const { by } = asker
  const guard = { recordId: record.id, attempt: record.attempt }
  // Until the window is over a call may still arrive, and "no such charge" proves nothing; nor does the decline of one
  // attempt speak for another that may be on its way.
  const provesNothing = verdict.kind === 'not_found' || verdict.kind === 'unfinished'
  const tooEarly = provesNothing || (verdict.kind === 'declined' && record.attempt > 1)
  if (tooEarly && !found.settled) {
    if (verdict.kind === 'unfinished' && by !== RECONCILER) return {}
    await waitForSettleWindow(store, guard, by)
    await r.boundary.step?.('put_off')
    return {}
  }
  switch (verdict.kind) {
    case 'declined':
    case 'succeeded': {
      const sourceId = `${guard.recordId}:${verdict.ref}`
      const evidence = { ...guard, source: 'look_up', sourceId, executed: verdict } as const
      if (differenceOf(operation, attempt, verdict)) {
        await applyEvidence(r.boundary, r.operations, evidence)
        return { deadLettered: true }
      }
      const settlement = settlementOf(operation, attempt, verdict)
      const event = { event: 'settled', by, ...guard, verdict: verdict.kind } as const
      const also = justified(guard.attempt, verdict, asker.also(verdict.kind, record))
      const settling = settle(r.boundary, operation, { ...guard, from: 'unknown', settlement, event, also })
      const done = await settling.catch(async (error: unknown) => {
        if (!violatedConstraint(error)) throw error
        await openUnbookable(store, { recordId: record.id, source: 'look_up', executed: verdict }, error)
        return 'unbookable' as const
      })
      if (done === 'unbookable') return later(r, record, by, 'pending')
      if (done) return { settled: true, state: 'completed' }
      // The record is not as it was read. What was learned is recorded, and may settle what it is by now.
      await applyEvidence(r.boundary, r.operations, evidence)
      return {}
    }
    case 'not_found': {
      const also = asker.also('not_found', record)
      const done = await release(r.boundary, {
        ...guard,
        from: 'unknown',
        code: 'not_executed',
        giveBack: async (tx) => operation.external.release?.(tx, attempt),
        event: { event: 'released', by, ...guard, verdict: 'not_found' },
        enqueue: record.async ? rerunAccepted(record.attempt) : undefined,
        also: justified(guard.attempt, verdict, also),
      })
      if (done) return { settled: true, state: 'failed_retryable' }
      // It was moved on, or evidence of the effect was recorded while we asked.
      const settled = await settleByEvidence(r.boundary, operation, record.id, also)
      return settled ? { settled: true, state: 'completed' } : {}
    }
    case 'unfinished':
      await continueSoon(store, { ...guard, by, progress: verdict.progress, scheduled: by === RECONCILER })
      await r.boundary.step?.('put_off')
      return {}
    case 'pending':
    case 'unreachable':
      return later(r, record, by, verdict.kind)
  }
}

/** The look-up is recorded as the evidence for what it moves. */
const justified =
  (attempt: number, { kind: verdict, ...found }: Executed | { kind: 'not_found' }, also: Also | undefined): Also =>
  async (tx, moved) => {
    await recordJustification(tx, moved.id, { source: 'look_up', attempt, verdict, detail: { ref: null, ...found } })
    await also?.(tx, moved)
  }
