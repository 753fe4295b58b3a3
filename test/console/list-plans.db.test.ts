// Which index answers which list: what makes the operators' lists as fast at ten million rows as at twenty thousand.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listStatement } from '../../lib/console/list-keys'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { indexesOf, listShapes, nodesOf, type PlanNode, type Shape, seqScansOf } from './list-shapes'
import { fillRecords } from './many-records'

let database: TestDatabase
let db: pg.Pool
let shapes: Shape[]
beforeAll(async () => {
  database = await cloneDatabase()
  db = new pg.Pool({ connectionString: database.url, max: 1 })
  await fillRecords(db, 20_000)
  shapes = await listShapes(db)
})
afterAll(async () => {
  await db.end()
  await database.drop()
})

async function planOf({ filter, page }: Shape, kind: 'custom' | 'generic'): Promise<PlanNode> {
  const { text, values } = listStatement(filter, page)
  const { rows } =
    kind === 'custom'
      ? await db.query(`EXPLAIN (FORMAT JSON) ${text}`, values as unknown[])
      : await db.query(`EXPLAIN (FORMAT JSON, GENERIC_PLAN) ${text}`)
  return rows[0]['QUERY PLAN'][0].Plan
}

describe.each(['custom', 'generic'] as const)('the %s plan of a list in the console', (kind) => {
  it('has no sequential scan of a table that grows with traffic', async () => {
    for (const shape of shapes) expect(seqScansOf(await planOf(shape, kind)), shape.name).toEqual([])
  })

  it('uses the intended indexes', async () => {
    for (const shape of shapes)
      expect(indexesOf(await planOf(shape, kind)), shape.name).toEqual(expect.arrayContaining([...shape.indexes]))
  })
})

describe('the plan of every list in the console', () => {
  const gathers = (plan: PlanNode) =>
    nodesOf(plan).some((node) => node['Node Type'] === 'Bitmap Index Scan' && node['Index Name'] === 'records_leases')

  // A walk marks the entries of settled orders for whoever comes later; who gathers them passes them again each time.
  it.each([0.1, 1, 100])('has no bitmap scan of records_leases, at %s times the estimated rows', async (times) => {
    const { rows } = await db.query(`SELECT reltuples FROM pg_class WHERE oid = 'idempotency_records'::regclass`)
    const expectRecords = (count: number) =>
      db.query(`UPDATE pg_class SET reltuples = $1 WHERE oid = 'idempotency_records'::regclass`, [count])
    await expectRecords(rows[0].reltuples * times)
    try {
      for (const kind of ['custom', 'generic'] as const)
        for (const shape of shapes) expect(gathers(await planOf(shape, kind)), shape.name).toBe(false)
    } finally {
      await expectRecords(rows[0].reltuples)
    }
  })
})

describe('an index that serves only the console’s lists', () => {
  it('gets no entry from a reservation', async () => {
    const { rows } = await db.query<{ name: string; predicate: string | null }>(`
      SELECT c.relname AS name, pg_get_expr(i.indpred, i.indrelid) AS predicate
      FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 'idempotency_records'::regclass`)
    // without a condition: only what keeps ids and keys unique
    const whole = rows.filter(({ predicate }) => predicate === null).map(({ name }) => name)
    expect(whole.sort()).toEqual(['idempotency_records_pkey', 'idempotency_records_tenant_id_endpoint_key_key'])
    for (const name of ['records_by_endpoint', 'records_by_tenant', 'records_request_id'])
      expect(rows.find((row) => row.name === name)?.predicate).not.toMatch(/pending|in_progress/)
    expect(rows.find(({ name }) => name === 'records_replayed')?.predicate).toBe('(replay_count > 0)')
  })
})
