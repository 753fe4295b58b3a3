// Driving one attempt from its claim to its end. Every phase returns one of a closed set, so all control flow of an
// attempt is in this file; every write is guarded by the attempt, so a driver that lost its lease changes nothing.
import { isUnavailable } from '../db/sqlstate'
import type { Tx } from '../db/store'
import { type Phase, phaseOf } from './attempt'
import type { Boundary } from './boundary'
import { applyEvidence } from './evidence'
import type { LeaseClock } from './lease'
import { lookUpLost } from './lost-effects'
import {
  type Answer,
  type AnyOperation,
  type Attempt,
  type Difference,
  differenceOf,
  type Executed,
  type LookUpVerdict,
  type LookUpWindow,
  type Operation,
  type Settlement,
  settlementOf,
} from './operation'
import { persist } from './persist'
import { settleByEvidence } from './settle-by-evidence'
import { advance, stillOwned } from './store/advance'
import { recordEvidence, storedEvidence } from './store/evidence'
import { markUnknown } from './store/mark-unknown'
import { release } from './store/release'
import { type Settle, settle } from './store/settle'

export type Driven =
  | { kind: 'answered'; answer: Answer; expiresAt: Date }
  /** Proven: nothing was executed. */
  | { kind: 'not_executed'; code: string; expiresAt: Date | null }
  | { kind: 'outcome_unknown'; code: string; expiresAt: Date | null }
  /** The record was moved on by another writer: the client is answered as any duplicate is. */
  | { kind: 'fenced' }

/** The look-up before the call could not read the whole list in its time, so nothing was called. */
const LOOK_UP_UNFINISHED = 'look_up_unfinished'

/** Enqueues an accepted request's next run, after this many attempts. */
export type Rerun = (attempts: number) => (tx: Tx, recordId: string) => Promise<void>

interface Drive<Body, Report> {
  boundary: Boundary
  operation: Operation<Body, Report>
  attempt: Attempt<Body, Report>
  lease: LeaseClock
  /** Whether an earlier attempt ended without its own owner's proof that nothing was executed. */
  inDoubt: boolean
  /** As it was before the claim: what a look-up before the call is about. */
  lookUp: LookUpWindow
  /** Only a worker runs again what was proven not executed; a client decides for itself. */
  rerun?: Rerun
}

export async function drive<Body, Report>(d: Drive<Body, Report> & { recoveryPoint: string }): Promise<Driven> {
  const refusal = d.operation.refusal?.(d.attempt)
  if (refusal) return settleOwn(d, refusal)

  const localDone = await driveLocalPhases(d, d.recoveryPoint)
  if (localDone) return localDone

  const lost = await askLostEffects(d)
  if (lost) return lost
  if (d.inDoubt) {
    const known = await askBeforeCalling(d)
    if (known) return known
  }
  return callProvider(d)
}

/** Null when the external phase has been entered. */
async function driveLocalPhases<Body, Report>(d: Drive<Body, Report>, from: string): Promise<Driven | null> {
  const { boundary, operation, attempt } = d
  const { local = [] } = operation
  const start = local.findIndex(({ name }) => name === from)
  if (start < 0) return null
  for (const [i, phase] of local.entries()) {
    if (i < start) continue
    const next: Phase = phaseOf(operation, local[i + 1]?.name)
    const settled = (settlement: Settlement) => ownSettle(d, settlement)
    const { nodeId } = boundary
    const advanced = await advance(boundary, operation, { attempt, phase, next, nodeId, settled }).catch(
      (bug: unknown) => releaseAfterBug(d, bug),
    )
    if (advanced === 'contradicted') return (await settleWithStoredEvidence(d)) ?? fenced(d)
    if (advanced === 'fenced') return fenced(d)
    if (advanced !== 'advanced')
      return { kind: 'answered', answer: advanced.settlement.answer, expiresAt: advanced.settled.expiresAt }
  }
  return null
}

/** What the provider did for a lost record of this key is the outcome of this one. Null when it did nothing. */
async function askLostEffects<Body, Report>(d: Drive<Body, Report>): Promise<Driven | null> {
  const verdict = await lookUpLost(d.boundary, d.operation, d.attempt).catch((bug: unknown) => releaseAfterBug(d, bug))
  return verdict && endWith(d, verdict)
}

