// Reserve: the first request for a key becomes its owner, in one statement that writes and asks nothing else. Every other
// one is refused by the unique index and then told what it found.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../../db/store'
import { alone, type Statement, together } from '../../db/together'
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
  /** Whether others may be reserved in the same statement. */
  independent?: boolean
}

export type Reserved =
  | { kind: 'created'; record: KeyRecord; report: unknown }
  /** `stored`: what the key stands for, where that is another request and not erased yet. */
  | { kind: 'existing'; record: KeyRecord; stored: Input | null }
  | { kind: 'not_allowed' }

/** @param taken told between both statements */
export async function reserve(store: Store, r: Reservation, taken?: () => Promise<void> | void): Promise<Reserved> {
  if (r.mayCreate) {
    const [row] = await store.query<CreatedRow>(reserveStatement(r))
    if (row) return { kind: 'created', record: createdRecord(r, row), report: row.report }
    await taken?.()
  }
  const found = await findRival(store, r)
  if (found) return found
  // Refused by a row that was deleted before it could be read: the key is free, and the next try will say so.
  return r.mayCreate ? reserve(store, r, taken) : { kind: 'not_allowed' }
}

interface CreatedRow {
  created_at: Date
  expires_at: Date
  report: unknown
}

/** No row: the key is taken, by a record that was committed before this statement came to its end. */
export function reserveStatement(r: Reservation): Statement {
  const leased = r.phase !== null
  const begun = created({
    event: leased ? 'reserved' : 'accepted',
    by: r.nodeId,
    requestId: r.requestId,
    ...(r.phase ? { attempt: 1, recoveryPoint: r.phase.name } : {}),
  })
  const body = sql`
    written AS (
      INSERT INTO idempotency_records AS r (
        id, tenant_id, endpoint, key, fingerprint, state, async, attempt, recovery_point, external,
        locked_until, locked_by, settles_at, request, request_id, resource_type, resource_id,
        retention_seconds, created_at, expires_at, in_doubt, timeline)
      SELECT ${r.id}, ${r.tenantId}, ${r.endpoint}, ${r.key}, ${r.fingerprint},
        ${leased ? 'in_progress' : 'pending'}::record_state, ${!leased}::boolean, ${leased ? 1 : 0}::int,
        ${r.phase?.name ?? null}, ${r.phase?.external ?? false}::boolean,
        now.at + ${leased ? r.leaseMs : null}::float8 * interval '1 ms', ${leased ? r.nodeId : null},
        now.at + ${leased ? r.leaseMs + r.settleMs : null}::float8 * interval '1 ms',
        ${r.request}, ${r.requestId}, ${r.resource.type}, ${r.resource.id},
        ${r.retentionSeconds}::float8, now.at, now.at + ${r.retentionSeconds}::float8 * interval '1 s', false, ${begun}
      FROM ${NOW}, sent
      ON CONFLICT (tenant_id, endpoint, key) DO NOTHING
      RETURNING r.*
    ), moved AS (SELECT * FROM written JOIN sent ON ${r.id} = written.id)${withEffects(r.effects)}
    SELECT id, created_at, expires_at, ${r.report ?? sql`NULL::json`} AS report, ${r.job ?? sql`NULL`}::text AS job
    FROM moved r`
  return r.independent ? together({ id: r.id, lock: `${r.tenantId} ${r.endpoint} ${r.key}` }, body) : alone(body)
}

/** As it was written: nobody else has touched it yet, or whoever did has a later attempt. */
function createdRecord(r: Reservation, { created_at: createdAt, expires_at: expiresAt }: CreatedRow): KeyRecord {
  const { id, tenantId, endpoint, key, fingerprint, phase, resource } = r
  return {
    id,
    tenantId,
    endpoint,
    key,
    fingerprint,
    state: phase ? 'in_progress' : 'pending',
    async: !phase,
    attempt: phase ? 1 : 0,
    version: 1,
    recoveryPoint: phase?.name ?? null,
    effectEvidence: false,
    moneyDiffers: false,
    inDoubt: false,
    lookUp: { until: expiresAt, isPast: false, progress: null },
    leaseLeftMs: phase ? r.leaseMs : null,
    reconcileInMs: null,
    beingAsked: false,
    pastExpiry: false,
    answer: null,
    responseStatus: null,
    resource,
    createdAt,
    completedAt: null,
    expiresAt,
  }
}

async function findRival(store: Store, r: Reservation): Promise<Reserved | null> {
  const [row] = await store.query<RecordRow & { stored: string | null }>(rivalStatement(r))
  if (!row) return null
  return { kind: 'existing', record: toRecord(row), stored: row.stored === null ? null : JSON.parse(row.stored) }
}

/**
 * What the key stands for, in a statement of its own: whoever was refused by the unique index lost to a row that its own
 * snapshot may be too old to show, and this one's is not. Another request's body is read only to say where it differs.
 */
export const rivalStatement = (r: Reservation): Sql => sql`
  SELECT ${RECORD_COLUMNS}, CASE WHEN r.fingerprint <> ${r.fingerprint} THEN r.request END AS stored
  FROM idempotency_records r
  WHERE r.tenant_id = ${r.tenantId} AND r.endpoint = ${r.endpoint} AND r.key = ${r.key}`
