// Evidence from a source that is not a record's owner: a webhook, a late owner, a look-up. It is recorded once, and settles
// the record at once where it is proof and no attempt owns the record. While an attempt does, it is kept until the attempt
// settles or its lease ends. A final record stays as it is.
import { type AnyOperation, type Difference, differenceOf, type Executed } from './operation'
import { recallAttempt, settleByEvidence } from './settle-by-evidence'
import { type Evidence, recordEvidence } from './store/evidence'
import { findWithRequest } from './store/find'
import type { Through } from './store/transition'

export type Applied =
  /** This call moved the record. */
  | 'settled'
  /** It proves nothing yet, somebody owns the record, or the record is final. */
  | 'kept'
  | 'record_gone'

/** Brought again, the same evidence is not kept twice; it only ends what was not ended the first time. */
export async function applyEvidence(
  through: Through,
  operations: { get(endpoint: string): AnyOperation | undefined },
  evidence: Evidence,
): Promise<Applied> {
  const differs = await differenceFrom(through, operations, evidence.recordId, evidence.executed)
  const kept = await recordEvidence(through, { ...evidence, differs })
  if (!kept) return 'record_gone'
  // The rule itself is asked of the store; this only spares the question where the answer is known.
  if (kept.state !== 'unknown' && kept.state !== 'failed_retryable') return 'kept'
  const operation = operations.get(kept.endpoint)
  if (!operation) return 'kept'
  const settled = await settleByEvidence(through, operation, evidence.recordId)
  return settled ? 'settled' : 'kept'
}

/** What a record stands for never changes, so this may be asked before the record is locked. */
async function differenceFrom(
  { store, step }: Through,
  operations: { get(endpoint: string): AnyOperation | undefined },
  recordId: string,
  executed: Executed,
): Promise<Difference | null> {
  const found = executed.shown && (await findWithRequest(store, recordId))
  const operation = found && operations.get(found.record.endpoint)
  if (!operation || !found.record.resource) return null
  await step?.('found')
  const attempt = await recallAttempt(operation, found)
  await step?.('recalled')
  return differenceOf(operation, attempt, executed)
}
