// Driving one attempt from its claim to its end. Every phase returns one of a closed set, so all control flow of an
// attempt is in this file; every write is guarded by the attempt, so a driver that lost its lease changes nothing.
import type { Sql } from 'sql-template-tag'
import { isUnavailable } from '../db/sqlstate'
import type { Boundary } from './boundary'
import { applyEvidence } from './evidence'
import type { LeaseClock } from './lease'
import { lookUpLost } from './lost-effects'
import {
  type Answer,
  type Attempt,
  type Difference,
  differenceOf,
  type Executed,
  type LookUpVerdict,
  type LookUpWindow,
  type Operation,
  type Settlement,
} from './operation'
import { persist } from './persist'
import { settleByEvidence } from './settle-by-evidence'
import { advance, stillOwned } from './sql/advance'
import { keepEvidence, storedEvidence } from './sql/evidence'
import { outcomeUnknown } from './sql/outcome-unknown'
import { release } from './sql/release'
import { settle } from './sql/settle'
import type { State } from './states'

export type Driven =
  | { kind: 'answered'; answer: Answer; expiresAt: Date }
  /** Proven: nothing was executed. */
  | { kind: 'not_executed'; code: string; expiresAt: Date | null }
  | { kind: 'outcome_unknown'; code: string; expiresAt: Date | null }
  /** Somebody else moved the record on: the client is to be answered as any duplicate is. */
  | { kind: 'fenced' }

/** The look-up before the call could not read the whole list in its time, so nothing was called. */
const LOOK_UP_UNFINISHED = 'look_up_unfinished'

/** The job of an accepted request's next run, after this many attempts. */
export type Rerun = (recordId: string, attempts: number) => Sql

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
  const { local, external } = d.operation
  const start = local.findIndex((phase) => phase.name === from)
  if (start < 0) return null
  for (let i = start; i < local.length; i++) {
    const outcome = await local[i]!.run(d.attempt).catch((bug: unknown) => releaseAfterBug(d, bug))
    if (outcome.kind === 'answer') return settleOwn(d, outcome.settlement)
    const next = local[i + 1]
    const entered = await advance(d.boundary.store, {
      recordId: d.attempt.recordId,
      attempt: d.attempt.number,
      to: next ? { name: next.name, external: false } : { name: external.name, external: true },
      effects: outcome.effects,
      nodeId: d.boundary.nodeId,
    })
    if (!entered) return fenced(d)
    await d.boundary.step?.('advanced')
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
      return settleOwn(d, d.operation.external.conclude(d.attempt, verdict), verdict)
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
  // Told of the effect since the claim: settle with that. Otherwise the record is not ours any more.
  await d.boundary.step?.('late')
  const { effect } = await storedEvidence(d.boundary.store, recordId)
  await d.boundary.step?.('evidence_read')
  return effect
    ? settleOwn(d, external.conclude(d.attempt, effect), { ...effect, stored: true })
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
      return settleOwn(d, external.conclude(d.attempt, verdict), verdict)
    }
    case 'not_executed':
      return releaseOwn(d, verdict.code)
    case 'unclear':
      return giveUp(d, verdict.code)
  }
}

async function settleOwn<Body, Report>(
  d: Drive<Body, Report>,
  settlement: Settlement,
  /** `stored`: it is evidence of somebody else's. */
  executed?: Executed & { stored?: true },
): Promise<Driven> {
  const { recordId, number: attempt } = d.attempt
  const by = d.boundary.nodeId
  const event = { event: 'settled', by, attempt } as const
  const settled = await persist(d.boundary.store, d.lease, (store) =>
    moving(
      d,
      'completed',
      settle(store, {
        recordId,
        attempt,
        from: ['in_progress'],
        settlement,
        event,
        independent: d.operation.independent,
        despiteOtherMoney: executed?.kind === 'succeeded' && !executed.stored,
      }),
    ),
  )
  if (settled === 'store_lost') return storeLost(executed)
  if (settled) {
    await d.boundary.step?.('settled')
    return { kind: 'answered', answer: settlement.answer, expiresAt: settled.expiresAt }
  }
  await d.boundary.step?.('late')
  if (executed?.kind !== 'succeeded') {
    const told = await settleWithWhatWasTold(d, executed)
    if (told) return told
  }
  if (executed) await testify(d, executed)
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
  const kept = await persist(d.boundary.store, d.lease, (store) => keepEvidence(store, evidence))
  if (kept === 'store_lost') return storeLost(executed)
  await d.boundary.step?.('evidence_kept')
  return giveUp(d, differs)
}

