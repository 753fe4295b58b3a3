// What a node of the first release sends about records, word for word. It is data of the upgrade tests and never follows
// the code: a migration under which one of these statements fails breaks nodes that are still serving.
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'

export interface Request {
  endpoint: string
  params: Record<string, string>
  body: unknown
}

export interface Reservation {
  id: string
  tenantId: string
  key: string
  request: Request
  resource: { type: 'order' | 'refund'; id: string }
  leaseMs: number
  settleMs: number
  nodeId: string
  /** Null for one that waits for a worker. */
  phase: string | null
  effects: Sql[]
  report?: Sql
}

interface Event {
  event: string
  by: string
  [member: string]: unknown
}

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

const RETENTION_SECONDS = 24 * 3600
const ANSWER_VERSION = 1
const NOW = sql`(SELECT clock_timestamp() AS at) now`
const created = (event: Event) =>
  sql`jsonb_build_array(jsonb_build_object('at', now.at) || ${JSON.stringify(event)}::jsonb)`
const appended = (event: Event) => sql`timeline || ${created(event)}`
const withEffects = (effects: Sql[]) => (effects.length ? sql`, ${join(effects, ', ')}` : empty)
const NOTIFY_WAITERS = sql`CASE WHEN awaited THEN pg_notify(${'onceover_settled'}, id) END`

const RECORD_COLUMNS = raw(`
  r.id, r.tenant_id, r.endpoint, r.key, r.fingerprint, r.state, r.async, r.attempt, r.version, r.recovery_point,
  r.effect_evidence, r.response_status, r.response_headers, r.response_body, r.resource_type, r.resource_id,
  r.created_at, r.completed_at, r.expires_at,
  (extract(epoch FROM r.locked_until - clock_timestamp()) * 1000)::float8 AS lease_left_ms,
  (extract(epoch FROM r.reconcile_after - clock_timestamp()) * 1000)::float8 AS reconcile_in_ms,
  r.expires_at <= clock_timestamp() AS past_expiry`)

export function fingerprintOf({ endpoint, params, body }: Request): string {
  const text = canonicalize({ method: 'POST', endpoint, params, body }) as string
  return `v1:${createHash('sha256').update(text, 'utf8').digest('hex')}`
}

const enqueueAccepted = (recordId: string) => sql`
  (SELECT (graphile_worker.add_job(${'run-accepted'}, json_build_object('recordId', ${recordId}::text),
    max_attempts := ${8}::int, job_key := ${recordId})).id)`

export function reserve(r: Reservation): Sql {
  const { endpoint, params, body } = r.request
  const leased = r.phase !== null
  const begun = created({
    event: leased ? 'reserved' : 'accepted',
    by: r.nodeId,
    requestId: 'req_of_the_first_release',
    ...(leased ? { attempt: 1, recoveryPoint: r.phase } : {}),
  })
  return sql`
    WITH moved AS (
      INSERT INTO idempotency_records AS r (
        id, tenant_id, endpoint, key, fingerprint, state, async, attempt, recovery_point, external,
        locked_until, locked_by, settles_at, request, request_id, resource_type, resource_id,
        retention_seconds, created_at, expires_at, timeline)
      SELECT ${r.id}, ${r.tenantId}, ${endpoint}, ${r.key}, ${fingerprintOf(r.request)},
        ${leased ? 'in_progress' : 'pending'}::record_state, ${!leased}::boolean, ${leased ? 1 : 0}::int,
        ${r.phase}, ${leased}::boolean,
        now.at + ${leased ? r.leaseMs : null}::float8 * interval '1 ms', ${leased ? r.nodeId : null},
        now.at + ${leased ? r.leaseMs + r.settleMs : null}::float8 * interval '1 ms',
        ${JSON.stringify({ params, body })}, ${'req_of_the_first_release'}, ${r.resource.type}, ${r.resource.id},
        ${RETENTION_SECONDS}::float8, now.at, now.at + ${RETENTION_SECONDS}::float8 * interval '1 s', ${begun}
      FROM ${NOW}
      WHERE ${true}::boolean
      ON CONFLICT (tenant_id, endpoint, key) DO NOTHING
      RETURNING r.*
    )${withEffects(r.effects)},
    visible AS MATERIALIZED (
      SELECT * FROM idempotency_records
      WHERE tenant_id = ${r.tenantId} AND endpoint = ${endpoint} AND key = ${r.key}
        AND NOT EXISTS (SELECT 1 FROM moved)
    )
    SELECT true AS created, ${RECORD_COLUMNS}, ${r.report ?? sql`NULL::json`} AS report, ${leased ? sql`NULL` : enqueueAccepted(r.id)}::text AS job
    FROM moved r
    UNION ALL
    SELECT false, ${RECORD_COLUMNS}, NULL::json, NULL FROM visible r
    UNION ALL
    SELECT false, ${RECORD_COLUMNS}, NULL::json, NULL
    FROM latest_record(${r.tenantId}, ${endpoint}, ${r.key}) r
    WHERE NOT EXISTS (SELECT 1 FROM moved) AND NOT EXISTS (SELECT 1 FROM visible)`
}

