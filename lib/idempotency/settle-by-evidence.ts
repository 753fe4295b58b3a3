// Settling a record that nobody owns with evidence of its effect: the same conclusion that its owner would have
// drawn, through the same transition.
import type { Store } from '../db/store'
import type { AnyOperation } from './operation'
import { type KeyRecord, providerKeyOf } from './record'
import { effectEvidence } from './sql/evidence'
import { findWithRequest } from './sql/find'
import { settle } from './sql/settle'

/** False when there is nothing to settle with, or somebody was faster: read the record again. */
export async function settleByEvidence(store: Store, operation: AnyOperation, record: KeyRecord): Promise<boolean> {
  const executed = await effectEvidence(store, record.id)
  const stored = await findWithRequest(store, record.id)
  if (!executed || !stored || !record.resource) return false
  const { id: recordId, tenantId, resource, createdAt, attempt } = record
  const report = await operation.recall({ id: recordId, tenantId, resource, input: stored.input })
  const settlement = operation.external.conclude(
    {
      recordId,
      tenantId,
      number: attempt,
      createdAt,
      resource,
      input: stored.input,
      report,
      providerKey: providerKeyOf(recordId),
    },
    executed,
  )
  const event = { event: 'settled', by: 'evidence', attempt } as const
  return (await settle(store, { recordId, attempt, from: ['unknown', 'failed_retryable'], settlement, event })) !== null
}
