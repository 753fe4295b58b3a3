// A day on which the provider began to time out half an hour ago: what the overview is for. Written past the library,
// so that it is there at once, and the same on every run. Nothing of it moves unless a node is let at it.
import type pg from 'pg'
import { PLACE_ORDER } from '../../lib/orders/place-order'

export const TENANTS = { northwind: 'ten_northwind', kestrel: 'ten_kestrel', brightcart: 'ten_brightcart' } as const

/** How many keys of each state it has. */
export const BUSY = {
  pending: 14,
  in_progress: 19,
  expiredLeases: 6,
  failed_retryable: 231,
  unknown: 186,
  deadLetters: 3,
  storms: 3,
  misuses: 187,
  discrepancies: 2,
} as const

const ENDPOINT = PLACE_ORDER

interface Kind {
  state: string
  count: number
  tenant: string
  /** When each was made: over `g`. */
  at: string
  /** Columns that differ from what a key has otherwise. */
  more?: Record<string, string>
}

const COLUMNS: Record<string, string> = {
  async: 'false',
  attempt: '1',
  version: '2',
  recovery_point: `'charging'`,
  external: 'true',
  settles_at: `at + interval '3 minutes'`,
  request: `'{"params":{},"body":{}}'`,
  resource_type: `'order'`,
  resource_id: `'ord_' || id`,
  retention_seconds: '86400',
  expires_at: `at + interval '1 day'`,
  replay_count: '0',
  timeline: `jsonb_build_array(jsonb_build_object('at', at, 'event', 'reserved', 'by', 'node-1', 'attempt', 1),
    jsonb_build_object('at', at + interval '10 seconds', 'event', 'outcome_unknown', 'by', 'node-1', 'attempt', 1, 'code', 'timeout'))`,
}

const ANSWERED = {
  response_status: '201',
  response_headers: `'{}'`,
  response_body: `'{}'`,
  response_version: '1',
  effect_ref: `'ch_' || id`,
  completed_at: `at + interval '1 second'`,
}

const UNKNOWN = { last_error_code: `'timeout'`, reconcile_after: `now() + interval '1 hour'`, reconcile_attempts: '2' }

const KINDS: readonly Kind[] = [
  { state: 'unknown', count: 171, tenant: 'northwind', at: `now() - g * interval '11 seconds'`, more: UNKNOWN },
  { state: 'unknown', count: 12, tenant: 'brightcart', at: `now() - g * interval '4 minutes'`, more: UNKNOWN },
  {
    state: 'unknown',
    count: BUSY.deadLetters,
    tenant: 'northwind',
    at: `now() - interval '6 hours 41 minutes' + g * interval '1 minute'`,
    more: { ...UNKNOWN, reconcile_attempts: '12', dead_lettered_at: `now() - interval '1 hour'` },
  },
  {
    state: 'in_progress',
    count: BUSY.in_progress,
    tenant: 'northwind',
    at: `now() - interval '1 minute' - g * interval '1 second'`,
    more: {
      locked_by: `'node-1'`,
      locked_until: `now() + CASE WHEN g <= ${BUSY.expiredLeases} THEN interval '-36 seconds' ELSE interval '1 hour' END`,
      settles_at: `now() + interval '2 hours'`,
      external: 'g > 2',
    },
  },
  {
    state: 'pending',
    count: BUSY.pending,
    tenant: 'brightcart',
    at: `now() - g * interval '1 second'`,
    more: { async: 'true', attempt: '0', settles_at: 'NULL' },
  },
  {
    state: 'failed_retryable',
    count: BUSY.failed_retryable,
    tenant: 'kestrel',
    at: `now() - g * interval '5 minutes'`,
    more: { last_error_code: `'connection_refused'` },
  },
  {
    state: 'completed',
    count: BUSY.storms,
    tenant: 'brightcart',
    at: `now() - interval '12 minutes'`,
    more: { ...ANSWERED, replay_count: '1373 + g', last_replayed_at: 'now()' },
  },
]

