// How each daemon stands: when it ran last and runs next, what its last runs came to, what is under way.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { DAEMONS, type DaemonKind } from './daemon'
import { RUN_VIEW, type RunView } from './run-view'

const CHARTED = 30

/** What a run came to, for a chart. */
export interface RunBar {
  id: string
  done: number
  failed: boolean
}

export interface DaemonStatus {
  kind: DaemonKind
  /** 0: only when a person asks. */
  intervalMs: number
  /** Null while no node has ever run it by schedule. */
  nextRunAt: Date | null
  /** The last one that ended; dry runs change nothing and are none. */
  last: RunView | null
  running: RunView | null
  /** The last dry run that ended. */
  dryRun: RunView | null
  /** The last ones that ended, the oldest first. */
  bars: RunBar[]
}

type Row = Omit<DaemonStatus, 'intervalMs' | 'last' | 'running' | 'dryRun'> &
  Record<'last' | 'under_way' | 'dry', string>

export async function daemonStatuses(
  store: Pick<Store, 'query'>,
  intervals: ReadonlyMap<DaemonKind, number>,
): Promise<DaemonStatus[]> {
  const rows = await store.query<Row>(sql`
    SELECT k.kind, s.next_run_at AS "nextRunAt",
      (SELECT id FROM runs WHERE kind = k.kind AND NOT dry_run AND state = 'running' ORDER BY heartbeat_at DESC LIMIT 1)
        AS under_way,
      (SELECT id FROM runs WHERE kind = k.kind AND dry_run AND state = 'succeeded' ORDER BY started_at DESC LIMIT 1)
        AS dry,
      coalesce((
        SELECT json_agg(json_build_object('id', b.id, 'done', b.done, 'failed', b.state = 'failed') ORDER BY b.started_at)
        FROM (
          SELECT id, done, state, started_at FROM runs WHERE kind = k.kind AND NOT dry_run AND state <> 'running'
          ORDER BY started_at DESC LIMIT ${CHARTED}::int
        ) b), '[]') AS bars
    FROM unnest(${[...DAEMONS]}::text[]) WITH ORDINALITY k (kind, place) LEFT JOIN schedules s ON s.kind = k.kind
    ORDER BY k.place`)
  const views = await viewsOf(
    store,
    rows.flatMap(({ under_way, dry, bars }) => [under_way, dry, bars.at(-1)?.id]),
  )
  return rows.map(({ kind, nextRunAt, under_way, dry, bars }) => ({
    kind,
    intervalMs: intervals.get(kind) ?? 0,
    nextRunAt,
    last: views.get(bars.at(-1)?.id) ?? null,
    running: views.get(under_way) ?? null,
    dryRun: views.get(dry) ?? null,
    bars,
  }))
}

async function viewsOf(store: Pick<Store, 'query'>, ids: (string | null | undefined)[]) {
  const wanted = ids.filter((id) => id != null)
  const views = await store.query<RunView>(sql`SELECT ${RUN_VIEW} FROM runs WHERE id = ANY(${wanted}::text[])`)
  return new Map<string | null | undefined, RunView>(views.map((view) => [view.id, view]))
}
