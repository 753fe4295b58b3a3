// Who sends keys with other requests than they stand for, and where the two differ. Paths, never values.
import sql, { empty, type Sql } from 'sql-template-tag'
import { z } from 'zod'
import type { Store } from '../db/store'
import { endpointsNamed } from './endpoints'
import { instant } from './instant'
import { tenantNamed } from './tenant-named'

export const MisuseRow = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    tenantId: z.string(),
    endpoint: z.string(),
    key: z.string(),
    recordId: z.string(),
    changedPaths: z.array(z.string()).meta({
      description:
        '`$.items[0].quantity` in the body, `$params.id` in the path; empty where the first request is erased',
    }),
    requestId: z.string(),
  })
  .meta({ id: 'Misuse', description: 'A request whose key stands for another one' })
export type MisuseRow = z.infer<typeof MisuseRow>

export interface MisuseFilter {
  tenant?: string
  endpoint?: string
  recordId?: string
  /** From this instant on, and before that one. */
  from?: string
  to?: string
  /** Where they differ, whichever item of a list it is: `$.items[].quantity`. */
  path?: string
}

/** The same for every item of a list. */
export const anyItem = (path: Sql): Sql => sql`regexp_replace(${path}, '\\[[0-9]+\\]', '[]', 'g')`

export interface MisusePosition {
  at: string
  id: string
}

export interface MisusePage {
  limit: number
  after: MisusePosition | null
}

export async function listMisuse(
  store: Pick<Store, 'query'>,
  { tenant, endpoint, recordId, from, to, path, limit, after }: MisuseFilter & MisusePage,
): Promise<{ items: MisuseRow[]; next: MisusePosition | null }> {
  const rows = await store.query<Omit<MisuseRow, 'at'> & { at: Date }>(sql`
    SELECT m.id, m.at, m.tenant_id AS "tenantId", m.endpoint, m.key, m.record_id AS "recordId",
      m.changed_paths AS "changedPaths", m.request_id AS "requestId"
    FROM misuse m
    WHERE true
      ${tenant === undefined ? empty : sql`AND m.tenant_id = ${tenantNamed(tenant)}`}
      ${endpoint === undefined ? empty : sql`AND m.endpoint = ANY(${endpointsNamed(endpoint)}::text[])`}
      ${recordId === undefined ? empty : sql`AND m.record_id = ${recordId}`}
      ${from === undefined ? empty : sql`AND m.at >= ${from}::timestamptz`}
      ${to === undefined ? empty : sql`AND m.at < ${to}::timestamptz`}
      ${path === undefined ? empty : sql`AND EXISTS (SELECT FROM unnest(m.changed_paths) p WHERE ${anyItem(sql`p`)} = ${path})`}
      ${after ? sql`AND (m.at, m.id) < (${after.at}::timestamptz, ${after.id})` : empty}
    ORDER BY m.at DESC, m.id DESC LIMIT ${limit + 1}::int`)
  const items = rows.slice(0, limit).map((row) => ({ ...row, at: instant(row.at) }))
  const last = items.at(-1)
  return { items, next: rows.length > limit && last ? { at: last.at, id: last.id } : null }
}
