// How an attempt begins: with the reservation, or with a claim of a record that nobody owns. Both say which phase they
// enter, both commit what the operation begins, and both are driven the same way.

import { newId } from '../db/id'
import type { Tx } from '../db/store'
import type { Boundary } from './boundary'
import { type Driven, drive, type Rerun } from './drive'
import { keyDigestOf } from './fingerprint'
import type { LeaseClock } from './lease'
import type { AnyOperation, Input, Operation } from './operation'
import { type KeyRecord, providerKeyOf } from './record'
import { claim } from './store/claim'
import { type Reserved, reserve } from './store/reserve'

interface Reserving<Body> {
  tenantId: string
  key: string
  input: Input<Body>
  requestId: string
  retentionHours: number | null
  acceptedAs: ((tx: Tx, recordId: string) => Promise<void>) | null
  mayCreate: boolean
}

export interface Phase {
  name: string
  external: boolean
}

/** The phase of this name, or the one that comes after all local ones. */
export function phaseOf(
  { local = [], external }: Pick<AnyOperation, 'local' | 'external'>,
  name: string | undefined,
): Phase {
  return local.some((phase) => phase.name === name)
    ? { name: name!, external: false }
    : { name: external.name, external: true }
}

const firstPhase = (operation: AnyOperation): Phase => phaseOf(operation, operation.local?.[0]?.name)

/** A first attempt, if the key is free. */
export function reserveFor<Body, Report>(
  boundary: Boundary,
  operation: Operation<Body, Report>,
  request: Reserving<Body>,
  fingerprint: string,
): Promise<Reserved> {
  const { tenantId, input, key, requestId, acceptedAs, mayCreate } = request
  return reserve(boundary, operation as AnyOperation, {
    recordId: newId('idem'),
    tenantId,
    endpoint: operation.endpoint,
    key,
    fingerprint,
    input,
    requestId,
    resource: operation.newResource(),
    retentionSeconds: (request.retentionHours ?? operation.retentionHours ?? boundary.defaultRetentionHours) * 3600,
    leaseMs: boundary.leaseMs,
    settleMs: boundary.settleMs,
    nodeId: boundary.nodeId,
    phase: acceptedAs ? null : firstPhase(operation),
    enqueue: acceptedAs ?? undefined,
    mayCreate,
  })
}

/** A further attempt, which resumes where the one before stopped. Null when another claim was faster. */
export async function claimFor<Body, Report>(
  boundary: Boundary,
  operation: Operation<Body, Report>,
  request: { input: Input<Body>; requestId: string },
  record: KeyRecord,
): Promise<{ report: Report } | null> {
  const { id: recordId, tenantId, resource, state: from, createdAt, attempt, recoveryPoint } = record
  if (from !== 'pending' && from !== 'failed_retryable') return null
  const { input, requestId } = request
  return claim(
    boundary,
    operation,
    {
      recordId,
      from,
      attempt,
      despiteExpiry: from === 'pending' && record.pastExpiry,
      phase: recoveryPoint === null ? firstPhase(operation) : phaseOf(operation, recoveryPoint),
      leaseMs: boundary.leaseMs,
      settleMs: boundary.settleMs,
      nodeId: boundary.nodeId,
      requestId,
    },
    { recordId, tenantId, resource: resource!, input, createdAt },
  )
}

export function driveAttempt<Body, Report>(
  boundary: Boundary,
  operation: Operation<Body, Report>,
  request: { input: Input<Body>; rerun?: Rerun },
  claimed: { record: KeyRecord; report: unknown },
  lease: LeaseClock,
): Promise<Driven> {
  const { record, report } = claimed
  return drive({
    boundary,
    operation,
    lease,
    rerun: request.rerun,
    inDoubt: record.inDoubt,
    lookUp: record.lookUp,
    recoveryPoint: record.recoveryPoint ?? firstPhase(operation).name,
    attempt: {
      recordId: record.id,
      tenantId: record.tenantId,
      number: record.attempt,
      createdAt: record.createdAt,
      resource: record.resource!,
      input: request.input,
      report: report as Report,
      providerKey: providerKeyOf(record.id),
      keyDigest: keyDigestOf(record),
      fingerprint: record.fingerprint,
    },
  })
}
