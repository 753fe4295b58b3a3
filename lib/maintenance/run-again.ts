// A person has an accepted request run again that is proven not executed, also when it is a dead letter. A worker gets
// it at once, if it is still as the person saw it.
import { auditMove } from '../audit/append'
import type { Db } from '../db/store'
import { runAgain } from '../idempotency/store/run-again'
import { currentOf } from '../idempotency/store/version'
import { enqueueAccepted } from '../jobs/enqueue'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'

/** What is decided about one key, by the version that was seen. */
export interface KeyDecision {
  id: string
  reason: string
  version: number
}

/** Null when it is done. */
export async function runKeyAgain(
  store: Db,
  call: Call,
  { id, reason, version }: KeyDecision,
): Promise<Refused | null> {
  const before = await currentOf(store, id)
  if (!before) return refuse('not_found')
  if (before.version === version) {
    const also = auditMove({ ...call, action: 'key.run_again', target: id, reason, before })
    const by = `operator:${call.actor.id}`
    if (await runAgain(store, { recordId: id, version, by, enqueue: enqueueAccepted, also })) return null
  }
  const current = await currentOf(store, id)
  if (!current) return refuse('not_found')
  return current.version === version ? refuse('not_runnable') : refuse('changed_since_loaded', { current })
}
