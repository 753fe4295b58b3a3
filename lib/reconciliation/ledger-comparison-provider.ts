// From the provider's list to our ledger: is there a reason for every charge and refund that it has? An entry, its
// ledger row and its record are judged as one statement saw them, so nobody who settles meanwhile can be caught halfway.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { recordIdOf } from '../idempotency/record'
import type { State } from '../idempotency/states'
import type { EffectKind, ProviderEntry } from '../payments/gateway'
import type { Finding } from './ledger-comparison-findings'

/** An entry that carries a key is ours to explain; anything else in the account was made by somebody else. */
export type OurEntry = ProviderEntry & { providerKey: string }

export const isOurs = (entry: ProviderEntry): entry is OurEntry =>
  entry.status === 'succeeded' && entry.providerKey !== null

/** It may still become one. */
export const isUndecided = (entry: ProviderEntry): entry is OurEntry =>
  entry.status === 'pending' && entry.providerKey !== null

export type Judgement =
  /** Its record is still being worked on, or found out about: reconciliation's business. */
  | { kind: 'left_out' }
  /** It was taken for not executed: the charge itself is the evidence that it was. */
  | { kind: 'evidence'; recordId: string }
  /** `unexplained`: we booked nothing for its key; another entry of the same key would make it a duplicate, too. */
  | { kind: 'found'; findings: Finding[]; unexplained: boolean }

interface Row {
  ref: string
  record_id: string | null
  state: State | null
  status: 'succeeded' | 'failed' | null
  amount_cents: string | null
  currency: string | null
  order_id: string | null
  own_ref: string | null
}

/** The entries that our ledger does not have as they are, each with what that means. */
export async function judgeEntries(
  store: Store,
  entries: readonly OurEntry[],
): Promise<{ entry: OurEntry; judgement: Judgement }[]> {
  if (entries.length === 0) return []
  const rows = await store.query<Row>(sql`
    SELECT e.ref, e.record_id, r.state, l.status, l.amount_cents, l.currency, l.order_id, own.provider_ref AS own_ref
    FROM unnest(
      ${entries.map(({ ref }) => ref)}::text[], ${entries.map(({ providerKey }) => recordIdOf(providerKey))}::text[],
      ${entries.map(({ kind }) => kind)}::ledger_kind[], ${entries.map(({ amountCents }) => amountCents)}::bigint[],
      ${entries.map(({ currency }) => currency)}::text[]) AS e (ref, record_id, kind, amount_cents, currency)
    LEFT JOIN ledger_entries l ON l.provider_ref = e.ref AND l.reversed_at IS NULL
    LEFT JOIN idempotency_records r ON r.id = e.record_id
    LEFT JOIN ledger_entries own ON own.record_id = e.record_id AND own.kind = e.kind AND own.status = 'succeeded'
      AND own.reversed_at IS NULL
    WHERE l.id IS NULL OR l.status <> 'succeeded' OR l.amount_cents <> e.amount_cents OR l.currency <> e.currency`)
  const byRef = new Map(entries.map((entry) => [entry.ref, entry]))
  return rows.map((row) => {
    const entry = byRef.get(row.ref)!
    return { entry, judgement: judge(entry, row) }
  })
}

function judge(entry: OurEntry, row: Row): Judgement {
  if (row.status === 'succeeded') return { kind: 'found', findings: differences(entry, row), unexplained: false }
  switch (row.state) {
    case 'pending':
    case 'in_progress':
    case 'unknown':
      return { kind: 'left_out' }
    case 'failed_retryable':
      return { kind: 'evidence', recordId: row.record_id! }
    // Final, deleted, or never there: nobody will explain it any more.
    case 'completed':
    case 'expired':
    case null: {
      const kind = row.own_ref ? 'duplicate_charge' : 'charge_without_order'
      return { kind: 'found', findings: [finding(kind, entry, row)], unexplained: !row.own_ref }
    }
  }
}

function differences(entry: OurEntry, row: Row): Finding[] {
  const found: Finding[] = []
  if (Number(row.amount_cents) !== entry.amountCents) found.push(finding('amount_differs', entry, row))
  if (row.currency !== entry.currency) found.push(finding('currency_differs', entry, row))
  return found
}

export function finding(kind: Finding['kind'], entry: OurEntry, row: Partial<Row> = {}): Finding {
  const { ref, providerKey, kind: effect, amountCents, currency, createdAt } = entry
  return {
    kind,
    subject: ref,
    recordId: recordIdOf(providerKey),
    detail: {
      provider: { ref, providerKey, kind: effect satisfies EffectKind, amountCents, currency, createdAt },
      ledger: row.status
        ? { status: row.status, amountCents: Number(row.amount_cents), currency: row.currency, orderId: row.order_id }
        : null,
      state: row.state ?? null,
      bookedRef: row.own_ref ?? null,
    },
  }
}
