// The audit log as people read it: newest first, by who, what, to what, and whether it was allowed.
import sql, { empty, join, type Sql } from 'sql-template-tag'
import { z } from 'zod'
import type { Store } from '../db/store'

export const AUDIT_OUTCOMES = ['done', 'forbidden'] as const

export const AuditEntry = z
  .object({
    seq: z.int().meta({ description: 'Its number; without gaps' }),
    at: z.iso.datetime(),
    actorId: z.string(),
    actorName: z.string().meta({ description: 'As it was called then' }),
    action: z.string().meta({ example: 'key.resolve' }),
    target: z.string().nullable().meta({ description: 'The id of what it was done to' }),
    outcome: z.enum(AUDIT_OUTCOMES),
    count: z.int().meta({
      description: 'Of a refusal: how often the actor was refused this action in that minute; otherwise 1',
    }),
    reason: z.string().nullable(),
    before: z.unknown(),
    after: z.unknown(),
    requestId: z.string(),
    hash: z.string().meta({ description: 'SHA-256 over the hash before it and this entry, in hexadecimal' }),
  })
  .meta({ id: 'AuditEntry', description: 'Who did what, to what and why' })
export type AuditEntry = z.infer<typeof AuditEntry>

export interface AuditFilter {
  /** An id, or a name or e-mail address that somebody has now. */
  actor?: string
  action?: string
  target?: string
  outcome?: (typeof AUDIT_OUTCOMES)[number]
}

export interface AuditPage {
  limit: number
  /** The number of the last entry that was shown. */
  after: { seq: number } | null
}

type Row = Omit<AuditEntry, 'seq' | 'at'> & { seq: string; at: Date }

export async function listAudit(
  store: Pick<Store, 'query'>,
  { actor, action, target, outcome, limit, after }: AuditFilter & AuditPage,
): Promise<{ items: AuditEntry[]; next: { seq: number } | null }> {
  const conditions = [
    action === undefined ? empty : sql`AND e.action = ${action}`,
    target === undefined ? empty : sql`AND e.target = ${target}`,
    outcome === undefined ? empty : sql`AND e.outcome = ${outcome}`,
    after ? sql`AND e.seq < ${after.seq}::bigint` : empty,
  ]
  const newest = (whose: Sql): Sql => sql`
    SELECT e.* FROM audit_entries e WHERE ${whose} ${join(conditions, ' ')} ORDER BY e.seq DESC LIMIT ${limit + 1}::int`
  // For each id its own walk of the index: a name may be that of several.
  const from =
    actor === undefined
      ? sql`(${newest(sql`true`)}) e`
      : sql`(${actorsNamed(actor)}) a (id), LATERAL (${newest(sql`e.actor_id = a.id`)}) e`
  const rows = await store.query<Row>(sql`
    SELECT e.seq, e.at, e.actor_id AS "actorId", e.actor_name AS "actorName", e.action, e.target, e.outcome,
      coalesce(r.count, 1) AS count, e.reason, e.before, e.after, e.request_id AS "requestId", encode(e.hash, 'hex') AS hash
    FROM ${from} LEFT JOIN audit_refusals r
      ON e.outcome = 'forbidden' AND (r.actor_id, r.action, r.minute) = (e.actor_id, e.action, e.after ->> 'minute')
    ORDER BY e.seq DESC LIMIT ${limit + 1}::int`)
  const items = rows.slice(0, limit).map((row) => ({ ...row, seq: Number(row.seq), at: row.at.toISOString() }))
  const last = items.at(-1)
  return { items, next: rows.length > limit && last ? { seq: last.seq } : null }
}

const actorsNamed = (name: string): Sql => sql`
  SELECT ${name} UNION SELECT id FROM operators WHERE name = ${name} OR email = ${name}
  UNION SELECT id FROM operator_tokens WHERE name = ${name}`
