// The worker's side of an accepted request: claimed like any attempt, run again when it is proven that nothing was
// executed, and left alone when the outcome is not known.
import { abandon } from '../idempotency/abandon'
import type { Boundary } from '../idempotency/boundary'
import type { AnyOperation } from '../idempotency/operation'
import { runAccepted } from '../idempotency/run'
import { findWithRequest } from '../idempotency/sql/find'

export async function runAcceptedJob(
  boundary: Boundary,
  operations: ReadonlyMap<string, AnyOperation>,
  recordId: string,
): Promise<void> {
  const found = await findWithRequest(boundary.store, recordId)
  const operation = found && operations.get(found.record.endpoint)
  if (!operation) return
  if (await abandon(boundary.store, operation, found, boundary.nodeId)) return
  const driven = await runAccepted(boundary, operation, found)
  // The job engine runs a failed job again, later and later; a record that is not claimable then ends it.
  if (driven.kind === 'not_executed') throw new Error(`not executed: ${driven.code}`)
}
