// One keyed request from reservation to answer. Reads like the contract: reserve or find; then decide; then replay,
// wait, claim, or say why not. Whoever loses a race comes round again and decides anew.
import { isUnavailable } from '../db/sqlstate'
import type { Tx } from '../db/store'
import { claimFor, driveAttempt, reserveFor } from './attempt'
import type { Boundary } from './boundary'
import { decide } from './decide'
import type { Driven, Rerun } from './drive'
import { fingerprint as fingerprintOf } from './fingerprint'
import { LeaseClock } from './lease'
import { listedInMs } from './lost-effects'
import type { Answer, AnyOperation, Input, Operation } from './operation'
import type { KeyRecord } from './record'
import { settleByEvidence } from './settle-by-evidence'
import { markAwaited } from './store/await'
import { endLease } from './store/end-lease'
import { observeMove } from './store/transition'

export interface KeyedRequest<Body> {
  tenantId: string
  key: string
  input: Input<Body>
  requestId: string
  /** The tenant's own retention, where it has one. */
  retentionHours: number | null
  /** How long a duplicate waits for the attempt under way. */
  waitMs: number
  /** Set for a request that is to be accepted and run by a worker: the job that commits with it. */
  acceptedAs: ((tx: Tx, recordId: string) => Promise<void>) | null
  mayCreate: boolean
  /** Told once, as soon as it is known, whether this request created its record. */
  reserved?(created: boolean): void
  /** Aborted when its sender has gone; made for those who ask. */
  signal?(): AbortSignal
}

export type Outcome =
  | {
      kind: 'answered'
      answer: Answer
      replayed: boolean
      expiresAt: Date
      created: boolean
      /** The record that stores the answer. */
      source: Pick<KeyRecord, 'id' | 'createdAt'>
    }
  | { kind: 'accepted'; record: KeyRecord; created: boolean }
  | { kind: 'in_progress'; record: KeyRecord }
  | { kind: 'unknown'; record: KeyRecord }
  /** `stored` is the request that the key stands for; null once it is erased. */
  | { kind: 'misuse'; record: KeyRecord; stored: Input | null }
  | { kind: 'expired'; record: KeyRecord }
  | { kind: 'not_executed'; code: string; expiresAt: Date; created: boolean }
  | { kind: 'outcome_unknown'; code: string; expiresAt: Date; created: boolean }
  | { kind: 'not_allowed' }
  /** After a restore: what was lost is still being listed, and no attempt begins. */
  | { kind: 'restoring'; afterMs: number }

/** What a request means, in few characters: equal exactly where the requests are. */
export function fingerprintFor({ endpoint }: AnyOperation, { params, body }: Input): string {
  return fingerprintOf({ method: endpoint.split(' ', 1)[0]!, endpoint, params, body })
}

/** Each turn follows a lost race; so many in a row on one key mean that something else is wrong. */
const MAX_TURNS = 50
/** Who can't be told looks again after this long: 30 turns at most, by the longest wait that a client may ask for. */
const DEAF_PAUSE_MS = 1000

