// What the provider itself reports is evidence of the same standing as a late owner's result or a look-up: kept with
// the event's id, so that it counts once, and applied by the one rule.
import sql, { type Sql } from 'sql-template-tag'
import type { Boundary } from '../idempotency/boundary'
import { type Applied, applyEvidence } from '../idempotency/evidence'
import type { AnyOperation } from '../idempotency/operation'
import { recordIdOf } from '../idempotency/record'
import type { EffectKind, ProviderEvent } from '../payments/gateway'

/** What a key that stands for such an effect was reserved for. An event of another kind does not speak of it. */
const RESOURCES: Record<EffectKind, string> = { charge: 'order', refund: 'refund' }

export async function applyProviderEvent(
  boundary: Boundary,
  operations: ReadonlyMap<string, AnyOperation>,
  event: ProviderEvent,
): Promise<Applied | 'not_ours'> {
  const recordId = recordIdOf(event.providerKey)
  if (!recordId) return 'not_ours'
  await boundary.step?.('told')
  const { kind, providerRef: ref } = event.outcome
  return applyEvidence(boundary, operations, {
    recordId,
    source: 'webhook',
    sourceId: event.id,
    attempt: null,
    executed: { kind, ref },
    about: RESOURCES[event.effect],
    booked: isBooked(ref),
  })
}

/** The ledger outlives the record: what it has is no news. */
export const isBooked = (ref: string): Sql =>
  sql`EXISTS (SELECT 1 FROM ledger_entries WHERE provider_ref = ${ref} AND status = 'succeeded')`
