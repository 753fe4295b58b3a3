// A record as operators see it: all that its client sees, and how it got there. Never the stored request or answer:
// a list is not the place for payloads, and not for their bytes either.
import sql, { raw } from 'sql-template-tag'
import { z } from 'zod'
import type { Store } from '../db/store'
import { LOOK_UP_COLUMNS, type RecordRow, toRecord } from '../idempotency/record'
import { ClientRecord, toClientRecord } from '../idempotency/view'

export const OperatorRecord = ClientRecord.extend({
  id: z.string(),
  tenantId: z.string(),
  async: z.boolean().meta({ description: 'Accepted with Prefer: respond-async, and run by a worker' }),
  version: z
    .int()
    .meta({ description: 'Rises with state, attempt and evidence; a decision names the one it is about' }),
  attempt: z.int(),
  recoveryPoint: z.string().nullable(),
  lockedUntil: z.iso.datetime().nullable(),
  lockedBy: z.string().nullable(),
  settlesAt: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'From then on a look-up that finds nothing is proof that nothing was executed' }),
  lastErrorCode: z.string().nullable(),
  reconcileAfter: z.iso.datetime().nullable(),
  reconcileAttempts: z.int(),
  deadLetteredAt: z.iso.datetime().nullable().meta({ description: 'Since then it waits for a person' }),
  replayCount: z.int(),
  lastReplayedAt: z.iso.datetime().nullable(),
  fingerprint: z.string(),
  requestId: z.string().meta({ description: 'Of the request that made the record' }),
}).meta({ id: 'OperatorRecord', description: 'A record, as operators see it' })
export type OperatorRecord = z.infer<typeof OperatorRecord>

/** Of `idempotency_records r`. */
export const OPERATOR_COLUMNS = raw(`
  r.id, r.tenant_id, r.endpoint, r.key, r.fingerprint, r.state, r.async, r.attempt, r.version, r.recovery_point,
  r.effect_evidence, r.money_differs, r.in_doubt, r.response_status, NULL AS response_headers, NULL AS response_body, r.resource_type, r.resource_id,
  r.created_at, r.completed_at, r.expires_at, ${LOOK_UP_COLUMNS}, r.locked_until, r.locked_by, r.settles_at, r.last_error_code,
  r.reconcile_after, r.reconcile_attempts, r.dead_lettered_at, r.replay_count, r.last_replayed_at, r.request_id,
  (extract(epoch FROM r.locked_until - clock_timestamp()) * 1000)::float8 AS lease_left_ms,
  (extract(epoch FROM r.reconcile_after - clock_timestamp()) * 1000)::float8 AS reconcile_in_ms,
  coalesce(r.asking_until > clock_timestamp(), false) AS being_asked,
  r.expires_at <= clock_timestamp() AS past_expiry`)

/** What is shown of a record beside what the boundary reads. */
export interface OperatorRow extends RecordRow {
  locked_until: Date | null
  locked_by: string | null
  settles_at: Date | null
  last_error_code: string | null
  reconcile_after: Date | null
  reconcile_attempts: number
  dead_lettered_at: Date | null
  replay_count: number
  last_replayed_at: Date | null
  request_id: string
}

const instant = (at: Date | null): string | null => at?.toISOString() ?? null

export function toOperatorRecord(row: OperatorRow): OperatorRecord {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    ...toClientRecord(toRecord(row)),
    async: row.async,
    version: row.version,
    attempt: row.attempt,
    recoveryPoint: row.recovery_point,
    lockedUntil: instant(row.locked_until),
    lockedBy: row.locked_by,
    settlesAt: instant(row.settles_at),
    lastErrorCode: row.last_error_code,
    reconcileAfter: instant(row.reconcile_after),
    reconcileAttempts: row.reconcile_attempts,
    deadLetteredAt: instant(row.dead_lettered_at),
    replayCount: row.replay_count,
    lastReplayedAt: instant(row.last_replayed_at),
    fingerprint: row.fingerprint,
    requestId: row.request_id,
  }
}

export async function findOperatorRecord(store: Pick<Store, 'query'>, id: string): Promise<OperatorRecord | null> {
  const [row] = await store.query<OperatorRow>(sql`
    SELECT ${OPERATOR_COLUMNS} FROM idempotency_records r WHERE r.id = ${id}`)
  return row ? toOperatorRecord(row) : null
}

/** In the order of the ids; those that are not there any more are left out. */
export async function findOperatorRecords(
  store: Pick<Store, 'query'>,
  ids: readonly string[],
): Promise<OperatorRecord[]> {
  const rows = await store.query<OperatorRow>(sql`
    SELECT ${OPERATOR_COLUMNS} FROM unnest(${[...ids]}::text[]) WITH ORDINALITY k (id, place),
      LATERAL (SELECT * FROM idempotency_records WHERE id = k.id LIMIT 1) r
    ORDER BY k.place`)
  return rows.map(toOperatorRecord)
}