/** Null where it tells of no effect. */
async function endWith<Body, Report>(d: Drive<Body, Report>, verdict: LookUpVerdict): Promise<Driven | null> {
  switch (verdict.kind) {
    case 'succeeded':
    case 'declined': {
      const differs = differenceOf(d.operation, d.attempt, verdict)
      if (differs) return leaveToPeople(d, verdict, differs, 'look_up')
      return settleOwn(d, settlementOf(d.operation, d.attempt, verdict), verdict)
    }
    case 'pending':
      return giveUp(d, 'provider_pending')
    default:
      return null
  }
}

/** A further attempt of a record in doubt asks for the effect before it calls. Null when there is none and it may call. */
async function askBeforeCalling<Body, Report>(d: Drive<Body, Report>): Promise<Driven | null> {
  const { external } = d.operation
  if (!d.lease.outlasts(external.timeLimitMs)) return releaseOwn(d, 'lease_too_short', d.lookUp.progress)
  const verdict = await external.lookUp(d.attempt, d.lookUp).catch((bug: unknown) => releaseAfterBug(d, bug))
  await d.boundary.step?.('looked_up')
  if (verdict.kind === 'unreachable') return releaseOwn(d, 'provider_unreachable', d.lookUp.progress)
  if (verdict.kind === 'unfinished') return releaseOwn(d, LOOK_UP_UNFINISHED, d.lookUp.isPast ? verdict.progress : null)
  const known = await endWith(d, verdict)
  if (known) return known
  const { recordId, number: attempt } = d.attempt
  if (await stillOwned(d.boundary.store, { recordId, attempt, forMs: external.timeLimitMs })) return null
  // Evidence of the effect was recorded since the claim: settle with that. Otherwise the record is not ours any more.
  await d.boundary.step?.('late')
  const { effect } = await storedEvidence(d.boundary.store, recordId)
  await d.boundary.step?.('evidence_read')
  return effect
    ? settleOwn(d, settlementOf(d.operation, d.attempt, effect), { ...effect, stored: true })
    : releaseOwn(d, 'lease_too_short')
}

async function callProvider<Body, Report>(d: Drive<Body, Report>): Promise<Driven> {
  const { external } = d.operation
  if (!d.lease.outlasts(external.timeLimitMs)) return releaseOwn(d, 'lease_too_short')
  await d.boundary.step?.('calling')
  const verdict = await external.call(d.attempt).catch(async (bug: unknown) => {
    // Whether it was sent can't be told any more.
    await giveUp(d, 'internal_error')
    throw bug
  })
  await d.boundary.step?.('called')
  switch (verdict.kind) {
    case 'succeeded':
    case 'declined': {
      const differs = differenceOf(d.operation, d.attempt, verdict)
      if (differs) return leaveToPeople(d, verdict, differs, 'owner')
      return settleOwn(d, settlementOf(d.operation, d.attempt, verdict), verdict)
    }
    case 'not_executed':
      return releaseOwn(d, verdict.code)
    case 'unclear':
      return giveUp(d, verdict.code)
  }
}

/** `stored`: it is evidence that was recorded by another source. */
type Known = Executed & { stored?: true }

function ownSettle<Body, Report>(d: Drive<Body, Report>, settlement: Settlement, executed?: Known): Settle {
  const { recordId, number: attempt } = d.attempt
  return {
    recordId,
    attempt,
    from: 'in_progress',
    settlement,
    event: { event: 'settled', by: d.boundary.nodeId, attempt },
    despiteOtherMoney: executed?.kind === 'succeeded' && !executed.stored,
  }
}

async function settleOwn<Body, Report>(
  d: Drive<Body, Report>,
  settlement: Settlement,
  executed?: Known,
): Promise<Driven> {
  const settled = await persist(d.boundary, d.lease, (through) =>
    settle(through, d.operation as AnyOperation, ownSettle(d, settlement, executed)),
  )
  if (settled === 'store_lost') return storeLost(executed)
  if (settled) return { kind: 'answered', answer: settlement.answer, expiresAt: settled.expiresAt }
  if (executed?.kind !== 'succeeded') {
    const known = await settleWithStoredEvidence(d, executed)
    if (known) return known
  }
  if (executed) await leaveEvidence(d, executed)
  return fenced(d)
}

/** Not what this record asked for: that is no outcome of it. */
async function leaveToPeople<Body, Report>(
  d: Drive<Body, Report>,
  executed: Executed,
  differs: Difference,
  source: 'owner' | 'look_up',
): Promise<Driven> {
  const { recordId, number: attempt } = d.attempt
  const evidence = { recordId, source, sourceId: `${recordId}:${executed.ref}`, attempt, executed, differs }
  const kept = await persist(d.boundary, d.lease, (through) => recordEvidence(through, evidence))
  return kept === 'store_lost' ? storeLost(executed) : giveUp(d, differs)
}

