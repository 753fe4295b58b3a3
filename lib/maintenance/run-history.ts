// Reading runs: the list, newest first, and what became of each key of a bulk run.
import sql, { join, type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Outcome } from './bulk'
import { RUN_COLUMNS, type Run, type RunKind, type RunState } from './runs'

export interface RunFilter {
  kind?: RunKind
  state?: RunState
  dryRun?: boolean
}

/** The last run of a page; the next one begins after it. */
export interface RunCursor {
  startedAt: string
  id: string
}

export async function listRuns(
  store: Pick<Store, 'query'>,
  filter: RunFilter,
  page: { limit: number; after: RunCursor | null },
): Promise<{ items: Run[]; next: RunCursor | null }> {
  const conditions: Sql[] = [sql`true`]
  if (filter.kind) conditions.push(sql`kind = ${filter.kind}`)
  if (filter.state) conditions.push(sql`state = ${filter.state}::run_state`)
  if (filter.dryRun !== undefined) conditions.push(sql`dry_run = ${filter.dryRun}::boolean`)
  if (page.after)
    conditions.push(sql`(started_at, id) < (${page.after.startedAt}::timestamptz, ${page.after.id}::text)`)
  const rows = await store.query<Run>(sql`
    SELECT ${RUN_COLUMNS} FROM runs WHERE ${join(conditions, ' AND ')}
    ORDER BY started_at DESC, id DESC LIMIT ${page.limit + 1}::int`)
  const items = rows.slice(0, page.limit)
  const last = items.at(-1)
  const next = rows.length > page.limit && last ? { startedAt: last.startedAt.toISOString(), id: last.id } : null
  return { items, next }
}

export interface RunItem {
  position: number
  recordId: string
  /** Null while it is not done. */
  outcome: Outcome | null
  doneAt: Date | null
}

export async function listRunItems(
  store: Pick<Store, 'query'>,
  runId: string,
  page: { limit: number; after: number },
): Promise<{ items: RunItem[]; next: number | null }> {
  const rows = await store.query<RunItem>(sql`
    SELECT position, record_id AS "recordId", outcome, done_at AS "doneAt" FROM run_items
    WHERE run_id = ${runId} AND position > ${page.after}::int ORDER BY position LIMIT ${page.limit + 1}::int`)
  const items = rows.slice(0, page.limit)
  return { items, next: rows.length > page.limit ? items.at(-1)!.position : null }
}
