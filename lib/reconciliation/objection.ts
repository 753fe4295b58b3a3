// What speaks against a person's word for an outcome: the settle window, the evidence that is stored, and the provider
// itself. The same rules by which a look-up is proof or is not.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import type { AnyOperation, Attempt, LookUpVerdict, Shown } from '../idempotency/operation'
import { storedEvidence } from '../idempotency/store/evidence'
import { type Refused, refuse } from '../operators/refusal'
import type { ToReconcile } from './due'
import type { Resolution } from './resolve'

const NONE = { ownRef: null }

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
  const { ownRef } = record.effectEvidence || record.moneyDiffers ? await storedEvidence(store, record.id) : NONE
  // Beside evidence of other money, a person says which of the two charges is the key's.
  if (ownRef && (verdict !== 'succeeded' || (providerRef !== ownRef && !record.moneyDiffers)))
    return refuse('contradicts_provider', {
      detail: `There is evidence that the provider has executed it, with the reference ${ownRef}.`,
    })
  return null
}

export interface Contradiction {
  detail: string
}

/** What the provider moved for a reference, as far as anybody knows. */
export interface KnownMoney {
  shown: Shown | null
  /** It has this reference for this key, although it could not be asked by the key. */
  confirmedByRef?: boolean
}

/**
 * What the provider says instead, as a sentence; or the money that it moved, where it agrees or can't be asked. It is asked
 * by the record's key, and where that has no answer by the reference that the person gives.
 */
export async function askAbout(
  store: Pick<Store, 'query'>,
  operation: AnyOperation,
  attempt: Attempt<unknown, unknown>,
  decision: Resolution,
  said: LookUpVerdict,
): Promise<Contradiction | KnownMoney> {
  const detail = contradictionOf(decision, said)
  if (detail) return { detail }
  const { verdict, providerRef, accept } = decision
  if (providerRef === undefined) return { shown: null }
  if (said.kind !== 'unreachable' && said.kind !== 'unfinished')
    return comparedMoney(operation, attempt, accept, 'shown' in said ? said.shown : null)

  const found = (await operation.external.findByRef?.(providerRef)) ?? ({ kind: 'unreachable' } as const)
  if (found.kind !== 'found') {
    const shown = verdict === 'succeeded' ? await shownByEvidence(store, attempt.recordId, providerRef) : null
    return comparedMoney(operation, attempt, accept, shown)
  }
  if (found.providerKey !== attempt.providerKey)
    return { detail: `The provider has ${providerRef}, and it belongs to another key.` }
  if (found.status !== (verdict === 'succeeded' ? 'succeeded' : 'failed'))
    return { detail: `The provider has ${providerRef}, and says that it is ${found.status}.` }
  const money = comparedMoney(operation, attempt, accept, verdict === 'succeeded' ? found.shown : null)
  return 'detail' in money ? money : { ...money, confirmedByRef: true }
}

/** What is accepted has to be the provider's own money, and what is not the record's own has to be accepted. */
function comparedMoney(
  { external }: AnyOperation,
  attempt: Attempt<unknown, unknown>,
  accept: Resolution['accept'],
  shown: Shown | null | undefined,
): Contradiction | KnownMoney {
  if (!shown)
    return accept
      ? { detail: 'The provider can’t be asked, and no evidence says what it moved: accept has nothing to equal.' }
      : { shown: null }
  const moved = `The provider moved ${shown.currency} ${shown.amountCents} (in cents)`
  if (accept && (accept.amountCents !== shown.amountCents || accept.currency !== shown.currency))
    return { detail: `${moved}, which is not what accept says.` }
  if (!accept && external.matches?.(attempt, shown) === false)
    return {
      detail: `${moved}, or for another order, which is not what this key asked for. Accept it to book it as such.`,
    }
  return { shown }
}

async function shownByEvidence(store: Pick<Store, 'query'>, recordId: string, ref: string): Promise<Shown | null> {
  const [row] = await store.query<{ shown: Shown | null }>(sql`
    SELECT detail->'shown' AS shown FROM evidence
    WHERE record_id = ${recordId} AND verdict = 'succeeded' AND detail->>'ref' = ${ref}
    ORDER BY created_at DESC, id DESC LIMIT 1`)
  return row?.shown ?? null
}

/** Null: it agrees, or can't be asked. */
function contradictionOf({ verdict, providerRef }: Resolution, said: LookUpVerdict): string | null {
  switch (said.kind) {
    case 'unreachable':
    case 'unfinished':
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