const finished = (count: number): Kind[] => [
  { state: 'completed', count, tenant: 'northwind', at: `now() - g * interval '3 seconds'`, more: ANSWERED },
  {
    state: 'expired',
    count: count * 2,
    tenant: 'kestrel',
    at: `now() - interval '2 days' - g * interval '3 seconds'`,
    more: {
      ...ANSWERED,
      response_headers: 'NULL',
      response_body: 'NULL',
      response_version: 'NULL',
      request: 'NULL',
      expired_at: `at + interval '1 day'`,
    },
  },
]

function recordsOf({ state, count, tenant, at, more = {} }: Kind): string {
  const columns = { ...COLUMNS, ...more }
  const names = Object.keys(columns)
  return `
    INSERT INTO idempotency_records (id, tenant_id, endpoint, key, fingerprint, state, request_id, created_at, ${names.join(', ')})
    SELECT id, 'ten_${tenant}', '${ENDPOINT}', gen_random_uuid()::text, 'v1:' || repeat('0', 64), '${state}', 'req_' || id, at,
      ${names.map((name) => columns[name]).join(', ')}
    FROM (SELECT g, ${at} AS at, 'idem_' || replace(substr(gen_random_uuid()::text, 1, 26), '-', '0') AS id
      FROM generate_series(1, ${count}) g) made`
}

/** How far the trouble is at minute `m` ago: 0 before it began, 1 when it is full. */
const TROUBLE = `least(1, greatest(0, (34 - m) / 8.0))`

const SERIES: readonly { metric: string; bucket?: string; tenant?: string; value: string }[] = [
  { metric: 'reserve_created', value: `(640 + 30 * sin(m / 3.0))::int` },
  { metric: 'reserve_replay', value: `(50 + 5 * sin(m / 2.0) + 45 * ${TROUBLE})::int` },
  { metric: 'reserve_in_progress', value: `(5 + 2 * sin(m) + 9 * ${TROUBLE})::int` },
  { metric: 'reserve_failed_retry', value: `(4 + 2 * sin(m / 2.0))::int` },
  { metric: 'reserve_unknown', value: `(14 * ${TROUBLE})::int` },
  {
    metric: 'reserve_key_misuse',
    tenant: 'kestrel',
    value: `CASE WHEN m BETWEEN 9 AND 23 THEN 12 ELSE (m % 5 = 0)::int END`,
  },
  { metric: 'zombie_key', value: `(2 * ${TROUBLE} * (m % 3 = 0)::int)::int` },
  { metric: 'late_result', value: `(2 * ${TROUBLE} * (m % 2 = 0)::int)::int` },
  { metric: 'duration', bucket: '0.1', value: `500` },
  { metric: 'duration', bucket: '0.5', value: `180` },
  { metric: 'duration', bucket: '1', value: `14` },
  { metric: 'duration', bucket: '2.5', value: `4` },
  { metric: 'duration', bucket: '10', value: `(12 * ${TROUBLE})::int` },
  { metric: 'attempt', bucket: '0.5', value: `600` },
  { metric: 'attempt', bucket: '10', value: `8` },
  { metric: 'replay_delay', bucket: '300', value: `40` },
  { metric: 'replay_delay', bucket: '3600', value: `12` },
  { metric: 'replay_delay', bucket: '43200', value: `2` },
  { metric: 'replay_delay', bucket: '172800', value: `(m % 2)` },
  { metric: 'resolution', bucket: '120', value: `3` },
  { metric: 'resolution', bucket: '600', value: `(4 * ${TROUBLE})::int` },
  { metric: 'move', bucket: 'reserved', value: `612` },
  { metric: 'move', bucket: 'accepted', value: `38` },
  { metric: 'move', bucket: 'claimed', value: `38` },
  { metric: 'move', bucket: 'settled', value: `644` },
  { metric: 'move', bucket: 'released', value: `(4 + m % 2)` },
  { metric: 'move', bucket: 'reclaimed', value: `(3 + m % 2)` },
  { metric: 'move', bucket: 'lost', value: `(1 + 7 * ${TROUBLE})::int` },
  { metric: 'move', bucket: 'reconciled', value: `(1 + m % 2)` },
  { metric: 'move', bucket: 'not_executed', value: `(m % 3 = 0)::int` },
  { metric: 'move', bucket: 'reaped', value: `598` },
  { metric: 'move', bucket: 'reaped_retryable', value: `1` },
  { metric: 'move', bucket: 'deleted', value: `571` },
]

