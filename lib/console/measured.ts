// What was counted over a stretch of time, over all nodes: from the minutes while they are kept, from the hours beyond,
// and of the last two hours always from the minutes, which are there at once.
import sql, { empty, type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Buckets } from '../metrics/percentile'
import { endpointsNamed } from './endpoints'
import { tenantNamed } from './tenant-named'

export interface Scope {
  tenant?: string
  endpoint?: string
}

export interface Stretch {
  fromMs: number
  /** What is counted together. */
  stepMs: number
  /** Minutes are kept for two days; hours are fewer. */
  from: 'minutes' | 'hours'
}

const HOUR_MS = 3_600_000

interface Row {
  at: Date
  metric: string
  bucket: string
  value: number
}

/** By the start of each step, by metric, by bucket; a counter has the one bucket ''. */
export type Measured = ReadonlyMap<number, ReadonlyMap<string, Buckets>>

export async function readMeasured(
  store: Pick<Store, 'query'>,
  metrics: readonly string[],
  { fromMs, stepMs, from }: Stretch,
  scope: Scope,
  nowMs: number,
): Promise<Measured> {
  const hoursUntilMs = (Math.floor(nowMs / HOUR_MS) - 1) * HOUR_MS
  const minutesFromMs = from === 'hours' ? Math.max(fromMs, hoursUntilMs) : fromMs
  const source = sql`
    ${part(sql`metric_minutes`, metrics, scope)} AND m.at >= ${new Date(minutesFromMs)}::timestamptz
    ${
      from === 'hours'
        ? sql`UNION ALL ${part(sql`metric_hours`, metrics, scope)}
            AND m.at >= ${new Date(fromMs)}::timestamptz AND m.at < ${new Date(hoursUntilMs)}::timestamptz`
        : empty
    }`
  const rows = await store.query<Row>(sql`
    SELECT date_bin(${stepMs}::float8 * interval '1 ms', at, 'epoch') AS at, metric, bucket, sum(value) AS value
    FROM (${source}) m GROUP BY 1, 2, 3`)
  const measured = new Map<number, Map<string, Record<string, number>>>()
  for (const { at, metric, bucket, value } of rows) {
    const step = measured.get(at.getTime()) ?? new Map<string, Record<string, number>>()
    step.set(metric, { ...step.get(metric), [bucket]: value })
    measured.set(at.getTime(), step)
  }
  return measured
}

const part = (table: Sql, metrics: readonly string[], { tenant, endpoint }: Scope): Sql => sql`
  SELECT m.at, m.metric, m.bucket, m.value FROM ${table} m WHERE m.metric = ANY(${metrics}::text[])
    ${tenant === undefined ? empty : sql`AND m.tenant_id = ${tenantNamed(tenant)}`}
    ${endpoint === undefined ? empty : sql`AND m.endpoint = ANY(${endpointsNamed(endpoint)}::text[])`}`

/** All steps together. */
export function bucketsOf(measured: Measured, metric: string): Buckets {
  const sum: Record<string, number> = {}
  for (const step of measured.values())
    for (const [bucket, count] of Object.entries(step.get(metric) ?? {})) sum[bucket] = (sum[bucket] ?? 0) + count
  return sum
}

export const countOf = (step: ReadonlyMap<string, Buckets> | undefined, metric: string): number =>
  step?.get(metric)?.[''] ?? 0
