// Settling a record that nobody owns with evidence of its effect: the same conclusion that its owner would have
// drawn, through the same transition.
import { violatedConstraint } from '../db/sqlstate'
import type { Store } from '../db/store'
import type { Boundary } from './boundary'
import { keyDigestOf } from './fingerprint'
import type { AnyOperation, Attempt, Effects, Input } from './operation'
import { type KeyRecord, providerKeyOf } from './record'
import { openUnbookable, proofOf } from './sql/evidence'
import { findWithRequest } from './sql/find'
import { settle } from './sql/settle'

/** Of the boundary, what is needed here; another store for one who must get past the circuit. */
export type Witnessing = { store: Pick<Store, 'query'> } & Pick<Boundary, 'observe' | 'step'>

/** False when what is stored proves nothing, can't be booked, or somebody was faster: read the record again. */
export async function settleByEvidence(
  { store, observe, step }: Witnessing,
  operation: AnyOperation,
  recordId: string,
  /** What else commits with the move. */
  along: Effects = [],
): Promise<boolean> {
  const proof = await proofOf(store, recordId)
  await step?.('proof_read')
  const found = proof && (await findWithRequest(store, recordId))
  if (!found || found.record.attempt !== proof.attempt) return false
  await step?.('found')
  const { executed, state, attempt } = proof
  const recalled = await recallAttempt(operation, found)
  await step?.('recalled')
  const conclusion = operation.external.conclude(recalled, executed)
  const settlement = { ...conclusion, effects: [...along, ...conclusion.effects] }
  const event = { event: 'settled', by: proof.source, attempt, verdict: executed.kind } as const
  const settled = await settle(store, { recordId, attempt, from: [state], settlement, event }).catch(
    async (error: unknown) => {
      // Such as a charge that another record has booked already. Trying again would change nothing: people are told.
      if (!violatedConstraint(error)) throw error
      await openUnbookable(store, { recordId, source: proof.source, executed }, error)
      return null
    },
  )
  if (settled) {
    await step?.('settled')
    const { endpoint, tenantId } = found.record
    const { unknownSeconds } = settled
    observe?.({ kind: 'moved', from: state, to: 'completed', endpoint, tenantId, unknownSeconds })
    if (state === 'unknown') observe?.({ kind: 'reconcile_resolved', endpoint, tenantId })
  }
  return settled !== null
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
  const report = await operation.recall({ id: recordId, tenantId, resource, input })
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
