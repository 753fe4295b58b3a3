// As many records as one likes, with their orders, refunds and ledger rows, in the mix that a busy month leaves: a few
// large tenants and many small ones, half of the keys run out, some replayed, few unknown, fewer running. Written by the
// database itself, the same on every run.
import type pg from 'pg'
import { PLACE_ORDER } from '../../lib/orders/place-order'
import { REFUND_ORDER } from '../../lib/orders/refund-order'

export const TENANTS = 20

const ULID = (at: string, n: string) =>
  `lpad(to_hex((extract(epoch FROM ${at}) * 1000)::bigint), 12, '0') || lpad(to_hex(${n}), 14, '0')`

// The newest row has the highest number. Every 13th is a refund, of the order that was placed 25 rows before it. Every
// $5th is unknown, and of the newer half every $6th may be tried again.
const FACTS = `
  SELECT g, $1::int - g AS back, $4::timestamptz - ($1 - g) * (interval '8 days' / $1) AS at,
    'ten_' || lpad((floor(${TENANTS} * power((g * 7919 % 10007) / 10007.0, 4)))::int::text, 2, '0') AS tenant_id,
    g % 13 = 0 AND g > 26 AS refund,
    CASE
      WHEN g % $5::bigint = 7 % $5 THEN 'unknown'
      WHEN g % $6::bigint = 12 % $6 AND $1 - g < $1 / 2 THEN 'failed_retryable'
      WHEN $1 - g < 400 AND g % 4 = 1 THEN 'in_progress'
      WHEN $1 - g < 400 AND g % 4 = 3 THEN 'pending'
      WHEN $1 - g < $1 / 2 THEN 'completed'
      ELSE 'expired'
    END::record_state AS state,
    CASE WHEN g % 25 = 0 THEN 1 + (g * 31 % 97) * (g % 1000 = 0)::int * 50 + (g * 17 % 5) ELSE 0 END::int AS replays
  FROM generate_series($2::bigint, $3::bigint) g`

const RECORDS = `
  INSERT INTO idempotency_records (id, tenant_id, endpoint, key, fingerprint, state, async, attempt, version, recovery_point,
    external, locked_until, locked_by, settles_at, request, request_id, response_status, response_headers, response_body,
    response_version, effect_ref, resource_type, resource_id, last_error_code, reconcile_after, reconcile_attempts,
    dead_lettered_at, replay_count, last_replayed_at, retention_seconds, created_at, completed_at, expires_at, expired_at, timeline)
  SELECT 'idem_' || ${ULID('at', 'g')}, tenant_id, CASE WHEN refund THEN '${REFUND_ORDER}' ELSE '${PLACE_ORDER}' END,
    CASE WHEN g % 3 = 0 THEN 'invoice-' || lpad(g::text, 12, '0') ELSE md5(g::text)::uuid::text END,
    'v1:' || encode(sha256(g::text::bytea), 'hex'), state, state = 'pending', CASE WHEN state = 'pending' THEN 0 ELSE 1 END, 2,
    'charging', true,
    CASE WHEN state = 'in_progress' THEN $4::timestamptz + (g % 60) * interval '1 s' END, CASE WHEN state = 'in_progress' THEN 'node-1' END,
    CASE WHEN state <> 'pending' THEN greatest(at, $4::timestamptz) + interval '3 min' END,
    CASE WHEN state <> 'expired' THEN '{"params":{},"body":{"note":"' || repeat('x', 250) || '"}}' END, 'req_' || ${ULID('at', 'g')},
    CASE WHEN state IN ('completed', 'expired') THEN 201 END, CASE WHEN state = 'completed' THEN '{}' END,
    CASE WHEN state = 'completed' THEN '{"id":"' || repeat('x', 500) || '"}' END, CASE WHEN state = 'completed' THEN 1 END,
    CASE WHEN state IN ('completed', 'expired') THEN 'ch_' || md5('ref' || g) END,
    CASE WHEN refund THEN 'refund' ELSE 'order' END, CASE WHEN refund THEN 'ref_' ELSE 'ord_' END || ${ULID('at', 'g')},
    CASE WHEN state IN ('unknown', 'failed_retryable') THEN 'timeout' END,
    CASE WHEN state = 'unknown' AND g / $5 % 10 > 0 THEN $4::timestamptz + (g % 900 - 300) * interval '1 s' END, 3,
    CASE WHEN state = 'unknown' AND g / $5 % 10 = 0 THEN at + interval '1 h' END,
    replays, CASE WHEN replays > 0 THEN at + interval '1 min' END, 345600, at,
    CASE WHEN state IN ('completed', 'expired') THEN at + interval '1 s' END, at + interval '4 days',
    CASE WHEN state = 'expired' THEN at + interval '4 days' END,
    '[{"at":"2026-11-01T00:00:00Z","event":"reserved","by":"node-1","attempt":1},{"at":"2026-11-01T00:00:01Z","event":"settled","by":"node-1"}]'
  FROM (${FACTS}) f`

