// Settling a record that nobody owns with evidence of its effect: the same conclusion that its owner would have
// drawn, through the same transition.
import { violatedConstraint } from '../db/sqlstate'
import { keyDigestOf } from './fingerprint'
import { type Also, type AnyOperation, type Attempt, type Input, settlementOf } from './operation'
import { type KeyRecord, providerKeyOf } from './record'
import { openUnbookable, proofOf } from './store/evidence'
import { findWithRequest } from './store/find'
import { settle } from './store/settle'
import type { Through } from './store/transition'

/** False when what is stored proves nothing, can't be booked, or the record has moved meanwhile: read it again. */
export async function settleByEvidence(
  through: Through,
  operation: AnyOperation,
  recordId: string,
  also?: Also,
): Promise<boolean> {
  const { store, step } = through
  const proof = await proofOf(store, recordId)
  await step?.('proof_read')
  const found = proof && (await findWithRequest(store, recordId))
  if (!found || found.record.attempt !== proof.attempt) return false
  await step?.('found')
  const { executed, state, attempt } = proof
  const recalled = await recallAttempt(operation, found)
  await step?.('recalled')
  const settlement = settlementOf(operation, recalled, executed)
  const event = { event: 'settled', by: proof.source, attempt, verdict: executed.kind } as const
  try {
    return (await settle(through, operation, { recordId, attempt, from: state, settlement, event, also })) !== null
  } catch (error) {
    // Such as a charge that another record has booked already. Trying again would change nothing: a person has to see it.
    if (!violatedConstraint(error)) throw error
    await openUnbookable(store, { recordId, source: proof.source, executed }, error)
    return false
  }
}

/** The last attempt of a record as its owner knew it, for whoever concludes or gives back in its place. */
export async function recallAttempt(
  operation: AnyOperation,
  found: { record: KeyRecord; input: Input },
): Promise<Attempt<unknown, unknown>> {
  const { record, input } = found
  const { id: recordId, tenantId, createdAt } = record
  if (!record.resource) throw new Error(`record ${recordId} has no resource`)
  const { resource } = record
  const report = await operation.recall?.({ id: recordId, tenantId, resource, input })
  return {
    recordId,
    tenantId,
    number: record.attempt,
    createdAt,
    resource,
    input,
    report,
    providerKey: providerKeyOf(recordId),
    keyDigest: keyDigestOf(record),
    fingerprint: record.fingerprint,
  }
}
