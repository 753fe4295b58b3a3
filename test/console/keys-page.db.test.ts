// What the page of keys asks beside the API's list: pages before a row, the qualifiers of the search box, rows with what
// they are about, and counts that end somewhere.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exportKeys } from '../../lib/console/export-keys'
import { readKeyRows, watchKeys } from '../../lib/console/key-rows'
import type { KeyFilter } from '../../lib/console/keys-filter'
import { KEY_SORTS, type KeySort } from '../../lib/console/keys-order'
import { keysPageUseCases } from '../../lib/console/keys-page-use-cases'
import { type KeyList, listKeys } from '../../lib/console/list-keys'
import { suggestValues } from '../../lib/console/suggest-values'
import { openStore, type Store } from '../../lib/db/store'
import { callOf } from '../../lib/operators/actor'
import { openGuard } from '../../lib/operators/use-case'
import { cloneDatabase } from '../support/database'
import { fillRecords } from './many-records'

/** More than a run takes, and than a batch of an export. */
const ROWS = 10_500

let database: Awaited<ReturnType<typeof cloneDatabase>>
let store: Store
let db: pg.Pool
beforeAll(async () => {
  database = await cloneDatabase()
  store = openStore(database.url, { max: 4, applicationName: 'keys-page' })
  db = new pg.Pool({ connectionString: database.url })
  await fillRecords(db, ROWS)
  await db.query(`UPDATE idempotency_records SET last_error_code = 'connection_timeout'
    WHERE state = 'failed_retryable' AND id IN (
      SELECT id FROM idempotency_records WHERE state = 'failed_retryable' ORDER BY id LIMIT 10)`)
}, 60_000)
afterAll(async () => {
  await store.close()
  await db.end()
  await database.drop()
})