export async function run<Body, Report>(
  boundary: Boundary,
  operation: Operation<Body, Report>,
  request: KeyedRequest<Body>,
): Promise<Outcome> {
  const fingerprint = fingerprintFor(operation, request.input)
  const restoringMs = await listedInMs(boundary)
  const waitUntil = performance.now() + request.waitMs
  let created = false
  /** The record that this request owned and lost: from then on it is a duplicate, and one that calls nobody. */
  let fenced: KeyRecord | null = null
  /** What this request found or made. It makes no other, also when that one is gone: it would run a second time. */
  let seen: KeyRecord | null = null
  let triedEvidence = false
  /** Found running, it is waited for until its outcome is known. */
  let foundRunning = false

  for (let turn = 1; ; turn++) {
    const lease = new LeaseClock(boundary.leaseMs)
    await boundary.step?.('reserving')
    const reserving: KeyedRequest<Body> = { ...request, mayCreate: request.mayCreate && !seen && !restoringMs }
    const found = await reserveFor(boundary, operation, reserving, fingerprint).catch((error: unknown) => {
      if (fenced && isUnavailable(error)) return { kind: 'store_lost' as const, expiresAt: fenced.expiresAt }
      throw error
    })
    // The provider may have been called by now: "no work was done" would not be true any more.
    if (found.kind === 'store_lost')
      return { kind: 'outcome_unknown', code: 'store_lost', expiresAt: found.expiresAt, created }
    if (turn === 1) request.reserved?.(found.kind === 'created')
    if (found.kind === 'not_allowed') {
      if (seen) return { kind: 'expired', record: seen }
      return restoringMs ? { kind: 'restoring', afterMs: restoringMs } : found
    }
    const { record } = found
    seen = record

    if (found.kind === 'existing') await boundary.step?.('found')
    if (found.kind === 'created') {
      created = true
      observeMove(boundary.observe, { ...record, from: null, unknownSeconds: null })
      await boundary.step?.('reserved')
      if (record.state === 'in_progress') {
        const outcome = finished(await driveAttempt(boundary, operation, request, found, lease), record, created)
        if (outcome) return outcome
        fenced = record
        continue
      }
    }

    const decision = decide(record, fingerprint)
    switch (decision) {
      case 'misuse':
        return { kind: 'misuse', record, stored: found.kind === 'existing' ? found.stored : null }
      case 'expired':
        return { kind: 'expired', record }
      case 'unknown':
        if (foundRunning && turn < MAX_TURNS && (await waited(boundary, record, waitUntil, request.signal?.())))
          continue
        return { kind: 'unknown', record }
      case 'replay': {
        // The request that was accepted and waited for its own answer gets it first, not again.
        const replayed = !created || fenced !== null
        return {
          kind: 'answered',
          answer: record.answer!,
          replayed,
          expiresAt: record.expiresAt,
          created,
          source: record,
        }
      }
      case 'running':
        foundRunning = true
        if (turn < MAX_TURNS && (await waited(boundary, record, waitUntil, request.signal?.()))) continue
        return record.async ? { kind: 'accepted', record, created } : { kind: 'in_progress', record }
      case 'lease_over':
        foundRunning = true
        await leaseIsOver(boundary, operation, record)
        break
      case 'settle_by_evidence':
        // What can't be booked is for people to resolve.
        if (triedEvidence) return { kind: 'unknown', record }
        triedEvidence = !(await settleByEvidence(boundary, operation, record.id))
        break
      case 'claim': {
        if (restoringMs) return { kind: 'restoring', afterMs: restoringMs }
        // A process that slept must not wake up and charge, nor for somebody who has gone.
        if (fenced || request.signal?.().aborted)
          return { kind: 'not_executed', code: 'not_claimed', expiresAt: record.expiresAt, created }
        const claimed = await claimFor(boundary, operation, request, record)
        if (!claimed) break
        const attempt = { record: { ...record, attempt: record.attempt + 1 }, report: claimed.report }
        const outcome = finished(await driveAttempt(boundary, operation, request, attempt, lease), record, created)
        if (outcome) return outcome
        fenced = record
      }
    }
    if (turn >= MAX_TURNS) return { kind: 'in_progress', record }
  }
}

/** A worker's way in: an accepted request, or one that was proven not executed, is claimed and driven. */
export async function runAccepted(
  boundary: Boundary,
  operation: AnyOperation,
  accepted: { record: KeyRecord; input: Input; requestId: string; rerun: Rerun },
): Promise<Driven | { kind: 'not_claimed' }> {
  const { record, input, requestId, rerun } = accepted
  const lease = new LeaseClock(boundary.leaseMs)
  const claimed = await claimFor(boundary, operation, { input, requestId }, record)
  if (!claimed) return { kind: 'not_claimed' }
  const attempt = { record: { ...record, attempt: record.attempt + 1 }, report: claimed.report }
  return driveAttempt(boundary, operation, { input, rerun }, attempt, lease)
}

async function leaseIsOver(boundary: Boundary, operation: AnyOperation, record: KeyRecord): Promise<void> {
  const { id: recordId, attempt } = record
  const ended = await endLease(boundary, { recordId, attempt, by: boundary.nodeId })
  if (ended?.hasEvidence) await settleByEvidence(boundary, operation, recordId)
}

/** Null for an owner that was fenced: its client is answered as a duplicate is. */
function finished(driven: Driven, record: KeyRecord, created: boolean): Outcome | null {
  switch (driven.kind) {
    case 'answered':
      return { ...driven, replayed: false, created, source: record }
    case 'not_executed':
    case 'outcome_unknown':
      return { ...driven, expiresAt: driven.expiresAt ?? record.expiresAt, created }
    case 'fenced':
      return null
  }
}

/** True when it waited and there may be news; false when there is no time left to wait. */
async function waited(boundary: Boundary, record: KeyRecord, until: number, signal?: AbortSignal): Promise<boolean> {
  if (performance.now() >= until || signal?.aborted) return false
  const expectation = boundary.waiting.expect(record.id)
  try {
    const listening = await expectation.listening
    const awaited = await markAwaited(boundary.store, record.id)
    if (!awaited) return true
    const leaseLeftMs = awaited.leaseLeftMs ?? Number.POSITIVE_INFINITY
    const lookAgainMs = listening ? Number.POSITIVE_INFINITY : DEAF_PAUSE_MS
    await expectation.orAfter(Math.min(until - performance.now(), leaseLeftMs + 1, lookAgainMs), signal)
    return true
  } finally {
    expectation.cancel()
  }
}