export interface Owned {
  recordId: string
  attempt: number
  nodeId: string
}

export function claim(
  c: Owned & { phase: string; leaseMs: number; settleMs: number; effects: Sql[]; report?: Sql },
): Sql {
  const requestId = 'req_of_the_first_release'
  const event = { event: 'claimed', by: c.nodeId, attempt: c.attempt + 1, requestId, recoveryPoint: c.phase }
  return sql`
    WITH moved AS (
      UPDATE idempotency_records r SET
        state = 'in_progress', attempt = attempt + 1, version = version + 1,
        recovery_point = ${c.phase}, external = ${true}::boolean,
        locked_until = now.at + ${c.leaseMs}::float8 * interval '1 ms', locked_by = ${c.nodeId},
        settles_at = greatest(settles_at, now.at + ${c.leaseMs + c.settleMs}::float8 * interval '1 ms'),
        last_error_code = NULL, reconcile_after = NULL, timeline = ${appended(event)}
      FROM ${NOW}
      WHERE id = ${c.recordId} AND attempt = ${c.attempt}::int
        AND state IN ('failed_retryable', 'pending')
        -- no claim while evidence of the effect is stored, none of a key that has run out
        AND NOT effect_evidence AND expires_at > now.at
      RETURNING r.*
    )${withEffects(c.effects)}
    SELECT ${c.report ?? sql`NULL::json`} AS report FROM moved r`
}

export function settle(s: Owned & { answer: Answer; effectRef: string; effects: Sql[]; from?: string[] }): Sql {
  const { answer, effectRef, effects, from = ['in_progress'] } = s
  const event = { event: 'settled', by: s.nodeId, attempt: s.attempt, status: answer.status }
  return sql`
    WITH moved AS (
      UPDATE idempotency_records r SET
        state = 'completed', version = version + 1,
        response_status = ${answer.status}::smallint, response_headers = ${JSON.stringify(answer.headers)},
        response_body = ${answer.body}, response_version = ${ANSWER_VERSION}::smallint, effect_ref = ${effectRef},
        completed_at = now.at, expires_at = now.at + retention_seconds * interval '1 s',
        locked_until = NULL, locked_by = NULL, reconcile_after = NULL, dead_lettered_at = NULL, last_error_code = NULL,
        timeline = ${appended(event)}
      FROM ${NOW}
      WHERE id = ${s.recordId} AND state = ANY(${from}::record_state[]) AND attempt = ${s.attempt}::int
      RETURNING r.*
    )${withEffects(effects)}
    SELECT expires_at, completed_at, ${NOTIFY_WAITERS} FROM moved`
}

