// An accepted request that no worker began before its key ran out ends with a stored answer: nothing happened, and nothing
// will.
import type { Boundary } from './boundary'
import { mayBeLost } from './lost-effects'
import type { AnyOperation } from './operation'
import type { KeyRecord } from './record'
import { settle } from './store/settle'

/** False when it was not abandoned: taken up meanwhile, not past its time, or executed before a restore. */
export async function abandon(
  boundary: Pick<Boundary, 'store' | 'observe' | 'step' | 'lostEffects' | 'requestExpired'>,
  operation: AnyOperation,
  record: KeyRecord,
  by: string,
): Promise<boolean> {
  if (record.state !== 'pending' || !record.pastExpiry || !record.resource) return false
  if (await mayBeLost(boundary, record)) return false
  const { id: recordId, attempt, resource } = record
  const settled = await settle(boundary, operation, {
    recordId,
    attempt,
    from: 'pending',
    settlement: { answer: boundary.requestExpired },
    event: { event: 'abandoned', by },
    also: async (tx) => operation.lapse?.(tx, [resource.id]),
  })
  return settled !== null
}
