// What does not fit together: found by the ledger comparison or by contradicting evidence, open until a person has looked
// into it and said why it may be closed.
import sql, { empty, raw } from 'sql-template-tag'
import { z } from 'zod'
import { audited } from '../audit/append'
import type { Store } from '../db/store'
import type { Call } from '../operators/actor'
import { type Listed, listed, type Page } from '../operators/page'
import { type Refused, refuse } from '../operators/refusal'
import { instant } from './instant'

export const DISCREPANCY_STATES = ['open', 'closed', 'all'] as const

export const Discrepancy = z
  .object({
    id: z.string(),
    kind: z.string().meta({ example: 'contradicting_evidence' }),
    subject: z.string().meta({ description: 'What it is about; found again, it is still one' }),
    recordId: z.string().nullable(),
    detail: z.record(z.string(), z.unknown()),
    createdAt: z.iso.datetime(),
    closedAt: z.iso.datetime().nullable(),
    closedBy: z.object({ id: z.string(), name: z.string() }).nullable(),
    reason: z.string().nullable().meta({ description: 'Why it was closed' }),
  })
  .meta({ id: 'Discrepancy', description: 'What does not fit together' })
export type Discrepancy = z.infer<typeof Discrepancy>

export interface DiscrepancyRow {
  id: string
  kind: string
  subject: string
  record_id: string | null
  detail: Record<string, unknown>
  created_at: Date | string
  closed_at: Date | string | null
  closed_by: string | null
  closed_by_name: string | null
  reason: string | null
}

/** Of `discrepancies d`. */
export const DISCREPANCY_COLUMNS = raw(`
  d.id, d.kind, d.subject, d.record_id, d.detail, d.created_at, d.closed_at, d.closed_by, d.reason,
  coalesce((SELECT name FROM operators WHERE id = d.closed_by), (SELECT name FROM operator_tokens WHERE id = d.closed_by),
    d.closed_by) AS closed_by_name`)

export const toDiscrepancy = (row: DiscrepancyRow): Discrepancy => ({
  id: row.id,
  kind: row.kind,
  subject: row.subject,
  recordId: row.record_id,
  detail: row.detail,
  createdAt: instant(row.created_at),
  closedAt: row.closed_at && instant(row.closed_at),
  closedBy: row.closed_by === null ? null : { id: row.closed_by, name: row.closed_by_name ?? row.closed_by },
  reason: row.reason,
})

export interface DiscrepancyFilter {
  state: (typeof DISCREPANCY_STATES)[number]
  recordId?: string
}

const IN_STATE = {
  // word for word what the partial index says
  open: raw('d.closed_at IS NULL'),
  closed: raw('d.closed_at IS NOT NULL'),
  all: raw('true'),
}

export async function listDiscrepancies(
  store: Pick<Store, 'query'>,
  { state, recordId, limit, after }: DiscrepancyFilter & Page,
): Promise<Listed<Discrepancy>> {
  const rows = await store.query<DiscrepancyRow>(sql`
    SELECT ${DISCREPANCY_COLUMNS} FROM discrepancies d
    WHERE ${IN_STATE[state]} ${recordId === undefined ? empty : sql`AND d.record_id = ${recordId}`}
      ${after ? sql`AND (d.created_at, d.id) < (${after.createdAt}::timestamptz, ${after.id})` : empty}
    ORDER BY d.created_at DESC, d.id DESC LIMIT ${limit + 1}::int`)
  return listed(rows.map(toDiscrepancy), limit)
}

export async function closeDiscrepancy(
  store: Pick<Store, 'query'>,
  { actor, requestId }: Call,
  { id, reason }: { id: string; reason: string },
): Promise<Discrepancy | Refused> {
  const entry = { actor, requestId, action: 'discrepancy.close', target: id, reason, before: { open: true } }
  const [row] = await store.query<DiscrepancyRow>(sql`
    WITH d AS (
      UPDATE discrepancies SET closed_at = clock_timestamp(), closed_by = ${actor.id}, reason = ${reason}
      WHERE id = ${id} AND closed_at IS NULL
      RETURNING *
    ), ${audited(entry, sql`d`, sql`jsonb_build_object('open', false, 'kind', d.kind, 'recordId', d.record_id)`)}
    SELECT ${DISCREPANCY_COLUMNS} FROM d`)
  if (row) return toDiscrepancy(row)
  const known = await store.query(sql`SELECT 1 FROM discrepancies WHERE id = ${id}`)
  return refuse(known.length > 0 ? 'already_closed' : 'not_found')
}
