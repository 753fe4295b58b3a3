// After a restore: what the provider did for keys whose records the database has lost. It is listed once, before any
// attempt begins, and is then the outcome of the record that has the key now. Sent with another request, or with other
// money, it is left to a person.
import type { Boundary } from './boundary'
import { keyDigestOf } from './fingerprint'
import { type AnyOperation, type Attempt, differenceOf, type LookUpVerdict, type Shown } from './operation'
import type { KeyRecord } from './record'

export interface LostEffect {
  ref: string
  /** Of the request that it was sent for. */
  fingerprint: string
  /** When it was listed. */
  status: 'succeeded' | 'failed' | 'pending'
  shown: Shown
}

export interface LostEffects {
  /** 0 when all are listed. Until then no attempt may begin; about so long it takes. */
  listedInMs(): Promise<number>
  /** None that another record has booked. */
  find(attempt: { recordId: string; keyDigest: string }): Promise<LostEffect | null>
}

export const listedInMs = async ({ lostEffects }: Pick<Boundary, 'lostEffects'>): Promise<number> =>
  (await lostEffects?.listedInMs()) ?? 0

/** Whether something may have been executed for the key, for a record that was lost or before this one was restored. */
export const mayBeLost = async (boundary: Pick<Boundary, 'lostEffects'>, record: KeyRecord): Promise<boolean> =>
  (await listedInMs(boundary)) > 0 ||
  Boolean(await boundary.lostEffects?.find({ recordId: record.id, keyDigest: keyDigestOf(record) }))

/** Null where nothing was lost for this key. */
export async function lookUpLost(
  { lostEffects }: Pick<Boundary, 'lostEffects'>,
  operation: AnyOperation,
  attempt: Attempt<unknown, unknown>,
): Promise<LookUpVerdict | null> {
  const effect = await lostEffects?.find(attempt)
  if (!effect) return null
  const now = effect.status === 'pending' ? await operation.external.findByRef?.(effect.ref) : null
  const { status, shown } = now?.kind === 'found' ? now : effect
  if (status === 'pending') return { kind: 'pending' }
  const kind = status === 'succeeded' ? 'succeeded' : 'declined'
  // It names the order that was lost with its record.
  const executed = { kind, ref: effect.ref, shown: { ...shown, orderId: null } } as const
  const differs = effect.fingerprint !== attempt.fingerprint || differenceOf(operation, attempt, executed) !== null
  return differs ? { ...executed, shown, restoredDiffers: true } : executed
}
