// Rows written past the library, as somebody with psql would: what the database itself refuses shows only there.
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { State } from '../../lib/idempotency/states'

type Assignments = Record<string, string>

const NO_LEASE: Assignments = { locked_until: 'NULL', locked_by: 'NULL', reconcile_after: 'NULL' }
const NO_ANSWER: Assignments = {
  response_status: 'NULL',
  response_headers: 'NULL',
  response_body: 'NULL',
  response_version: 'NULL',
  completed_at: 'NULL',
  expired_at: 'NULL',
  request: `'{}'`,
}

/** All that a move to the state has to write, so that only the move itself can be refused. */
const ARRIVAL: Record<State, Assignments> = {
  pending: { ...NO_LEASE, ...NO_ANSWER },
  in_progress: {
    ...NO_ANSWER,
    attempt: 'attempt + 1',
    locked_until: `clock_timestamp() + interval '1 min'`,
    locked_by: `'test'`,
    settles_at: `clock_timestamp() + interval '3 min'`,
    recovery_point: `'charging'`,
    external: 'true',
    reconcile_after: 'NULL',
  },
  completed: {
    ...NO_LEASE,
    response_status: '201',
    response_headers: `'{}'`,
    response_body: `'{}'`,
    response_version: '1',
    completed_at: 'clock_timestamp()',
    expired_at: 'NULL',
  },
  failed_retryable: { ...NO_LEASE, ...NO_ANSWER },
  unknown: {
    ...NO_LEASE,
    ...NO_ANSWER,
    reconcile_after: 'clock_timestamp()',
    settles_at: 'coalesce(settles_at, clock_timestamp())',
  },
  expired: {
    ...NO_LEASE,
    response_headers: 'NULL',
    response_body: 'NULL',
    request: 'NULL',
    expired_at: 'clock_timestamp()',
  },
}

const WAY_TO: Record<State, readonly State[]> = {
  pending: [],
  in_progress: ['in_progress'],
  completed: ['in_progress', 'completed'],
  failed_retryable: ['in_progress', 'failed_retryable'],
  unknown: ['in_progress', 'unknown'],
  expired: ['in_progress', 'completed', 'expired'],
}

type Db = Pick<pg.Pool, 'query'>
export type Columns = Record<string, unknown>

export const pendingColumns = (): Columns => ({
  id: `idem_${randomUUID()}`,
  tenant_id: 'ten_rows',
  endpoint: 'POST /api/orders',
  key: randomUUID(),
  fingerprint: `v1:${'0'.repeat(64)}`,
  state: 'pending',
  async: true,
  attempt: 0,
  external: false,
  request: '{}',
  request_id: 'req_test',
  retention_seconds: 3600,
  created_at: new Date(),
  expires_at: new Date(Date.now() + 3_600_000),
  timeline: JSON.stringify([{ event: 'test' }]),
})

export async function insertInto(db: Db, table: string, columns: Columns): Promise<void> {
  const names = Object.keys(columns)
  const places = names.map((_, i) => `$${i + 1}`)
  await db.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places.join(', ')})`, Object.values(columns))
}

/** A move as the library would write it: its columns, a higher version, its event. `instead` overrides any of them. */
export async function move(db: Db, id: string, to: State, instead: Assignments = {}): Promise<void> {
  const writes: Assignments = {
    state: `'${to}'`,
    version: 'version + 1',
    timeline: `timeline || '[{"event":"test"}]'::jsonb`,
    ...ARRIVAL[to],
    ...instead,
  }
  const assignments = Object.entries(writes).map(([column, value]) => `${column} = ${value}`)
  await db.query(`UPDATE idempotency_records SET ${assignments.join(', ')} WHERE id = $1`, [id])
}

export async function recordIn(db: Db, state: State): Promise<string> {
  const columns = pendingColumns()
  await insertInto(db, 'idempotency_records', columns)
  for (const step of WAY_TO[state]) await move(db, columns.id as string, step)
  return columns.id as string
}

export async function insertOrder(db: Db, changes: Columns = {}): Promise<string> {
  const id = `ord_${randomUUID()}`
  await insertInto(db, 'orders', {
    id,
    tenant_id: 'ten_rows',
    customer_id: 'cus_1',
    currency: 'USD',
    amount_cents: 1000,
    items: '[]',
    payment_method: 'pm_ok',
    created_at: new Date(),
    ...changes,
  })
  return id
}
