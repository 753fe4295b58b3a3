// What an order costs the indexes, counted and not timed: how many entries each of its two statements writes, and that its
// row stays where it is. An index more, or one whose condition lets the common way in, shows here and nowhere else.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bench, barrier, charged, newKey, openBench, orderOf, scriptedGateway } from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

interface Index {
  name: string
  condition: string
}

const indexesOf = (table: string): Promise<Index[]> =>
  bench.rows<Index>(
    `SELECT c.relname AS name, coalesce(pg_get_expr(i.indpred, i.indrelid), 'true') AS condition
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $1::regclass ORDER BY c.relname`,
    [table],
  )

/** The indexes of the table that have an entry for the row as it is now: what a version of it that is not HOT writes. */
async function entriesOf(table: string, id: string): Promise<string[]> {
  const names: string[] = []
  for (const { name, condition } of await indexesOf(table)) {
    const held = await bench.rows(`SELECT FROM ${table} WHERE id = $1 AND (${condition})`, [id])
    if (held.length > 0) names.push(name)
  }
  return names
}

/** Every column that an index of the table mentions, in its condition too: a change of one of these ends HOT. */
async function indexedColumns(table: string): Promise<string[]> {
  const rows = await bench.rows<{ name: string }>(
    `SELECT DISTINCT a.attname AS name
     FROM pg_index i
       JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
         AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
       JOIN pg_attribute a ON a.attrelid = i.indrelid AND (a.attnum = d.refobjsubid OR a.attnum = ANY(i.indkey))
     WHERE i.indrelid = $1::regclass ORDER BY a.attname`,
    [table],
  )
  return rows.map(({ name }) => name)
}

async function rowOf(table: string, id: string): Promise<Record<string, unknown>> {
  const [found] = await bench.rows<{ row: Record<string, unknown> }>(
    `SELECT to_jsonb(t) AS row FROM ${table} t WHERE id = $1`,
    [id],
  )
  return found!.row
}

describe('index entries of an order’s two statements', () => {
  let record: string
  let order: string
  let reserved: string[]
  let orderBefore: Record<string, unknown>
  beforeAll(async () => {
    const gateway = scriptedGateway()
    const calling = barrier()
    gateway.nextCall(async () => {
      await calling.pass()
      return charged()
    })
    const key = newKey()
    const placed = bench.place(gateway, orderOf(), { key })
    await calling.reached
    const row = await bench.recordOf(key)
    record = row.id
    order = row.resource_id
    reserved = await entriesOf('idempotency_records', record)
    orderBefore = await rowOf('orders', order)
    calling.open()
    await placed
  })

  it('the reservation writes three for its record, and three for its order', async () => {
    expect(reserved).toEqual([
      'idempotency_records_pkey',
      'idempotency_records_tenant_id_endpoint_key_key',
      'records_leases',
    ])
    expect(await entriesOf('orders', order)).toHaveLength(3)
  })

  it('settling writes six for the record', async () => {
    expect(await entriesOf('idempotency_records', record)).toEqual([
      'idempotency_records_pkey',
      'idempotency_records_tenant_id_endpoint_key_key',
      'records_by_endpoint',
      'records_by_tenant',
      'records_request_id',
      'records_to_expire',
    ])
  })

  it('settling writes none for the order, because it changes no indexed column', async () => {
    const after = await rowOf('orders', order)
    const changed = Object.keys(after).filter((column) => String(after[column]) !== String(orderBefore[column]))
    const indexed = await indexedColumns('orders')
    expect(changed).toEqual(expect.arrayContaining(['status', 'charge_ref']))
    expect(indexed).toEqual(expect.arrayContaining(['id', 'record_id', 'tenant_id', 'created_at']))
    expect(changed.filter((column) => indexed.includes(column))).toEqual([])
  })

  it('settling writes five for the ledger row', async () => {
    const [entry] = await bench.rows<{ id: string }>('SELECT id FROM ledger_entries WHERE record_id = $1', [record])
    expect(await entriesOf('ledger_entries', entry!.id)).toHaveLength(5)
  })
})
