// Who reuses keys for other requests, how often against a day before, and where the requests mostly differ. Counts are
// the counters', which have every one of them; of a key that is hammered not every one has a row.
import sql, { empty } from 'sql-template-tag'
import type { Store } from '../db/store'
import { endpointsNamed } from './endpoints'
import type { Scope } from './measured'
import { anyItem } from './misuse'
import { tenantNamed } from './tenant-named'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Minutes are kept for two days: enough for a day and the one before it. */
const STRETCHES = {
  '1h': { lengthMs: HOUR_MS, earlierMs: DAY_MS, table: sql`metric_minutes` },
  '24h': { lengthMs: DAY_MS, earlierMs: DAY_MS, table: sql`metric_minutes` },
  '7d': { lengthMs: 7 * DAY_MS, earlierMs: 7 * DAY_MS, table: sql`metric_hours` },
} as const
export const MISUSE_WINDOWS = ['1h', '24h', '7d'] as const
export type MisuseWindow = (typeof MISUSE_WINDOWS)[number]

/** What was written down lately tells where they differ; all of it would be read for nothing. */
const ROWS_READ = 1000
const PATHS = 8

export interface Compared {
  count: number
  /** As long a stretch, a day earlier; of a week, the week before. */
  before: number
}

export interface MisuseSummary extends Compared {
  from: string
  tenants: (Compared & { id: string; name: string })[]
  endpoints: (Compared & { endpoint: string })[]
  /** In how many of the rows that were read each place differs. */
  paths: { path: string; count: number }[]
  /** How many were read; fewer than counted where a key was hammered. */
  rows: number
}

interface Row extends Compared {
  tenant_id: string
  name: string
  endpoint: string
}

export async function readMisuseSummary(
  store: Pick<Store, 'query'>,
  { window, tenant, endpoint }: { window: MisuseWindow } & Scope,
): Promise<MisuseSummary> {
  const { lengthMs, earlierMs, table } = STRETCHES[window]
  const [clock] = await store.query<{ from: Date }>(sql`
    SELECT clock_timestamp() - ${lengthMs}::float8 * interval '1 ms' AS from`)
  const from = clock!.from
  const earlier = { from: new Date(from.getTime() - earlierMs), to: new Date(from.getTime() - earlierMs + lengthMs) }
  const scope = sql`
    ${tenant === undefined ? empty : sql`AND m.tenant_id = ${tenantNamed(tenant)}`}
    ${endpoint === undefined ? empty : sql`AND m.endpoint = ANY(${endpointsNamed(endpoint)}::text[])`}`
  const [counted, [read]] = await Promise.all([
    store.query<Row>(sql`
      SELECT c.*, coalesce(t.name, c.tenant_id) AS name FROM (
        SELECT m.tenant_id, m.endpoint,
          coalesce(sum(m.value) FILTER (WHERE m.at >= ${from}::timestamptz), 0)::float8 AS count,
          coalesce(sum(m.value) FILTER (WHERE m.at < ${earlier.to}::timestamptz), 0)::float8 AS before
        FROM ${table} m
        WHERE m.metric = 'reserve_key_misuse' AND m.at >= ${earlier.from}::timestamptz ${scope}
        GROUP BY m.tenant_id, m.endpoint
      ) c LEFT JOIN tenants t ON t.id = c.tenant_id`),
    store.query<Pick<MisuseSummary, 'rows' | 'paths'>>(sql`
      WITH few AS MATERIALIZED (
        SELECT m.id, m.changed_paths FROM misuse m WHERE m.at >= ${from}::timestamptz ${scope}
        ORDER BY m.at DESC, m.id DESC LIMIT ${ROWS_READ}::int
      ), differing AS (
        SELECT path, count(DISTINCT id)::int AS count
        FROM few, LATERAL (SELECT ${anyItem(sql`c`)} AS path FROM unnest(changed_paths) c) p
        GROUP BY path ORDER BY count DESC, path LIMIT ${PATHS}::int
      )
      SELECT (SELECT count(*)::int FROM few) AS rows,
        coalesce((SELECT json_agg(d ORDER BY d.count DESC, d.path) FROM differing d), '[]') AS paths`),
  ])
  return { from: from.toISOString(), ...summed(counted), ...read! }
}

function summed(rows: readonly Row[]): Pick<MisuseSummary, 'count' | 'before' | 'tenants' | 'endpoints'> {
  const tenants = new Map<string, MisuseSummary['tenants'][number]>()
  const endpoints = new Map<string, MisuseSummary['endpoints'][number]>()
  const all: Compared = { count: 0, before: 0 }
  for (const row of rows) {
    const { tenant_id: id, name, endpoint } = row
    const tenant = tenants.get(id) ?? { id, name, count: 0, before: 0 }
    const at = endpoints.get(endpoint) ?? { endpoint, count: 0, before: 0 }
    for (const sum of [tenant, at, all]) {
      sum.count += row.count
      sum.before += row.before
    }
    tenants.set(id, tenant)
    endpoints.set(endpoint, at)
  }
  const most = (a: Compared, b: Compared) => b.count - a.count || b.before - a.before
  return { ...all, tenants: [...tenants.values()].sort(most), endpoints: [...endpoints.values()].sort(most) }
}
