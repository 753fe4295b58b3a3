import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listMisuse } from '../../lib/console/misuse'
import { readMisuseSummary } from '../../lib/console/misuse-summary'
import { PLACE_ORDER } from '../../lib/orders/place-order'
import { REFUND_ORDER } from '../../lib/orders/refund-order'
import { type Bench, openBench } from '../support/boundary'
import { insertInto } from '../support/rows'

let bench: Bench

beforeAll(async () => {
  bench = await openBench()
  await insertInto(bench.db, 'tenants', { id: 'ten_acme', name: 'acme' })
})
afterAll(() => bench?.close())
beforeEach(() => bench.rows('TRUNCATE misuse, metric_minutes, metric_hours'))

const counted = (hoursAgo: number, value: number, tenant = 'ten_acme', endpoint: string = PLACE_ORDER) =>
  Promise.all(
    ['metric_minutes', 'metric_hours'].map((table) =>
      bench.rows(
        `INSERT INTO ${table} (at, metric, endpoint, tenant_id, bucket, value)
         VALUES (date_trunc('minute', now()) - $1 * interval '1 hour', 'reserve_key_misuse', $2, $3, '', $4)`,
        [hoursAgo, endpoint, tenant, value],
      ),
    ),
  )

let rows = 0
const written = (changedPaths: string[], minutesAgo = 1, tenant = 'ten_acme') =>
  insertInto(bench.db, 'misuse', {
    id: `mis_${++rows}`,
    at: new Date(Date.now() - minutesAgo * 60_000),
    tenant_id: tenant,
    endpoint: PLACE_ORDER,
    key: 'a-key-that-is-reused',
    record_id: 'idem_1',
    changed_paths: changedPaths,
    request_id: 'req_1',
  })

it('the misuse summary counts changed paths over the latest thousand misused requests', async () => {
  await written(['$.old'], 50)
  await bench.rows(
    `INSERT INTO misuse (id, at, tenant_id, endpoint, key, record_id, changed_paths, request_id)
     SELECT 'mis_many_' || n, now() - interval '1 min', 'ten_acme', $1, 'a-key-that-is-reused', 'idem_1', '{$.new}', 'req_1'
     FROM generate_series(1, 1000) n`,
    [PLACE_ORDER],
  )
  const { rows: read, paths } = await readMisuseSummary(bench.store, { window: '24h' })
  expect({ read, paths }).toEqual({ read: 1000, paths: [{ path: '$.new', count: 1000 }] })
})

describe('the misuse summary', () => {
  it('compares its count with an equally long window at least a day earlier', async () => {
    await counted(0.2, 7)
    await counted(23, 5)
    await counted(24.5, 2)
    await counted(30, 1)
    expect(await readMisuseSummary(bench.store, { window: '24h' })).toMatchObject({ count: 12, before: 3 })
    expect(await readMisuseSummary(bench.store, { window: '1h' })).toMatchObject({ count: 7, before: 2 })
    expect(await readMisuseSummary(bench.store, { window: '7d' })).toMatchObject({ count: 15, before: 0 })
  })

  it('counts by tenant and by endpoint, highest first', async () => {
    await counted(1, 3)
    await counted(1, 9, 'ten_gone', REFUND_ORDER)
    await counted(25, 4)
    const summary = await readMisuseSummary(bench.store, { window: '24h' })
    expect(summary.tenants).toEqual([
      { id: 'ten_gone', name: 'ten_gone', count: 9, before: 0 },
      { id: 'ten_acme', name: 'acme', count: 3, before: 4 },
    ])
    expect(summary.endpoints).toEqual([
      { endpoint: REFUND_ORDER, count: 9, before: 0 },
      { endpoint: PLACE_ORDER, count: 3, before: 4 },
    ])
    const acme = await readMisuseSummary(bench.store, { window: '24h', tenant: 'acme' })
    expect(acme).toMatchObject({ count: 3, tenants: [{ name: 'acme' }] })
  })

  it('counts changed paths, with all items of a list as one path', async () => {
    await written(['$.items[0].quantity', '$.items[1].quantity'])
    await written(['$.items[12].quantity', '$.note'])
    await written([])
    await written(['$.note'], 60 * 25)
    const { paths, rows } = await readMisuseSummary(bench.store, { window: '24h' })
    expect(paths).toEqual([
      { path: '$.items[].quantity', count: 2 },
      { path: '$.note', count: 1 },
    ])
    expect(rows).toBe(3)
  })

  it('has paths by which the list of misused requests can be filtered', async () => {
    await written(['$.items[3].quantity'])
    await written(['$.items[3].sku'])
    const { items } = await listMisuse(bench.store, { path: '$.items[].quantity', limit: 10, after: null })
    expect(items.map(({ changedPaths }) => changedPaths)).toEqual([['$.items[3].quantity']])
  })

  it('is empty if nothing was counted', async () => {
    expect(await readMisuseSummary(bench.store, { window: '24h' })).toMatchObject({
      count: 0,
      before: 0,
      tenants: [],
      endpoints: [],
      paths: [],
      rows: 0,
    })
  })
})
