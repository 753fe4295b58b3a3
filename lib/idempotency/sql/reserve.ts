// Reserve: the first request for a key becomes its owner, every other one is told what it found. One statement,
// whatever happens around it.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../../db/store'
import type { Effects, Input, Resource } from '../operation'
import { type KeyRecord, RECORD_COLUMNS, type RecordRow, toRecord } from '../record'
import { withEffects } from './effects'
import { created, NOW } from './event'

export interface Reservation {
  id: string
  tenantId: string
  endpoint: string
  key: string
  fingerprint: string
  request: string
  requestId: string
  resource: Resource
  retentionSeconds: number
  leaseMs: number
  settleMs: number
  nodeId: string
  /** The phase that the reservation enters; null for one that waits for a worker. */
  phase: { name: string; external: boolean } | null
  effects: Effects
  report: Sql | undefined
  /** A job that commits with the reservation: a scalar over `moved`. */
  job: Sql | undefined
  /** False where the tenant is at a limit: an existing record is still found, none is created. */
  mayCreate: boolean
}

export type Reserved =
  | { kind: 'created'; record: KeyRecord; report: unknown }
  /** `stored`: what the key stands for, where that is another request and not erased yet. */
  | { kind: 'existing'; record: KeyRecord; stored: Input | null }
  | { kind: 'not_allowed' }

interface Row extends RecordRow {
  created: boolean
  report: unknown
  stored: string | null
}

export async function reserve(store: Store, r: Reservation): Promise<Reserved> {
  const [row] = await store.query<Row>(reserveStatement(r))
  if (!row) {
    if (!r.mayCreate) return { kind: 'not_allowed' }
    // Refused by a row that was deleted before it could be read: the key is free, and the next try will say so.
    return reserve(store, r)
  }
  const record = toRecord(row)
  if (row.created) return { kind: 'created', record, report: row.report }
  return { kind: 'existing', record, stored: row.stored === null ? null : JSON.parse(row.stored) }
}

// The three branches at the end are tried in order, each only if the one before found nothing:
// - moved: the key was free, the row is ours;
// - visible: it was there when this statement began;
// - latest_record: a rival committed after this statement's snapshot was taken. The unique index made us wait for
//   it and refused us, yet our snapshot does not show it; the function reads with a newer one.
export function reserveStatement(r: Reservation): Sql {
  const leased = r.phase !== null
  const begun = created({
    event: leased ? 'reserved' : 'accepted',
    by: r.nodeId,
    requestId: r.requestId,
    ...(r.phase ? { attempt: 1, recoveryPoint: r.phase.name } : {}),
  })
  // Another request's body is read only to say where it differs, so only then.
  const stored = sql`CASE WHEN r.fingerprint <> ${r.fingerprint} THEN r.request END`
  return sql`
    WITH moved AS (
      INSERT INTO idempotency_records AS r (
        id, tenant_id, endpoint, key, fingerprint, state, async, attempt, recovery_point, external,
        locked_until, locked_by, settles_at, request, request_id, resource_type, resource_id,
        retention_seconds, created_at, expires_at, timeline)
      SELECT ${r.id}, ${r.tenantId}, ${r.endpoint}, ${r.key}, ${r.fingerprint},
        ${leased ? 'in_progress' : 'pending'}::record_state, ${!leased}::boolean, ${leased ? 1 : 0}::int,
        ${r.phase?.name ?? null}, ${r.phase?.external ?? false}::boolean,
        now.at + ${leased ? r.leaseMs : null}::float8 * interval '1 ms', ${leased ? r.nodeId : null},
        now.at + ${leased ? r.leaseMs + r.settleMs : null}::float8 * interval '1 ms',
        ${r.request}, ${r.requestId}, ${r.resource.type}, ${r.resource.id},
        ${r.retentionSeconds}::float8, now.at, now.at + ${r.retentionSeconds}::float8 * interval '1 s', ${begun}
      FROM ${NOW}
      WHERE ${r.mayCreate}::boolean
      ON CONFLICT (tenant_id, endpoint, key) DO NOTHING
      RETURNING r.*
    )${withEffects(r.effects)},
    visible AS MATERIALIZED (
      SELECT * FROM idempotency_records
      WHERE tenant_id = ${r.tenantId} AND endpoint = ${r.endpoint} AND key = ${r.key}
        AND NOT EXISTS (SELECT 1 FROM moved)
    )
    SELECT true AS created, ${RECORD_COLUMNS}, ${r.report ?? sql`NULL::json`} AS report, ${r.job ?? sql`NULL`}::text AS job,
      NULL AS stored
    FROM moved r
    UNION ALL
    SELECT false, ${RECORD_COLUMNS}, NULL::json, NULL, ${stored} FROM visible r
    UNION ALL
    SELECT false, ${RECORD_COLUMNS}, NULL::json, NULL, ${stored}
    FROM latest_record(${r.tenantId}, ${r.endpoint}, ${r.key}) r
    WHERE NOT EXISTS (SELECT 1 FROM moved) AND NOT EXISTS (SELECT 1 FROM visible)`
}
