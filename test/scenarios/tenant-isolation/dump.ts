// All rows of one tenant, in every table that knows tenants and in those that know its records and orders.
import { runSql } from '../../support/tenant'

/** Counted in batches, some time after the request. */
const NUMBERS = ['metric_minutes', 'metric_hours', 'tenant_usage', 'tenant_live_keys']
/** For people who clean up. */
const NOTED_IN_PASSING = ['last_used_at']

export type Dump = Record<string, unknown[]>

export async function dumpTenant(databaseUrl: string, tenantId: string): Promise<Dump> {
  const tables = await runSql<{ name: string }>(
    databaseUrl,
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.columns
     WHERE column_name = 'tenant_id' AND table_schema = 'public' AND table_name <> ALL ($1) ORDER BY 1`,
    [NUMBERS],
  )
  const wanted: [name: string, where: string][] = [
    ...tables.map(({ name }): [string, string] => [name, 'tenant_id = $1']),
    ['public.tenants', 'id = $1'],
    ['public.evidence', 'record_id IN (SELECT id FROM idempotency_records WHERE tenant_id = $1)'],
    ['public.discrepancies', 'record_id IN (SELECT id FROM idempotency_records WHERE tenant_id = $1)'],
    ['sandbox.charges', 'order_id IN (SELECT id FROM orders WHERE tenant_id = $1)'],
  ]
  const dump: Dump = {}
  for (const [name, where] of wanted) {
    const rows = await runSql<{ row: unknown }>(
      databaseUrl,
      `SELECT to_jsonb(t) - $2::text[] AS row FROM ${name} t WHERE ${where} ORDER BY t::text`,
      [tenantId, NOTED_IN_PASSING],
    )
    dump[name] = rows.map(({ row }) => row)
  }
  return dump
}
