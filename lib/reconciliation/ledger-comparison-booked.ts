// From our ledger to the provider's list: did everything that we booked happen? A row whose provider object can only
// have been made in the time that was listed is judged by the list. A record that was found out about late has its
// object from before that time; it is asked for by its key, and not judged where there is none to ask by.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { providerKeyOf } from '../idempotency/record'
import type { Effected, EffectKind, Gateway } from '../payments/gateway'
import type { Finding } from './ledger-comparison-findings'
import type { SeenSet } from './ledger-comparison-seen'
import { CLOCK_MARGIN_MS, type Window } from './ledger-comparison-window'

const PAGE = 1000

interface Missing {
  ref: string
  kind: EffectKind
  recordId: string | null
  orderId: string
  amountCents: string
  currency: string
  bookedAt: Date
  reservedAt: Date
  paymentMethod: string
  reason: string | null
  chargeRef: string | null
}

export interface BookedPage {
  compared: number
  /** Could not be asked about, or the answer proves nothing. */
  unconfirmed: number
  findings: Finding[]
}

export async function* compareBooked(
  store: Store,
  gateway: Gateway,
  window: Window,
  listed: SeenSet,
): AsyncIterable<BookedPage> {
  let after = { at: window.from, id: '' }
  for (;;) {
    const rows = await store.query<{ id: string; ref: string; at: Date }>(sql`
      SELECT id, provider_ref AS ref, created_at AS at FROM ledger_entries
      WHERE status = 'succeeded' AND reversed_at IS NULL AND created_at >= ${window.from} AND created_at < ${window.to}
        AND (created_at, id) > (${after.at}, ${after.id})
      ORDER BY created_at, id LIMIT ${PAGE}::int`)
    const missing = rows.filter(({ ref }) => !listed.has(ref)).map(({ id }) => id)
    const page: BookedPage = { compared: rows.length, unconfirmed: 0, findings: [] }
    for (const row of await detailsOf(store, missing)) {
      const verdict = isListed(row, window) ? 'absent' : await askFor(gateway, row)
      if (verdict === 'absent') page.findings.push(paidWithoutCharge(row))
      else if (verdict === 'not_told') page.unconfirmed += 1
      else page.findings.push(...differencesTo(row, verdict))
    }
    yield page
    if (rows.length < PAGE) return
    after = rows.at(-1)!
  }
}

/** If there were such an object, the list would have it: it is made after the reservation, and before it is booked. */
const isListed = ({ reservedAt }: Missing, { listed }: Window): boolean =>
  reservedAt.getTime() - CLOCK_MARGIN_MS >= listed.from.getTime()

async function askFor(gateway: Gateway, row: Missing): Promise<Effected | 'absent' | 'not_told'> {
  if (!row.recordId) return 'not_told'
  const { kind, reservedAt, bookedAt: until, paymentMethod, reason } = row
  const chargeRef = row.chargeRef ?? undefined
  const request = {
    kind,
    providerKey: providerKeyOf(row.recordId),
    reservedAt,
    until,
    chargeRef,
    paymentMethod,
    reason,
  }
  let found = await gateway.lookUp(request)
  while (found.kind === 'unfinished') found = await gateway.lookUp({ ...request, progress: found.progress })
  if (found.kind === 'not_found' || found.kind === 'declined') return 'absent'
  // With two charges of one key a look-up tells of one of them, which need not be ours.
  return found.kind === 'succeeded' && found.providerRef === row.ref ? found : 'not_told'
}

function differencesTo(row: Missing, { amountCents, currency, orderId }: Effected): Finding[] {
  const findings: Finding[] = []
  const detail = { ...ledgerOf(row), provider: { ref: row.ref, kind: row.kind, amountCents, currency, orderId } }
  const found = (kind: Finding['kind']) => findings.push({ kind, subject: row.ref, recordId: row.recordId, detail })
  if (Number(row.amountCents) !== amountCents) found('amount_differs')
  if (row.currency !== currency) found('currency_differs')
  return findings
}

async function detailsOf(store: Store, ids: readonly string[]): Promise<Missing[]> {
  if (ids.length === 0) return []
  return store.query<Missing>(sql`
    SELECT l.provider_ref AS ref, l.kind, l.record_id AS "recordId", l.order_id AS "orderId",
      l.amount_cents AS "amountCents", l.currency, l.created_at AS "bookedAt",
      coalesce(f.created_at, o.created_at) AS "reservedAt", o.payment_method AS "paymentMethod", f.reason,
      CASE l.kind WHEN 'refund' THEN (
        SELECT c.provider_ref FROM ledger_entries c
        WHERE c.order_id = l.order_id AND c.kind = 'charge' AND c.status = 'succeeded'
          AND c.reversal_of IS NULL) END AS "chargeRef"
    FROM ledger_entries l
    JOIN orders o ON o.id = l.order_id
    -- nodes of the first release wrote the reference into the ledger only: their refunds are known by the record
    LEFT JOIN refunds f ON l.kind = 'refund' AND f.order_id = l.order_id
      AND (f.provider_ref = l.provider_ref OR f.provider_ref IS NULL AND f.record_id = l.record_id)
    WHERE l.id = ANY(${ids}::text[])`)
}

function paidWithoutCharge(row: Missing): Finding {
  return { kind: 'paid_without_charge', subject: row.ref, recordId: row.recordId, detail: ledgerOf(row) }
}

function ledgerOf({ ref, kind, orderId, currency, bookedAt, amountCents }: Missing) {
  return { ledger: { ref, kind, orderId, amountCents: Number(amountCents), currency, bookedAt } }
}