/** Evidence that was recorded while we held the lease outranks a decline, a refusal and "not executed". Null where there is none. */
async function settleWithStoredEvidence<Body, Report>(
  d: Drive<Body, Report>,
  executed?: Executed,
): Promise<Driven | null> {
  const stored = await persist(d.boundary, d.lease, ({ store }) => storedEvidence(store, d.attempt.recordId))
  if (stored === 'store_lost') return storeLost(executed)
  await d.boundary.step?.('evidence_read')
  const { effect, moneyDiffers } = stored
  if (moneyDiffers) return giveUp(d, 'amount_differs')
  return effect && settleOwn(d, settlementOf(d.operation, d.attempt, effect), { ...effect, stored: true })
}

/** What can't be written down is lost only where there was something to lose: a refusal asked the provider nothing. */
const storeLost = (executed?: Executed): Driven =>
  executed
    ? { kind: 'outcome_unknown', code: 'store_lost', expiresAt: null }
    : { kind: 'not_executed', code: 'store_lost', expiresAt: null }

function fenced<Body, Report>(d: Drive<Body, Report>): Driven {
  d.boundary.observe?.({ kind: 'late_result', endpoint: d.operation.endpoint, tenantId: d.attempt.tenantId })
  return { kind: 'fenced' }
}

/** A fenced owner changes nothing, but what it learned is recorded, and settles a record that waits for it. */
async function leaveEvidence<Body, Report>(d: Drive<Body, Report>, executed: Executed): Promise<void> {
  const { recordId, number: attempt } = d.attempt
  const evidence = { recordId, source: 'late_owner', sourceId: `${recordId}:${attempt}`, attempt, executed } as const
  await persist(d.boundary, d.lease, (through) =>
    applyEvidence(through, { get: () => d.operation as AnyOperation }, evidence),
  )
}

async function releaseOwn<Body, Report>(
  d: Drive<Body, Report>,
  code: string,
  lookUpProgress: string | null = null,
): Promise<Driven> {
  const { recordId, number: attempt } = d.attempt
  const released = await persist(d.boundary, d.lease, (through) =>
    release(through, {
      recordId,
      attempt,
      from: 'in_progress',
      code,
      giveBack: (tx) => d.operation.external.release?.(tx, d.attempt) ?? Promise.resolve(),
      event: { event: 'released', by: d.boundary.nodeId, attempt },
      // An unfinished look-up is no failure: the worker goes on with it soon, as after a first attempt.
      enqueue: d.rerun?.(code === LOOK_UP_UNFINISHED ? 1 : attempt),
      lookUpProgress,
    }),
  )
  if (released === 'store_lost') return { kind: 'not_executed', code, expiresAt: null }
  if (!released) return (await settleWithStoredEvidence(d)) ?? fenced(d)
  return { kind: 'not_executed', code, expiresAt: released.expiresAt }
}

async function giveUp<Body, Report>(d: Drive<Body, Report>, code: string): Promise<Driven> {
  const { recordId, number: attempt } = d.attempt
  const { nodeId } = d.boundary
  const moved = await persist(d.boundary, d.lease, (through) =>
    markUnknown(through, { recordId, attempt, code, nodeId }),
  )
  if (moved === 'store_lost') return { kind: 'outcome_unknown', code, expiresAt: null }
  if (!moved) return fenced(d)
  // Evidence that was recorded while we held the lease was kept for this moment. Then answer as a duplicate is answered.
  if (moved.hasEvidence && (await settledByEvidence(d))) return { kind: 'fenced' }
  return { kind: 'outcome_unknown', code, expiresAt: moved.expiresAt }
}

/** The record is safely unknown by now: where the store is lost here, the reconciler goes on. */
function settledByEvidence<Body, Report>(d: Drive<Body, Report>): Promise<boolean> {
  return settleByEvidence(d.boundary, d.operation as AnyOperation, d.attempt.recordId).catch((error) => {
    if (isUnavailable(error)) return false
    throw error
  })
}

/** Nothing was called in a local phase or by a look-up, so after a bug there it is still proven. */
async function releaseAfterBug<Body, Report>(d: Drive<Body, Report>, bug: unknown): Promise<never> {
  await releaseOwn(d, 'internal_error')
  throw bug
}
