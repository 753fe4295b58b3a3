// Evidence from whoever is not a record's owner: a webhook, a late owner, a look-up. It is kept once, and settles the
// record at once where nobody owns it and it is proof; what an owner still works on keeps it until the owner settles
// or the lease ends. A final record stays as it is.
import type { Store } from '../db/store'
import type { Boundary } from './boundary'
import type { AnyOperation } from './operation'
import { settleByEvidence } from './settle-by-evidence'
import { type Evidence, keepEvidence } from './sql/evidence'

export type Applied =
  /** This call moved the record. */
  | 'settled'
  /** It proves nothing yet, somebody owns the record, or the record is final. */
  | 'kept'
  | 'record_gone'

/** Brought again, the same evidence is not kept twice; it only ends what was not ended the first time. */
export async function applyEvidence(
  through: { store: Pick<Store, 'query'> } & Pick<Boundary, 'observe' | 'step'>,
  operations: { get(endpoint: string): AnyOperation | undefined },
  evidence: Evidence,
): Promise<Applied> {
  const kept = await keepEvidence(through.store, evidence)
  await through.step?.('evidence_kept')
  if (!kept) return 'record_gone'
  // The rule itself is asked of the store; this only spares the question where the answer is known.
  if (kept.state !== 'unknown' && kept.state !== 'failed_retryable') return 'kept'
  const operation = operations.get(kept.endpoint)
  if (!operation) return 'kept'
  const settled = await settleByEvidence(through.store, operation, evidence.recordId, through.observe)
  return settled ? 'settled' : 'kept'
}
