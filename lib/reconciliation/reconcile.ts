// Finding out what became of an unknown outcome. The provider is asked once; what it says moves the record only
// where that is proof, and only if the record is still as it was read before the question was asked.
import type { Sql } from 'sql-template-tag'
import { violatedConstraint } from '../db/sqlstate'
import type { Boundary } from '../idempotency/boundary'
import { applyEvidence } from '../idempotency/evidence'
import {
  type AnyOperation,
  type Attempt,
  differenceOf,
  type Effects,
  type Executed,
  type LookUpVerdict,
} from '../idempotency/operation'
import type { KeyRecord } from '../idempotency/record'
import { recallAttempt, settleByEvidence } from '../idempotency/settle-by-evidence'
import { openUnbookable } from '../idempotency/sql/evidence'
import { release } from '../idempotency/sql/release'
import { settle } from '../idempotency/sql/settle'
import { currentOf } from '../idempotency/sql/version'
import type { State } from '../idempotency/states'
import { rerunAccepted } from '../jobs/enqueue'
import { askProvider } from './ask-provider'
import { whileAsking } from './asks-by-people'
import { findToReconcile, type ToReconcile, waitForSettleWindow } from './due'
import { goOnSoon, putOff } from './put-off'
import { witnessed } from './witnessed'

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
  operations: ReadonlyMap<string, AnyOperation>
  /** The pause before the second look-up; it doubles up to an hour. */
  intervalMs: number
  maxAttempts: number
}

/** On whose behalf. `along` commits with the move, if there is one: it reads the moved row from `moved`. */
interface Asker {
  by: string
  along(verdict: Verdict, record: KeyRecord): Effects
}

/** Null where there is no such record, or nothing is left to ask about. */
export async function reconcile(
  r: Reconciliation,
  recordId: string,
  by: string,
  along: Asker['along'] = () => [],
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
      ? await settleWithEvidence(r, operation, found, { by, along })
      : await lookUp(r, operation, found, { by, along })
  if (state !== 'unknown') return reconciled
  tell(r.boundary, found.record, reconciled)
  // Somebody else may have moved it while we asked, and then it is that.
  return reconciled.settled ? reconciled : { ...reconciled, state: (await currentOf(store, recordId))?.state ?? state }
}

async function settleWithEvidence(
  r: Reconciliation,
  operation: AnyOperation,
  { record }: ToReconcile,
  asker: Asker,
): Promise<Reconciled> {
  const told = { verdict: 'succeeded', settled: false, deadLettered: false, ref: null } as const
  const also = asker.along('succeeded', record)
  if (await settleByEvidence(movesOnly(r.boundary), operation, record.id, also))
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
  const putOffTo = await putOff(boundary.store, { recordId, attempt, by, verdict, intervalMs, maxAttempts })
  await boundary.step?.('put_off')
  return putOffTo
}

/** Whatever was settled, and with what, this file tells once that it was found out. */
const movesOnly = (boundary: Boundary): Boundary => ({
  ...boundary,
  observe: (event) => event.kind === 'moved' && boundary.observe?.(event),
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
  { by, along }: Asker,
): Promise<Partial<Reconciled>> {
  const { store } = r.boundary
  const { record } = found
  const guard = { recordId: record.id, attempt: record.attempt }
  const also = along(verdict.kind, record)
  const moved = (to: State, unknownSeconds: number | null) => {
    const { endpoint, tenantId } = record
    r.boundary.observe?.({ kind: 'moved', from: 'unknown', to, endpoint, tenantId, unknownSeconds })
    return { settled: true, state: to }
  }
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
      const settlement = operation.external.conclude(attempt, verdict)
      const effects = [...also, ...settlement.effects, lookedUp(guard.attempt, verdict)]
      const event = { event: 'settled', by, ...guard, verdict: verdict.kind } as const
      const settling = settle(store, { ...guard, from: ['unknown'], settlement: { ...settlement, effects }, event })
      const done = await settling.catch(async (error: unknown) => {
        if (!violatedConstraint(error)) throw error
        await openUnbookable(store, { recordId: record.id, source: 'look_up', executed: verdict }, error)
        return 'unbookable' as const
      })
      if (done === 'unbookable') return later(r, record, by, 'pending')
      await r.boundary.step?.(done ? 'settled' : 'late')
      if (done) return moved('completed', done.unknownSeconds)
      // Late: the record is not as it was read. What was learned is kept, and may settle what it is by now.
      await applyEvidence(r.boundary, r.operations, evidence)
      return {}
    }
    case 'not_found': {
      const effects = [...also, ...operation.external.release(attempt), lookedUp(guard.attempt, verdict)]
      const event = { event: 'released', by, ...guard, verdict: 'not_found' } as const
      const next = record.async ? rerunAccepted(record.id, record.attempt) : undefined
      const done = await release(store, { ...guard, from: 'unknown', code: 'not_executed', effects, event, next })
      await r.boundary.step?.(done ? 'released' : 'late')
      if (done) return moved('failed_retryable', done.unknownSeconds)
      // Somebody moved it on, or told us of the effect while we asked.
      const told = await settleByEvidence(movesOnly(r.boundary), operation, record.id, also)
      return told ? { settled: true, state: 'completed' } : {}
    }
    case 'unfinished':
      await goOnSoon(store, { ...guard, by, progress: verdict.progress, scheduled: by === RECONCILER })
      await r.boundary.step?.('put_off')
      return {}
    case 'pending':
    case 'unreachable':
      return later(r, record, by, verdict.kind)
  }
}

function lookedUp(attempt: number, { kind: verdict, ...found }: Executed | { kind: 'not_found' }): Sql {
  return witnessed({ source: 'look_up', attempt, verdict, detail: { ref: null, ...found } })
}
