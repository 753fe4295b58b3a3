// A daemon that has nothing to do looks at nothing: the clock is the bound of its index, not a filter over all of it.
import pg from 'pg'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { DUE } from '../../lib/idempotency/store/reschedule'
import { RUN_OUT, stoodFor } from '../../lib/maintenance/reaper'
import { cloneDatabase, type TestDatabase } from '../support/database'

let database: TestDatabase
let db: pg.Pool
beforeAll(async () => {
  database = await cloneDatabase()
  db = new pg.Pool({ connectionString: database.url, max: 1 })
})
afterAll(async () => {
  await db.end()
  await database.drop()
})

it.each([
  ['keys past their retention', RUN_OUT, 'expires_at', 'records_to_expire', 'expires_at'],
  ['tombstones', stoodFor(168), 'expired_at', 'records_tombstones', 'expired_at'],
  ['unknown outcomes that are due', DUE, 'reconcile_after', 'records_to_reconcile', 'reconcile_after'],
] as const)('%s are found by a range scan of their index', async (_, predicate, order, index, bound) => {
  const { text, values } = sql`EXPLAIN SELECT r.id FROM idempotency_records r WHERE ${predicate}`
  await db.query('SET enable_seqscan = off')
  await db.query('SET enable_bitmapscan = off')
  const { rows } = await db.query<{ 'QUERY PLAN': string }>(
    `${text} ORDER BY r.${order} LIMIT 500`,
    values as unknown[],
  )
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toContain(index)
  expect(plan).toMatch(new RegExp(`Index Cond: \\(${bound} <= `))
})
