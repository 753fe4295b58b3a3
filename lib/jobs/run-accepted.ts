// The worker's side of an accepted request: claimed like any attempt. What is proven not executed gets its next run
// in the commit that says so; what is unknown waits for reconciliation. Past its time it becomes a dead letter.
import { abandon } from '../idempotency/abandon'
import type { Boundary } from '../idempotency/boundary'
import { listedInMs } from '../idempotency/lost-effects'
import type { Operations } from '../idempotency/operation'
import { runAccepted } from '../idempotency/run'
import { findWithRequest } from '../idempotency/store/find'
import { deadLetterPastRetention } from '../idempotency/store/run-again'
import { withRequestId } from '../request-context'
import { enqueueAfter, rerunAccepted } from './enqueue'

/** While a restore is being listed, which takes minutes. */
const AFTER_LISTING_MS = 2000

export async function runAcceptedJob(boundary: Boundary, operations: Operations, recordId: string): Promise<void> {
  const found = await findWithRequest(boundary.store, recordId)
  const operation = found && operations.get(found.record.endpoint)
  if (!operation) return
  // What the job does is part of the request that was accepted, however long ago.
  await withRequestId(found.requestId, async () => {
    await boundary.step?.('found')
    if (await listedInMs(boundary)) {
      await enqueueAfter(boundary.store, recordId, AFTER_LISTING_MS)
      return
    }
    if (await abandon(boundary, operation, found.record, boundary.nodeId)) return
    const { kind } = await runAccepted(boundary, operation, { ...found, rerun: rerunAccepted })
    if (kind === 'not_claimed') await deadLetterPastRetention(boundary.store, recordId, boundary.nodeId)
  })
}