/** Evidence that came while we held the lease outranks a decline, a refusal and "not executed". Null where there is none. */
async function settleWithWhatWasTold<Body, Report>(
  d: Drive<Body, Report>,
  executed?: Executed,
): Promise<Driven | null> {
  const stored = await persist(d.boundary.store, d.lease, (store) => storedEvidence(store, d.attempt.recordId))
  if (stored === 'store_lost') return storeLost(executed)
  await d.boundary.step?.('evidence_read')
  const { effect, moneyDiffers } = stored
  if (moneyDiffers) return giveUp(d, 'amount_differs')
  return effect && settleOwn(d, d.operation.external.conclude(d.attempt, effect), { ...effect, stored: true })
}

/** What can't be written down is lost only where there was something to lose: a refusal asked nobody. */
const storeLost = (executed?: Executed): Driven =>
  executed
    ? { kind: 'outcome_unknown', code: 'store_lost', expiresAt: null }
    : { kind: 'not_executed', code: 'store_lost', expiresAt: null }

/** Told as soon as it is done, which may be long after the client had to be answered without it. */
async function moving<Body, Report, Done>(d: Drive<Body, Report>, to: State, move: Promise<Done | null>) {
  const done = await move
  const { endpoint } = d.operation
  if (done) d.boundary.observe?.({ kind: 'moved', from: 'in_progress', to, endpoint, tenantId: d.attempt.tenantId })
  return done
}

function fenced<Body, Report>(d: Drive<Body, Report>): Driven {
  d.boundary.observe?.({ kind: 'late_result', endpoint: d.operation.endpoint, tenantId: d.attempt.tenantId })
  return { kind: 'fenced' }
}

/** A fenced owner changes nothing, but what it learned is kept, and settles a record that waits for it. */
async function testify<Body, Report>(d: Drive<Body, Report>, executed: Executed): Promise<void> {
  const { recordId, number: attempt } = d.attempt
  const evidence = { recordId, source: 'late_owner', sourceId: `${recordId}:${attempt}`, attempt, executed } as const
  await persist(d.boundary.store, d.lease, (store) =>
    applyEvidence({ ...d.boundary, store }, { get: () => d.operation }, evidence),
  )
}

async function releaseOwn<Body, Report>(
  d: Drive<Body, Report>,
  code: string,
  lookUpProgress: string | null = null,
): Promise<Driven> {
  const { recordId, number: attempt } = d.attempt
  const effects = d.operation.external.release(d.attempt)
  const event = { event: 'released', by: d.boundary.nodeId, attempt } as const
  // An unfinished look-up is no failure: the worker goes on with it soon, as after a first attempt.
  const next = d.rerun?.(recordId, code === LOOK_UP_UNFINISHED ? 1 : attempt)
  const released = await persist(d.boundary.store, d.lease, (store) =>
    moving(
      d,
      'failed_retryable',
      release(store, { recordId, attempt, from: 'in_progress', code, effects, event, next, lookUpProgress }),
    ),
  )
  if (released === 'store_lost') return { kind: 'not_executed', code, expiresAt: null }
  if (!released) {
    await d.boundary.step?.('late')
    return (await settleWithWhatWasTold(d)) ?? fenced(d)
  }
  await d.boundary.step?.('released')
  return { kind: 'not_executed', code, expiresAt: released.expiresAt }
}

async function giveUp<Body, Report>(d: Drive<Body, Report>, code: string): Promise<Driven> {
  const { recordId, number: attempt } = d.attempt
  const moved = await persist(d.boundary.store, d.lease, (store) =>
    moving(d, 'unknown', outcomeUnknown(store, { recordId, attempt, code, nodeId: d.boundary.nodeId })),
  )
  if (moved === 'store_lost') return { kind: 'outcome_unknown', code, expiresAt: null }
  if (!moved) return fenced(d)
  d.boundary.observe?.({ kind: 'reconcile_scheduled', endpoint: d.operation.endpoint, tenantId: d.attempt.tenantId })
  await d.boundary.step?.('given_up')
  // Evidence that came in while we held the lease was kept for this moment. Then answer as a duplicate is answered.
  if (moved.hasEvidence && (await settledByEvidence(d))) return { kind: 'fenced' }
  return { kind: 'outcome_unknown', code, expiresAt: moved.expiresAt }
}

/** The record is safely unknown by now: a store that is lost here is somebody else's to ask again. */
function settledByEvidence<Body, Report>(d: Drive<Body, Report>): Promise<boolean> {
  return settleByEvidence(d.boundary, d.operation, d.attempt.recordId).catch((error) => {
    if (isUnavailable(error)) return false
    throw error
  })
}

/** Nothing was called in a local phase or by a look-up, so after a bug there it is still proven. */
async function releaseAfterBug<Body, Report>(d: Drive<Body, Report>, bug: unknown): Promise<never> {
  await releaseOwn(d, 'internal_error')
  throw bug
}
