// An accepted request that nobody took up before its key ran out ends with a stored answer, so that its client is
// told once and for all that nothing happened and nothing will.
import type { Boundary } from './boundary'
import { mayBeLost } from './lost-effects'
import type { AnyOperation, Input } from './operation'
import { type KeyRecord, providerKeyOf } from './record'
import { settle } from './sql/settle'

/** False when it was not abandoned: taken up meanwhile, not past its time, or executed before a restore. */
export async function abandon(
  boundary: Pick<Boundary, 'store' | 'observe' | 'step' | 'lostEffects'>,
  operation: AnyOperation,
  found: { record: KeyRecord; input: Input },
  by: string,
): Promise<boolean> {
  const { store, observe, step } = boundary
  const { record, input } = found
  if (record.state !== 'pending' || !record.pastExpiry || !record.resource) return false
  if (await mayBeLost(boundary, record)) return false
  const { id: recordId, tenantId, endpoint, resource, createdAt, attempt } = record
  const settlement = operation.abandon({
    recordId,
    tenantId,
    number: attempt,
    createdAt,
    resource,
    input,
    providerKey: providerKeyOf(recordId),
  })
  const event = { event: 'abandoned', by } as const
  const settled = await settle(store, { recordId, attempt, from: ['pending'], settlement, event })
  if (!settled) return false
  await step?.('settled')
  observe?.({ kind: 'moved', from: 'pending', to: 'completed', endpoint, tenantId })
  return true
}
