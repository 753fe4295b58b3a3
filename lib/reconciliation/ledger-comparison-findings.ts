// What a comparison found. A finding is a row that stays open until somebody closes it; found again, it is the same
// row, also when it was closed.
import sql from 'sql-template-tag'
import { newId } from '../db/id'
import type { Store } from '../db/store'
import type { Batch } from '../maintenance/daemon'

type FindingKind =
  /** Money moved at the provider, and no order of ours has it. */
  | 'charge_without_order'
  /** We booked it, and the provider has no such thing. */
  | 'paid_without_charge'
  | 'amount_differs'
  | 'currency_differs'
  /** A further one beside another of the same key. */
  | 'duplicate_charge'

export interface Finding {
  kind: FindingKind
  /** The provider's reference: one finding of a kind for each. */
  subject: string
  recordId: string | null
  detail: Record<string, unknown>
}

/** Those that were not known yet, by kind. In a dry run: those that would be filed. */
export async function fileFindings(store: Store, findings: readonly Finding[], dryRun: boolean): Promise<Batch> {
  if (findings.length === 0) return { counts: {}, ids: [] }
  const given = sql`unnest(
    ${findings.map(() => newId('dis'))}::text[], ${findings.map(({ kind }) => kind)}::text[],
    ${findings.map(({ subject }) => subject)}::text[], ${findings.map(({ recordId }) => recordId)}::text[],
    ${findings.map(({ detail }) => JSON.stringify(detail))}::jsonb[]) AS f (id, kind, subject, record_id, detail)`
  const fresh = await store.query<{ kind: FindingKind; subject: string; record_id: string | null }>(
    dryRun
      ? sql`
        SELECT f.kind, f.subject, f.record_id FROM ${given}
        WHERE NOT EXISTS (SELECT 1 FROM discrepancies d WHERE d.kind = f.kind AND d.subject = f.subject)`
      : sql`
        INSERT INTO discrepancies (id, kind, subject, record_id, detail) SELECT f.* FROM ${given}
        ON CONFLICT (kind, subject) DO NOTHING RETURNING kind, subject, record_id`,
  )
  const counts: Batch['counts'] = {}
  for (const { kind } of fresh) counts[kind] = (counts[kind] ?? 0) + 1
  return { counts, ids: fresh.map(({ record_id, subject }) => record_id ?? subject) }
}
