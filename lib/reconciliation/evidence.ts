// What the provider itself reports is evidence of the same standing as a late owner's result or a look-up: kept with
// the event's id, so that it counts once, and applied by the one rule.
import sql from 'sql-template-tag'
import type { Tx } from '../db/store'
import type { Boundary } from '../idempotency/boundary'
import { type Applied, applyEvidence } from '../idempotency/evidence'
import type { Operations } from '../idempotency/operation'
import { recordIdOf } from '../idempotency/record'
import { shownBy } from '../orders/provider-words'
import type { Effected, ProviderEvent } from '../payments/gateway'

export async function applyProviderEvent(
  boundary: Boundary,
  operations: Operations,
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
    executed: { kind, ref, shown: shownBy(event.outcome) },
    booked: isBooked(ref),
    bookedOtherwise: isBookedOtherwise(event.outcome),
  })
}

/** The ledger outlives the record: what it has is no news. */
export const isBooked =
  (ref: string) =>
  async (tx: Tx): Promise<boolean> => {
    const rows = await tx.query(sql`
      SELECT 1 FROM ledger_entries WHERE provider_ref = ${ref} AND status = 'succeeded' AND reversed_at IS NULL`)
    return rows.length > 0
  }

/** The ledger has it with other money. The record is not compared: it may have forgotten what it stood for. */
export const isBookedOtherwise =
  ({ providerRef, effect, amountCents, currency }: Omit<Effected, 'orderId'>) =>
  async (tx: Tx): Promise<boolean> => {
    const rows = await tx.query(sql`
      SELECT 1 FROM ledger_entries
      WHERE provider_ref = ${providerRef} AND status = 'succeeded' AND reversed_at IS NULL
        AND (kind, amount_cents, currency) IS DISTINCT FROM
          (${effect}::ledger_kind, ${amountCents}::bigint, ${currency}::char(3))`)
    return rows.length > 0
  }