const ids = async (condition: string, values: unknown[] = []): Promise<string[]> => {
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM idempotency_records r WHERE ${condition} ORDER BY created_at DESC, id DESC`,
    values,
  )
  return rows.map(({ id }) => id)
}
const one = async <Row>(text: string): Promise<Row> => (await db.query(text)).rows[0]

async function listed(filter: KeyFilter): Promise<string[]> {
  const { items } = await listKeys(store, { filter, sort: '-createdAt', after: null, limit: 200 })
  return items.map(({ id }) => id)
}

/** Without what the clock alone changes between two looks. */
const still = ({ retryAfterSeconds: _, ...record }: KeyList['items'][number]) => record

describe('paging back through the keys', () => {
  const LIMIT = 13
  const PAGES = 5

  async function forth(filter: KeyFilter, sort: KeySort): Promise<KeyList[]> {
    const pages: KeyList[] = []
    for (let after: KeyList['next'] = null; pages.length < PAGES; ) {
      const page: KeyList = await listKeys(store, { filter, sort, after, limit: LIMIT })
      pages.push(page)
      if (!page.next) break
      after = page.next
    }
    return pages
  }

  const FILTERS: [string, KeyFilter][] = [
    ['nothing', {}],
    ['the non-final states', { state: ['unknown', 'in_progress', 'failed_retryable'] }],
    ['an error', { error: 'timeout' }],
    ['a search', { q: 'invoice-00000' }],
  ]
  describe.each(KEY_SORTS)('sorted by %s', (sort) => {
    it.each(FILTERS)('filtered by %s returns the same pages as paging forward', async (_, filter) => {
      const pages = await forth(filter, sort)
      expect(pages.length).toBeGreaterThan(2)
      expect(pages[0]!.previous).toBeNull()
      for (let at = pages.length - 1; at > 0; at--) {
        const before = await listKeys(store, { filter, sort, after: null, before: pages[at]!.previous, limit: LIMIT })
        expect(before.items.map(still)).toEqual(pages[at - 1]!.items.map(still))
        expect(before.next).toEqual(pages[at - 1]!.next)
        expect(before.previous).toEqual(pages[at - 1]!.previous)
      }
    })
  })

  it('from the newest row returns an empty page', async () => {
    const [newest] = await ids('true')
    const { created_at } = await one<{ created_at: Date }>(
      `SELECT created_at FROM idempotency_records WHERE id = '${newest}'`,
    )
    const before = { value: null, createdAt: created_at.toISOString(), id: newest! }
    expect(await listKeys(store, { filter: {}, sort: '-createdAt', after: null, before, limit: 5 })).toEqual({
      items: [],
      next: null,
      previous: null,
    })
  })
})

describe('a search qualifier', () => {
  it('error: finds keys by part of an error code, and no keys without an error', async () => {
    expect(await listed({ error: 'connection' })).toEqual(await ids(`last_error_code = 'connection_timeout'`))
    expect(await listed({ error: 'timeout', state: ['failed_retryable'] })).toEqual(
      await ids(`last_error_code IS NOT NULL AND state = 'failed_retryable'`),
    )
    expect(await listed({ error: 'CONNECTION' })).toEqual(await listed({ error: 'connection' }))
    expect(await listed({ error: '%' })).toEqual([])
  })

  it('age:< finds younger keys', async () => {
    const young = await ids(`created_at >= clock_timestamp() - interval '20 minutes'`)
    expect(young.length).toBeGreaterThan(3)
    expect(await listed({ maxAgeSeconds: 1200 })).toEqual(young)
  })

  it('order: finds an order’s key and the keys of its refunds', async () => {
    const { order_id } = await one<{ order_id: string }>('SELECT order_id FROM refunds LIMIT 1')
    const expected = await ids(
      `id IN (SELECT record_id FROM orders WHERE id = $1 UNION SELECT record_id FROM refunds WHERE order_id = $1)`,
      [order_id],
    )
    expect(expected).toHaveLength(2)
    expect(await listed({ order: order_id })).toEqual(expected)
  })

  it('ref: finds the key of a charge by its provider reference', async () => {
    const { provider_ref, record_id } = await one<{ provider_ref: string; record_id: string }>(
      'SELECT provider_ref, record_id FROM ledger_entries LIMIT 1',
    )
    expect(await listed({ ref: provider_ref })).toEqual([record_id])
  })

  it('and a search text combine: a key must match both', async () => {
    const { id, key, record_id } = await one<{ id: string; key: string; record_id: string }>(
      'SELECT o.id, r.key, o.record_id FROM orders o JOIN idempotency_records r ON r.id = o.record_id LIMIT 1',
    )
    expect(await listed({ order: id, q: key })).toEqual([record_id])
    expect(await listed({ order: id, q: 'nothing like it' })).toEqual([])
  })
})

describe('a row of the keys page', () => {
  it('shows its tenant, order, amount and currency', async () => {
    const { order_id, record_id } = await one<{ order_id: string; record_id: string }>(
      'SELECT order_id, record_id FROM refunds ORDER BY id DESC LIMIT 1',
    )
    const { rows } = await readKeyRows(store, { filter: { order: order_id }, sort: 'createdAt', after: null, limit: 5 })
    const [order, refund] = rows
    expect(refund).toMatchObject({ id: record_id, orderId: order_id, amountCents: 100, currency: 'USD' })
    expect(order).toMatchObject({ orderId: order_id, amountCents: 2500, currency: 'USD' })
    for (const { tenant } of rows) expect(tenant).toMatch(/^tenant \d+$/)
  })

  it('is listed even without an order and with an unknown tenant', async () => {
    const [id] = await ids(`state = 'unknown'`)
    await db.query(`BEGIN; SET LOCAL session_replication_role = replica;
      UPDATE orders SET record_id = NULL WHERE record_id = '${id}';
      UPDATE idempotency_records SET tenant_id = 'ten_gone' WHERE id = '${id}'; COMMIT`)
    const { rows } = await watchKeys(store, {
      filter: {},
      since: { createdAt: '2020-01-01T00:00:00Z', id: '' },
      ids: [id!],
    })
    expect(rows).toMatchObject([{ id, tenant: 'ten_gone', orderId: null, amountCents: null, currency: null }])
  })
})

describe('watching the keys page', () => {
  it('counts matching keys that are newer than its rows, up to 1000', async () => {
    const page = await readKeyRows(store, {
      filter: { state: ['completed'] },
      sort: '-createdAt',
      after: null,
      limit: 50,
    })
    const at = (row: { createdAt: string; id: string }) => ({ createdAt: row.createdAt, id: row.id })
    const filter: KeyFilter = { state: ['completed'] }
    const fresh = async (since: { createdAt: string; id: string }) =>
      (await watchKeys(store, { filter, since, ids: [] })).fresh
    expect(await fresh(at(page.rows[0]!))).toBe(0)
    expect(await fresh(at(page.rows[30]!))).toBe(30)
    expect(await fresh({ createdAt: '2020-01-01T00:00:00Z', id: '' })).toBe(1000)
  })

  it('reads the displayed rows again and omits missing ones', async () => {
    const [first, second] = await ids(`state = 'completed'`)
    const { rows } = await watchKeys(store, {
      filter: {},
      since: { createdAt: '2020-01-01T00:00:00Z', id: '' },
      ids: [second!, 'idem_00000000000000000000000000', first!],
    })
    expect(rows.map(({ id }) => id)).toEqual([second, first])
  })
})

describe('the number of matching keys', () => {
  const call = callOf({ id: 'opr_viewer', name: 'Viewer', role: 'viewer' }, 'req_test')

  it('is counted up to the 10,000 keys that one bulk run takes', async () => {
    const { countKeys, pickKeys } = keysPageUseCases({ store, exports: store }, openGuard(store))
    expect(await countKeys(call, { filter: {} })).toEqual({ count: 10_000, more: true })
    expect(await pickKeys(call, { filter: {} })).toHaveLength(10_000)
    const unknown = await ids(`state = 'unknown'`)
    expect(await countKeys(call, { filter: { state: ['unknown'] } })).toEqual({ count: unknown.length, more: false })
    expect(await pickKeys(call, { filter: { state: ['unknown'] } })).toEqual(unknown)
  })
})

describe('the suggestions for a search qualifier', () => {
  it('are tenants by part of their name, those with the most matching keys first', async () => {
    const offered = await suggestValues(store, { qualifier: 'tenant', typed: 'NT 1', filter: { state: ['unknown'] } })
    expect(offered.map(({ value }) => value)).toContain('tenant 1')
    for (const { value, count } of offered)
      expect(count).toBe(
        (await ids(`state = 'unknown' AND tenant_id = (SELECT id FROM tenants WHERE name = $1)`, [value])).length,
      )
    expect(offered.map(({ count }) => count)).toEqual(offered.map(({ count }) => count).sort((a, b) => b - a))
  })

  it('count up to a hundred keys each', async () => {
    const offered = await suggestValues(store, { qualifier: 'tenant', typed: 'tenant 0', filter: {} })
    expect(offered).toEqual([{ value: 'tenant 0', count: 100 }])
  })

  it('are the existing error codes', async () => {
    const offered = await suggestValues(store, { qualifier: 'error', typed: '', filter: {} })
    expect(offered.map(({ value }) => value).sort()).toEqual(['connection_timeout', 'timeout'])
    expect(await suggestValues(store, { qualifier: 'error', typed: 'nothing', filter: {} })).toEqual([])
  })
})

describe('an export of keys', () => {
  it('has every matching key once, in order, across all batches', async () => {
    const seen: string[] = []
    for await (const keys of await exportKeys(store, { filter: {}, sort: '-createdAt' }))
      seen.push(...keys.map(({ id }) => id))
    expect(seen).toEqual(await ids('true'))
  })

  it('queries the next batch only after the previous one was taken', async () => {
    let asked = 0
    const query: Store['query'] = (statement) => {
      asked++
      return store.query(statement)
    }
    const batches = await exportKeys({ query }, { filter: {}, sort: 'createdAt' })
    const first = await batches.next()
    const before = asked
    expect(first.value).toHaveLength(250)
    await batches.return(undefined)
    expect(asked).toBe(before)
  })

  it('of selected keys has only those', async () => {
    const [first, , third] = await ids('true')
    const batches = await exportKeys(store, { filter: {}, sort: '-createdAt', ids: [third!, first!] })
    expect((await batches.next()).value?.map(({ id }: { id: string }) => id)).toEqual([third, first])
    expect((await batches.next()).done).toBe(true)
  })

  it('fails before anything is sent if its first query fails', async () => {
    const gone = { query: () => Promise.reject(new Error('gone')) }
    await expect(exportKeys(gone, { filter: {}, sort: '-createdAt' })).rejects.toThrow('gone')
  })
})
