// What stands behind each thing that needs attention, as far as it helps to decide what to do first: whose keys, by which
// error, since when, and what happens next by itself. One statement that looks at some thousand rows at most.
import sql, { raw, type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'

export interface Background {
  /** The largest group of unknown keys. */
  unknownMostly: { tenantId: string; tenant: string; errorCode: string | null; count: number } | null
  deadLetters: { oldestAt: string; mostLookUps: number } | null
  /** Leases that ran out, by what their phase means for them. */
  expiredLeases: { beforeCall: number; afterCall: number; oldestAt: string | null }
  /** Null while no node sweeps by schedule. */
  nextSweepAt: string | null
  /** By tenant: the path that differed most often in the last hour, and in how large a share. */
  misusePaths: Record<string, { path: string; share: number }>
  discrepancies: { kind: string; count: number; oldestAt: string }[]
  storeErrorsAt: string | null
}

const MOST_LOOKED_AT = raw('10000')
/** Names of paths are few; a tenant's rejects may be many. */
const MOST_MISUSES = raw('2000')

const one = (rows: Sql): Sql => sql`(SELECT to_json(x) FROM (${rows}) x)`
const all = (rows: Sql): Sql => sql`(SELECT coalesce(json_agg(x), '[]') FROM (${rows}) x)`

type Row = Omit<Background, 'misusePaths'> & { misusePaths: { tenantId: string; path: string; share: number }[] }

export async function readBackground(store: Pick<Store, 'query'>): Promise<Background> {
  const [row] = await store.query<Row>(sql`
    SELECT
      ${one(sql`
        SELECT u.tenant_id AS "tenantId", coalesce(t.name, u.tenant_id) AS tenant, u.last_error_code AS "errorCode",
          count(*) AS count
        FROM (SELECT tenant_id, last_error_code FROM idempotency_records WHERE state = 'unknown' LIMIT ${MOST_LOOKED_AT}) u
          LEFT JOIN tenants t ON t.id = u.tenant_id
        GROUP BY u.tenant_id, t.name, u.last_error_code ORDER BY count(*) DESC, u.tenant_id LIMIT 1`)} AS "unknownMostly",
      ${one(sql`
        SELECT min(created_at) AS "oldestAt", max(reconcile_attempts) AS "mostLookUps" FROM (
          SELECT created_at, reconcile_attempts FROM idempotency_records
          WHERE state IN ('failed_retryable', 'unknown') AND dead_lettered_at IS NOT NULL LIMIT ${MOST_LOOKED_AT}) d
        HAVING count(*) > 0`)} AS "deadLetters",
      ${one(sql`
        SELECT count(*) FILTER (WHERE NOT external) AS "beforeCall", count(*) FILTER (WHERE external) AS "afterCall",
          min(locked_until) AS "oldestAt"
        FROM (SELECT external, locked_until FROM idempotency_records
          WHERE state = 'in_progress' AND locked_until <= (SELECT clock_timestamp()) LIMIT ${MOST_LOOKED_AT}) l
        `)} AS "expiredLeases",
      (SELECT to_json(next_run_at) FROM schedules WHERE kind = 'sweeper') AS "nextSweepAt",
      ${all(sql`
        SELECT DISTINCT ON (p.tenant_id) p.tenant_id AS "tenantId", p.path,
          p.times::float8 / sum(p.times) OVER (PARTITION BY p.tenant_id) AS share
        FROM (
          SELECT m.tenant_id, path, count(*) AS times
          FROM (SELECT tenant_id, changed_paths FROM misuse
            WHERE at >= (SELECT clock_timestamp() - interval '1 hour') ORDER BY at DESC LIMIT ${MOST_MISUSES}) m,
            unnest(m.changed_paths) AS path
          GROUP BY m.tenant_id, path
        ) p ORDER BY p.tenant_id, p.times DESC, p.path`)} AS "misusePaths",
      ${all(sql`
        SELECT d.kind, count(*) AS count, min(d.created_at) AS "oldestAt"
        FROM (SELECT kind, created_at FROM discrepancies WHERE closed_at IS NULL LIMIT ${MOST_LOOKED_AT}) d
        GROUP BY d.kind ORDER BY count(*) DESC, d.kind`)} AS discrepancies,
      (SELECT to_json(min(at)) FROM metric_minutes WHERE metric = 'store_error'
        AND at >= (SELECT clock_timestamp() - interval '1 hour')) AS "storeErrorsAt"`)
  const { misusePaths, ...rest } = row!
  return { ...rest, misusePaths: Object.fromEntries(misusePaths.map(({ tenantId, ...path }) => [tenantId, path])) }
}