const REFUNDED = `'ord_' || ${ULID(`at - 25 * (interval '8 days' / $1)`, 'g - 25')}`

const ORDERS = `
  INSERT INTO orders (id, tenant_id, record_id, customer_id, currency, amount_cents, items, payment_method, status, charge_ref, created_at)
  SELECT 'ord_' || ${ULID('at', 'g')}, tenant_id, 'idem_' || ${ULID('at', 'g')}, 'cus_' || g % 1000, 'USD', 2500, '[]', 'pm_ok',
    CASE WHEN state IN ('completed', 'expired') THEN 'paid' ELSE 'pending_payment' END::order_status, 'ch_' || md5('ref' || g), at
  FROM (${FACTS}) f WHERE NOT refund`

const REFUNDS = `
  INSERT INTO refunds (id, order_id, tenant_id, record_id, amount_cents, status, created_at)
  SELECT 'ref_' || ${ULID('at', 'g')}, ${REFUNDED}, tenant_id,
    'idem_' || ${ULID('at', 'g')}, 100, 'pending', at
  FROM (${FACTS}) f WHERE refund`

const LEDGER = `
  INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, record_id, amount_cents, currency, provider_ref, created_at)
  SELECT 'pay_' || ${ULID('at', 'g')}, CASE WHEN refund THEN 'refund' ELSE 'charge' END::ledger_kind, 'succeeded', tenant_id,
    CASE WHEN refund THEN ${REFUNDED} ELSE 'ord_' || ${ULID('at', 'g')} END, 'idem_' || ${ULID('at', 'g')}, 2500, 'USD',
    'ch_' || md5('ref' || g), at
  FROM (${FACTS}) f WHERE state IN ('completed', 'expired')`

export interface Filling {
  /** So many write at once, each a part of the rows. */
  workers?: number
  /** As much work is open as with so many records: one of some hundred where they are few, thousands where they are many. */
  openLike?: number
}

export async function fillRecords(db: pg.Pool, count: number, filling: Filling = {}): Promise<void> {
  const { workers = 1, openLike = count } = filling
  const every = (least: number, parts: number) =>
    Math.max(1, Math.floor((Math.max(least, openLike / parts) * count) / openLike))
  await db.query(
    `INSERT INTO tenants (id, name) SELECT 'ten_' || lpad(n::text, 2, '0'), 'tenant ' || n FROM generate_series(0, $1::int) n`,
    [TENANTS],
  )
  // Ids tell the time: all statements have to agree on it.
  const at = new Date()
  const size = Math.ceil(count / workers)
  const parts = [RECORDS, ORDERS, REFUNDS, LEDGER].flatMap((statement) =>
    Array.from({ length: workers }, (_, n) => ({ statement, from: n * size + 1, to: Math.min((n + 1) * size, count) })),
  )
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (let part = parts.shift(); part; part = parts.shift())
        await writeUnguarded(db, part.statement, [count, part.from, part.to, at, every(500, 2000), every(200, 5000)])
    }),
  )
  await db.query('VACUUM (ANALYZE) idempotency_records')
  await db.query('ANALYZE orders; ANALYZE refunds; ANALYZE ledger_entries; ANALYZE tenants')
}

/** What is written here never moved: the triggers that guard moves have nothing to say. */
async function writeUnguarded(db: pg.Pool, statement: string, values: unknown[]): Promise<void> {
  const client = await db.connect()
  try {
    await client.query(`BEGIN; SET LOCAL session_replication_role = replica; SET LOCAL statement_timeout = 0`)
    await client.query(statement, values)
    await client.query('COMMIT')
  } finally {
    client.release()
  }
}
