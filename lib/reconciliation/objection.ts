// What speaks against a person's word for an outcome: the settle window, the evidence that is stored, and the provider
// itself. The same rules by which a look-up is proof or is not.
import type { Store } from '../db/store'
import type { LookUpVerdict } from '../idempotency/operation'
import { effectEvidence } from '../idempotency/sql/evidence'
import { type Refused, refuse } from '../operators/refusal'
import type { ToReconcile } from './due'
import type { Resolution } from './resolve'

/** What is known without asking anybody. Null: nothing. */
export async function objectionTo(
  store: Pick<Store, 'query'>,
  { record, settled, settlesAt }: ToReconcile,
  { verdict, providerRef }: Resolution,
): Promise<Refused | null> {
  // Until the window is over another call may still arrive; a decline speaks for the only attempt, not for others.
  const tooEarly = verdict === 'not_executed' || (verdict === 'declined' && record.attempt > 1)
  if (tooEarly && !settled)
    return refuse('settle_window_open', {
      detail: `Until ${settlesAt?.toISOString()} a call that was sent may still be executed, and nothing proves that it was not.`,
    })
  const told = record.effectEvidence ? await effectEvidence(store, record.id) : null
  if (told && (verdict !== 'succeeded' || providerRef !== told.ref))
    return refuse('contradicts_provider', {
      detail: `There is evidence that the provider has executed it, with the reference ${told.ref}.`,
    })
  return null
}

/** What the provider says instead, as a sentence. Null: it agrees, or can't be asked. */
export function contradictionOf({ verdict, providerRef }: Resolution, said: LookUpVerdict): string | null {
  switch (said.kind) {
    case 'unreachable':
      return null
    case 'pending':
      return 'The provider has it and has not decided yet.'
    case 'not_found':
      return verdict === 'not_executed' ? null : 'The provider has nothing for this key.'
    case 'succeeded':
      if (verdict === 'succeeded' && providerRef === said.ref) return null
      return `The provider has executed it, with the reference ${said.ref}.`
    case 'declined':
      if (verdict === 'declined' && (providerRef ?? said.ref) === said.ref) return null
      return `The provider has declined it, with the reference ${said.ref}.`
  }
}