const minutesOf = ({ metric, bucket = '', tenant = 'northwind', value }: (typeof SERIES)[number]) => `
  INSERT INTO metric_minutes (at, metric, endpoint, tenant_id, bucket, value)
  SELECT date_trunc('minute', now()) - m * interval '1 minute', '${metric}', '${ENDPOINT}', 'ten_${tenant}', '${bucket}', ${value}
  FROM generate_series(0, 1560) m`

// Every hour of the days before was like the hours of yesterday.
const HOURS = `
  INSERT INTO metric_hours (at, metric, endpoint, tenant_id, bucket, value)
  SELECT date_trunc('hour', now()) - h * interval '1 hour', m.metric, m.endpoint, m.tenant_id, m.bucket, m.value
  FROM generate_series(2, 30 * 24) h, (
    SELECT metric, endpoint, tenant_id, bucket, sum(value) AS value FROM metric_minutes
    WHERE at >= date_trunc('hour', now()) - interval '5 hours' AND at < date_trunc('hour', now()) - interval '4 hours'
    GROUP BY 1, 2, 3, 4) m`

/** By state: what was usual, and how far it is from that by now. */
const samplesOf = (finishedCount: number) => `
  INSERT INTO state_samples (at, state, count, oldest_seconds)
  SELECT date_trunc('minute', now()) - m * interval '1 minute', s.state::record_state,
    greatest(0, s.usual + s.usual * s.noise * sin(m * 1.7) + s.excess * ${TROUBLE} * least(1, (35 - m) / 35.0)),
    CASE WHEN s.state = 'unknown' THEN CASE WHEN m > 400 THEN 200 + 60 * sin(m / 5.0) ELSE (401 - m) * 60 END END
  FROM generate_series(0, 8 * 1440) m, (VALUES
    ('pending', 12, 0.2, 0), ('in_progress', 9, 0.2, 10), ('completed', ${finishedCount}, 0, 0),
    ('failed_retryable', 204, 0.03, 20), ('unknown', 12, 0.15, 174), ('expired', ${finishedCount * 2}, 0, 0)
  ) AS s (state, usual, noise, excess)
  -- the node beside us counts, too
  ON CONFLICT (at, state) DO UPDATE SET count = excluded.count, oldest_seconds = excluded.oldest_seconds`

const MISUSES = `
  INSERT INTO misuse (id, at, tenant_id, endpoint, key, record_id, changed_paths, request_id)
  SELECT 'mis_' || g, now() - interval '9 minutes' - g * interval '4 seconds', 'ten_kestrel', '${ENDPOINT}',
    'key-of-kestrel-' || g % 7, 'idem_kestrel', '{$.items[0].quantity}', 'req_kestrel_' || g
  FROM generate_series(1, ${BUSY.misuses}) g`

const DISCREPANCIES = `
  INSERT INTO discrepancies (id, kind, subject, record_id, detail, created_at)
  SELECT 'dis_' || lpad(g::text, 26, '0'), 'charge_without_order', 'ch_lost_' || g, NULL, '{}', now() - interval '12 hours'
  FROM generate_series(1, ${BUSY.discrepancies}) g`

/** `finishedCount`: how many completed keys; there are twice as many tombstones. */
export async function fillBusyDay(db: pg.Pool, { finishedCount = 200 } = {}): Promise<void> {
  const client = await db.connect()
  try {
    await client.query('BEGIN; SET LOCAL session_replication_role = replica; SET LOCAL statement_timeout = 0')
    for (const [name, id] of Object.entries(TENANTS))
      await client.query('INSERT INTO tenants (id, name) VALUES ($1, $2)', [id, name])
    for (const kind of [...KINDS, ...finished(finishedCount)]) await client.query(recordsOf(kind))
    for (const series of SERIES) await client.query(minutesOf(series))
    for (const statement of [HOURS, samplesOf(finishedCount), MISUSES, DISCREPANCIES]) await client.query(statement)
    await client.query('COMMIT')
    await client.query('VACUUM (ANALYZE) idempotency_records')
  } finally {
    client.release()
  }
}