export function release(r: Owned & { code: string; effects: Sql[] }): Sql {
  const event = { event: 'released', by: r.nodeId, attempt: r.attempt, code: r.code }
  return sql`
    WITH moved AS (
      UPDATE idempotency_records r SET
        state = 'failed_retryable', version = version + 1, expires_at = now.at + retention_seconds * interval '1 s',
        locked_until = NULL, locked_by = NULL, reconcile_after = NULL, dead_lettered_at = NULL,
        last_error_code = ${r.code}, timeline = ${appended(event)}
      FROM ${NOW}
      WHERE id = ${r.recordId} AND state = ${'in_progress'}::record_state AND attempt = ${r.attempt}::int
      RETURNING r.*
    )${withEffects(r.effects)}
    SELECT expires_at, ${NOTIFY_WAITERS} FROM moved`
}

export const outcomeUnknown = (u: Owned & { code: string }): Sql => sql`
    WITH moved AS (
      UPDATE idempotency_records r SET
        state = 'unknown', version = version + 1, locked_until = NULL, locked_by = NULL, reconcile_after = now.at,
        last_error_code = ${u.code},
        timeline = ${appended({ event: 'outcome_unknown', by: u.nodeId, attempt: u.attempt, code: u.code })}
      FROM ${NOW}
      WHERE id = ${u.recordId} AND state = 'in_progress' AND attempt = ${u.attempt}::int
      RETURNING r.*
    )
    SELECT expires_at, ${NOTIFY_WAITERS} FROM moved`

export const leaseOver = (l: Owned): Sql => sql`
    WITH moved AS (
      UPDATE idempotency_records r SET
        state = CASE WHEN external THEN 'unknown' ELSE 'failed_retryable' END::record_state, version = version + 1,
        reconcile_after = CASE WHEN external THEN now.at END,
        expires_at = CASE WHEN external THEN expires_at ELSE now.at + retention_seconds * interval '1 s' END,
        locked_until = NULL, locked_by = NULL, last_error_code = 'lease_over',
        timeline = ${appended({ event: 'lease_over', by: l.nodeId, attempt: l.attempt })}
      FROM ${NOW}
      WHERE id = ${l.recordId} AND state = 'in_progress' AND attempt = ${l.attempt}::int AND locked_until <= now.at
      RETURNING r.*
    )
    SELECT ${NOTIFY_WAITERS} FROM moved`

/** What an owner that was fenced learned. */
export function keepEvidence(e: { id: string; recordId: string; attempt: number; ref: string }): Sql {
  const [source, kind] = ['late_owner', 'succeeded']
  const event = appended({ event: 'evidence', by: source, source, verdict: kind, attempt: e.attempt })
  return sql`
    WITH kept AS (
      INSERT INTO evidence (id, record_id, source, source_id, attempt, verdict, detail)
      SELECT ${`evd_${e.id}`}, (SELECT id FROM idempotency_records WHERE id = ${e.recordId}), ${source}, ${`${e.recordId}:${e.attempt}`},
        ${e.attempt}::int, ${kind}, ${JSON.stringify({ ref: e.ref })}::jsonb
      ON CONFLICT (source, source_id) DO NOTHING
      RETURNING id
    ), touched AS (
      UPDATE idempotency_records r SET
        version = version + 1, effect_evidence = effect_evidence OR ${kind} = 'succeeded', timeline = ${event}
      FROM ${NOW}
      WHERE r.id = ${e.recordId} AND EXISTS (SELECT 1 FROM kept)
      RETURNING r.*
    ), contradicted AS (
      -- a final record that says otherwise: a decline answered for a charge, or a second charge beside the first
      INSERT INTO discrepancies (id, kind, subject, record_id, detail)
      SELECT ${`dis_${e.id}`}, 'contradicting_evidence', ${`${e.recordId}:${e.ref}`}, ${e.recordId},
        jsonb_build_object('verdict', ${kind}::text, 'ref', ${e.ref}::text, 'source', ${source}::text, 'state', t.state,
          'responseStatus', t.response_status, 'effectRef', t.effect_ref)
      FROM kept LEFT JOIN touched t ON true
      WHERE t.id IS NULL OR (t.state IN ('completed', 'expired') AND t.effect_ref IS DISTINCT FROM ${e.ref}
        AND (${kind} = 'succeeded' OR t.response_status BETWEEN 200 AND 299))
      ON CONFLICT (kind, subject) DO NOTHING
    )
    SELECT state, attempt FROM touched`
}
