// A run as people read it: who asked by name, what the dry run before it had counted, and whether anybody still works
// on it.
import sql, { join, type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Counts, Group } from './daemon'
import type { RunCursor } from './run-history'
import { DEAD_AFTER_MS, DIES_WITH_ITS_NODE, RUN_COLUMNS, type Run, type RunKind, type RunState } from './runs'

/** A count that is older is none that anybody had in mind. */
const PREVIEW_MINUTES = 10

export interface RunView extends Run {
  /** Null where it was the schedule. */
  by: string | null
  /** The last dry run of its kind, shortly before somebody asked for this one. */
  previewed: { id: string; done: number; counts: Counts } | null
  /** Of a dry run; the tenants by name. */
  groups: RunGroup[]
  /** Somebody has asked for its end. */
  stopping: boolean
  /** Running, and without a word from its node for so long that there is none any more. */
  lost: boolean
}

export type RunGroup = Omit<Group, 'tenants'> & { tenants: { id: string; name: string; count: number }[] }

const NAME = sql`coalesce((SELECT name FROM operators o WHERE o.id = runs.requested_by),
  (SELECT name FROM operator_tokens t WHERE t.id = runs.requested_by), runs.requested_by)`

const PREVIEW = sql`(
  SELECT json_build_object('id', p.id, 'done', p.done, 'counts', p.counts) FROM runs p
  WHERE NOT runs.dry_run AND NOT runs.scheduled AND p.kind = runs.kind AND p.dry_run AND p.state = 'succeeded'
    AND p.started_at < runs.started_at AND p.started_at > runs.started_at - ${PREVIEW_MINUTES}::int * interval '1 minute'
  ORDER BY p.started_at DESC LIMIT 1)`

const GROUPS = sql`coalesce((
  SELECT jsonb_agg(g || jsonb_build_object('tenants', (
    SELECT coalesce(jsonb_agg(t || jsonb_build_object('name',
      coalesce((SELECT name FROM tenants n WHERE n.id = t ->> 'id'), t ->> 'id'))), '[]')
    FROM jsonb_array_elements(g -> 'tenants') t)))
  FROM jsonb_array_elements(runs.groups) g), '[]')`

const UNHEARD = sql`runs.heartbeat_at < clock_timestamp() - ${DEAD_AFTER_MS}::float8 * interval '1 ms'`
const LOST = sql`(runs.state = 'running' AND ${DIES_WITH_ITS_NODE} AND ${UNHEARD})`

/** Of `runs`. */
export const RUN_VIEW: Sql = sql`${RUN_COLUMNS}, CASE WHEN scheduled THEN NULL ELSE ${NAME} END AS by,
  ${PREVIEW} AS previewed, ${GROUPS} AS groups, abort_requested AS stopping, ${LOST} AS lost`

export interface RunViewFilter {
  kind?: RunKind
  state?: RunState
  /** Asked for by a person or a script, or by the schedule. */
  asked?: boolean
  dryRun?: boolean
  /** Those of the schedule that found nothing to do, too. */
  idle?: boolean
}

export async function listRunViews(
  store: Pick<Store, 'query'>,
  filter: RunViewFilter,
  page: { limit: number; after: RunCursor | null },
): Promise<{ items: RunView[]; next: RunCursor | null }> {
  const conditions: Sql[] = [sql`true`]
  if (filter.kind) conditions.push(sql`kind = ${filter.kind}`)
  if (filter.state) conditions.push(sql`state = ${filter.state}::run_state`)
  if (filter.asked !== undefined) conditions.push(sql`scheduled <> ${filter.asked}::boolean`)
  if (filter.dryRun !== undefined) conditions.push(sql`dry_run = ${filter.dryRun}::boolean`)
  if (!filter.idle) conditions.push(sql`NOT (scheduled AND done = 0 AND state IN ('running', 'succeeded'))`)
  if (page.after)
    conditions.push(sql`(started_at, id) < (${page.after.startedAt}::timestamptz, ${page.after.id}::text)`)
  const rows = await store.query<RunView>(sql`
    SELECT ${RUN_VIEW} FROM runs WHERE ${join(conditions, ' AND ')}
    ORDER BY started_at DESC, id DESC LIMIT ${page.limit + 1}::int`)
  const items = rows.slice(0, page.limit)
  const last = items.at(-1)
  const next = rows.length > page.limit && last ? { startedAt: last.startedAt.toISOString(), id: last.id } : null
  return { items, next }
}

export async function findRunView(store: Pick<Store, 'query'>, id: string): Promise<RunView | null> {
  const [row] = await store.query<RunView>(sql`SELECT ${RUN_VIEW} FROM runs WHERE id = ${id}`)
  return row ?? null
}
