// Reversing a booking that only a person's verdict made, such as one with the reference of another key. The entry and its
// reversing entry stop to count, and the reference is free. The answer that was stored and the order stay as they are:
// that they say "paid" without a charge is a discrepancy, and open until a person has seen to it.
import sql from 'sql-template-tag'
import { audited } from '../audit/append'
import { newId } from '../db/id'
import type { Store } from '../db/store'
import type { AnyOperation, FoundByRef } from '../idempotency/operation'
import { providerKeyOf } from '../idempotency/record'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'
import { PLACE_ORDER } from '../orders/place-order'
import { REFUND_ORDER } from '../orders/refund-order'
import type { Reconciliation } from './reconcile'

export interface LedgerEntryView {
  id: string
  kind: 'charge' | 'refund'
  status: 'succeeded' | 'failed'
  orderId: string
  recordId: string | null
  amountCents: number
  currency: string
  providerRef: string
  reversalOf: string | null
  createdAt: string
}

interface Booking {
  kind: 'charge' | 'refund'
  ref: string
  record_id: string | null
  counts: boolean
  /** A person's verdict brought this reference, and nothing of the provider's did. */
  by_verdict: boolean
}

export async function reverseEntry(
  { boundary: { store }, operations }: Pick<Reconciliation, 'boundary' | 'operations'>,
  call: Call,
  { id, reason }: { id: string; reason: string },
): Promise<LedgerEntryView | Refused> {
  const [booking] = await store.query<Booking>(sql`
    SELECT l.kind, l.provider_ref AS ref, l.record_id, l.reversed_at IS NULL AS counts,
      EXISTS (${evidenceFor(sql`e.source = 'operator' AND e.detail->>'provider' IS DISTINCT FROM e.verdict`)})
        AND NOT EXISTS (${evidenceFor(sql`e.source <> 'operator'`)})
        AS by_verdict
    FROM ledger_entries l WHERE l.id = ${id}`)
  if (!booking) return refuse('not_found')
  if (!booking.counts) return refuse('not_reversible', { detail: 'It is reversed already, or reverses another one.' })
  if (!booking.by_verdict || (await isProviders(operations, booking)))
    return refuse('not_reversible', { detail: 'The provider itself has confirmed it.' })
  return (await write(store, call, { id, reason })) ?? refuse('not_reversible', { detail: 'It is reversed already.' })
}

const evidenceFor = (what: ReturnType<typeof sql>) => sql`
  SELECT 1 FROM evidence e WHERE e.record_id = l.record_id AND e.detail->>'ref' = l.provider_ref AND ${what}`

/** Asked now: it may know by now what it could not be asked about then. */
async function isProviders(operations: ReadonlyMap<string, AnyOperation>, { kind, ref, record_id }: Booking) {
  const endpoint = kind === 'charge' ? PLACE_ORDER : REFUND_ORDER
  const found: FoundByRef = (await operations.get(endpoint)?.external.findByRef?.(ref)) ?? { kind: 'unreachable' }
  return found.kind === 'found' && record_id !== null && found.providerKey === providerKeyOf(record_id)
}

async function write(
  store: Store,
  call: Call,
  { id, reason }: { id: string; reason: string },
): Promise<LedgerEntryView | null> {
  const entry = { ...call, action: 'ledger.reverse', target: id, reason }
  const [row] = await store.query<
    Omit<LedgerEntryView, 'amountCents' | 'createdAt'> & { amount: string; at: Date }
  >(sql`
    WITH taken_back AS (
      UPDATE ledger_entries SET reversed_at = clock_timestamp() WHERE id = ${id} AND reversed_at IS NULL RETURNING *
    ), reversing AS (
      INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, record_id, amount_cents, currency, provider_ref,
        reversal_of, reversed_at)
      SELECT ${newId('pay')}, kind, status, tenant_id, order_id, record_id, amount_cents, currency, provider_ref, id, reversed_at
      FROM taken_back RETURNING *
    ), opened AS (
      INSERT INTO discrepancies (id, kind, subject, record_id, detail)
      SELECT ${newId('dis')}, 'paid_without_charge', id, record_id,
        jsonb_build_object('reversed', true, 'ledger', jsonb_build_object('ref', provider_ref, 'kind', kind,
          'orderId', order_id, 'amountCents', amount_cents, 'currency', currency, 'bookedAt', created_at))
      FROM taken_back
      ON CONFLICT (kind, subject) DO NOTHING
    ), ${audited(
      entry,
      sql`reversing r`,
      sql`jsonb_build_object('reversedBy', r.id)`,
      sql`jsonb_build_object('providerRef', r.provider_ref, 'recordId', r.record_id)`,
    )}
    SELECT id, kind, status, order_id AS "orderId", record_id AS "recordId", amount_cents AS amount, currency,
      provider_ref AS "providerRef", reversal_of AS "reversalOf", created_at AS at
    FROM reversing`)
  if (!row) return null
  const { amount, at, ...shown } = row
  return { ...shown, amountCents: Number(amount), createdAt: at.toISOString() }
}
