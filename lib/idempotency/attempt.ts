// How an attempt begins: with the reservation, or with a claim of what nobody owns. Both say which phase they enter,
// both commit what the operation wants to commit with it, and both are driven the same way.
import type { Sql } from 'sql-template-tag'
import { newId } from '../db/id'
import type { Boundary } from './boundary'
import { type Driven, drive, type Rerun } from './drive'
import { keyDigestOf } from './fingerprint'
import type { LeaseClock } from './lease'
import type { Input, Operation } from './operation'
import { type KeyRecord, providerKeyOf } from './record'
import { claim } from './sql/claim'
import { type Reserved, reserve } from './sql/reserve'

interface Reserving<Body> {
  tenantId: string
  key: string
  input: Input<Body>
  requestId: string
  retentionHours: number | null
  acceptedAs: ((recordId: string) => Sql) | null
  mayCreate: boolean
}

function firstPhase(operation: Operation<never, never>): { name: string; external: boolean } {
  const [local] = operation.local
  return local ? { name: local.name, external: false } : { name: operation.external.name, external: true }
}

/** A first attempt, if the key is free. */
export function reserveFor<Body, Report>(
  boundary: Boundary,
  operation: Operation<Body, Report>,
  request: Reserving<Body>,
  fingerprint: string,
): Promise<Reserved> {
  const id = newId('idem')
  const resource = operation.newResource()
  const { tenantId, input, key, requestId } = request
  const start = { recordId: id, tenantId, number: 1, resource, input, providerKey: providerKeyOf(id) }
  const { effects, report } = operation.begin({ attempt: start, first: true })
  const reservation = {
    id,
    tenantId,
    endpoint: operation.endpoint,
    key,
    fingerprint,
    request: JSON.stringify(input),
    requestId,
    resource,
    retentionSeconds: (request.retentionHours ?? operation.retentionHours ?? boundary.defaultRetentionHours) * 3600,
    leaseMs: boundary.leaseMs,
    settleMs: boundary.settleMs,
    nodeId: boundary.nodeId,
    phase: request.acceptedAs ? null : firstPhase(operation as Operation<never, never>),
    effects,
    report,
    job: request.acceptedAs?.(id),
    mayCreate: request.mayCreate,
    independent: operation.independent,
  }
  return reserve(boundary.store, reservation, () => boundary.step?.('taken'))
}

/** A further attempt, which resumes where the one before stopped. Null when somebody was faster. */
export async function claimFor<Body, Report>(
  boundary: Boundary,
  operation: Operation<Body, Report>,
  request: { input: Input<Body>; requestId: string },
  record: KeyRecord,
): Promise<{ report: unknown } | null> {
  const { id: recordId, tenantId, resource, state: from } = record
  if (from !== 'pending' && from !== 'failed_retryable') return null
  const { input, requestId } = request
  const number = record.attempt + 1
  const start = { recordId, tenantId, number, resource: resource!, input, providerKey: providerKeyOf(recordId) }
  const { effects, report } = operation.begin({ attempt: start, first: false })
  const resumed = operation.local.find((phase) => phase.name === record.recoveryPoint)
  const claimed = await claim(boundary.store, {
    recordId,
    from,
    attempt: record.attempt,
    despiteExpiry: from === 'pending' && record.pastExpiry,
    phase: resumed
      ? { name: resumed.name, external: false }
      : record.recoveryPoint === null
        ? firstPhase(operation as Operation<never, never>)
        : { name: operation.external.name, external: true },
    leaseMs: boundary.leaseMs,
    settleMs: boundary.settleMs,
    nodeId: boundary.nodeId,
    requestId,
    effects,
    report,
  })
  if (claimed) {
    const { endpoint } = record
    boundary.observe?.({ kind: 'claimed', endpoint, tenantId, from })
    boundary.observe?.({ kind: 'moved', from, to: 'in_progress', endpoint, tenantId })
    await boundary.step?.('claimed')
  }
  return claimed
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
    recoveryPoint: record.recoveryPoint ?? firstPhase(operation as Operation<never, never>).name,
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
