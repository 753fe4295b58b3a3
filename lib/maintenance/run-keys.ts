// The keys of a run, as they are now: of a bulk run all of them with what became of each, of any other a sample.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import type { State } from '../idempotency/states'
import type { Outcome } from './bulk'

export interface RunKey {
  position: number
  /** Of a ledger comparison, the provider's reference where no key of ours has it. */
  recordId: string
  /** Null where it has been deleted since, or never was a record. */
  record: { key: string; state: State; endpoint: string; tenant: string; createdAt: string } | null
  /** Of a bulk run; null while it is not done. */
  outcome: Outcome | null
  doneAt: string | null
}

export interface RunKeysPage {
  runId: string
  limit: number
  /** The last position that was shown. */
  after: number
}

export async function listRunKeys(
  store: Pick<Store, 'query'>,
  { runId, limit, after }: RunKeysPage,
): Promise<{ items: RunKey[]; next: number | null }> {
  const rows = await store.query<RunKey>(sql`
    SELECT k.position::int, k.record_id AS "recordId", k.outcome, k.done_at AS "doneAt",
      CASE WHEN r.id IS NOT NULL THEN json_build_object('key', r.key, 'state', r.state, 'endpoint', r.endpoint,
        'tenant', coalesce(t.name, r.tenant_id), 'createdAt', r.created_at) END AS record
    FROM (${keysOf(runId)}) k
    LEFT JOIN idempotency_records r ON r.id = k.record_id LEFT JOIN tenants t ON t.id = r.tenant_id
    WHERE k.position > ${after}::int ORDER BY k.position LIMIT ${limit + 1}::int`)
  const items = rows.slice(0, limit)
  return { items, next: rows.length > limit ? items.at(-1)!.position : null }
}

const keysOf = (runId: string): Sql => sql`
  SELECT position, record_id, outcome, done_at FROM run_items WHERE run_id = ${runId}
  UNION ALL
  SELECT s.position, s.id, NULL, NULL FROM runs, unnest(sample) WITH ORDINALITY s (id, position)
  WHERE runs.id = ${runId} AND kind <> 'bulk'`
