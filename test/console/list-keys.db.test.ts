// The operators' list says what a plain sort of everything would say, page by page, in a database that sorts words like
// most do.
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { KeyFilter, selectKeyIds } from '../../lib/console/keys-filter'
import { KEY_SORTS, type KeyPosition, type KeySort } from '../../lib/console/keys-order'
import { listKeys } from '../../lib/console/list-keys'
import { OperatorRecord } from '../../lib/console/record-view'
import { openStore, type Store } from '../../lib/db/store'
import { applyMigrations } from '../../scripts/migrations'
import { withClient } from '../../scripts/postgres-client'
import { fillRecords } from './many-records'

const root = path.resolve(import.meta.dirname, '..', '..')
const ROWS = 3000
const name = `test_${randomBytes(6).toString('hex')}`

let store: Store
let db: pg.Pool
beforeAll(async () => {
  const url = new URL(inject('postgresUrl'))
  await withClient(url.href, (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' ENCODING 'UTF8'`),
  )
  url.pathname = `/${name}`
  await applyMigrations(root, url.href)
  store = openStore(url.href, { max: 4, applicationName: 'lists' })
  db = new pg.Pool({ connectionString: url.href })
  await fillRecords(db, ROWS)
  // Many of one instant: what comes first among equals has to be the same on every page.
  await db.query(`BEGIN; SET LOCAL session_replication_role = replica;
    UPDATE idempotency_records SET created_at = date_trunc('hour', created_at); COMMIT`)
}, 60_000)
afterAll(async () => {
  await store.close()
  await db.end()
  await withClient(inject('postgresUrl'), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`))
})

const ids = async (text: string, values: unknown[] = []): Promise<string[]> =>
  (await db.query<{ id: string }>(text, values)).rows.map(({ id }) => id)

async function walk(filter: KeyFilter, sort: KeySort = '-createdAt', limit = 200): Promise<string[]> {
  const seen: string[] = []
  for (let after: KeyPosition | null = null; ; ) {
    const { items, next } = await listKeys(store, { filter, sort, after, limit })
    seen.push(...items.map(({ id }) => id))
    if (!next) return seen
    expect(items).toHaveLength(limit)
    after = next
  }
}

const ORDERS: Record<KeySort, string> = {
  '-createdAt': 'created_at DESC, id DESC',
  createdAt: 'created_at, id',
  '-lockedUntil': 'locked_until DESC NULLS LAST, created_at DESC, id DESC',
  '-replayCount': 'nullif(replay_count, 0) DESC NULLS LAST, created_at DESC, id DESC',
  reconcileAfter: 'reconcile_after NULLS LAST, created_at DESC, id DESC',
}

const FILTERS: [string, KeyFilter, string][] = [
  ['everything', {}, 'true'],
  ['one state', { state: ['unknown'] }, `state = 'unknown'`],
  [
    'some states',
    { state: ['in_progress', 'pending', 'failed_retryable'] },
    `state IN ('in_progress', 'pending', 'failed_retryable')`,
  ],
  ['a tenant by id', { tenant: 'ten_03' }, `tenant_id = 'ten_03'`],
  ['a tenant by name', { tenant: 'tenant 3' }, `tenant_id = 'ten_03'`],
  ['an endpoint', { endpoint: 'POST /api/orders' }, `endpoint = 'POST /api/orders'`],
  ['a part of an endpoint', { endpoint: 'REFUND' }, `endpoint = 'POST /api/orders/{id}/refunds'`],
  ['dead letters', { deadLettered: true }, `dead_lettered_at IS NOT NULL`],
  ['no dead letters', { deadLettered: false }, `dead_lettered_at IS NULL`],
  ['age', { minAgeSeconds: 2 * 86_400 }, `created_at <= clock_timestamp() - interval '2 days'`],
  [
    'all at once',
    {
      tenant: 'ten_00',
      endpoint: 'refunds',
      state: ['completed', 'expired'],
      minAgeSeconds: 86_400,
      deadLettered: false,
    },
    `tenant_id = 'ten_00' AND endpoint LIKE '%refunds' AND state IN ('completed', 'expired') AND created_at <= clock_timestamp() - interval '1 day'`,
  ],
]

describe.each(KEY_SORTS)('the list of keys sorted by %s', (sort) => {
  it.each(FILTERS)('%s: has every row once and in order over all pages', async (_, filter, condition) => {
    const all = await ids(`SELECT id FROM idempotency_records WHERE ${condition} ORDER BY ${ORDERS[sort]}`)
    expect(all.length).toBeGreaterThan(0)
    expect(await walk(filter, sort)).toEqual(all)
  })

  it('has every match of a search once and in order over all pages', async () => {
    const all = await ids(
      `SELECT id FROM idempotency_records WHERE starts_with(key, 'invoice-0000000025') ORDER BY ${ORDERS[sort]}`,
    )
    expect(all.length).toBeGreaterThan(20)
    expect(await walk({ q: 'invoice-0000000025' }, sort, 7)).toEqual(all)
  })
})

describe('a page of keys', () => {
  it('has the fields that an operator may see, and no payloads', async () => {
    const { items } = await listKeys(store, { filter: {}, sort: '-createdAt', after: null, limit: 5 })
    for (const item of items) expect(OperatorRecord.strict().parse(item)).toEqual(item)
  })

  it('is the last one when nothing follows, even if it is full', async () => {
    const filter: KeyFilter = { state: ['failed_retryable'] }
    const all = await selectKeyIds(store, filter, 1000)
    const full = await listKeys(store, { filter, sort: '-createdAt', after: null, limit: all.length })
    expect(full.next).toBeNull()
    const less = await listKeys(store, { filter, sort: '-createdAt', after: null, limit: all.length - 1 })
    expect(less.next).toMatchObject({ sort: '-createdAt', id: all.at(-2) })
  })

  it.each([
    ['a tenant that does not exist', { tenant: 'nobody' }],
    ['an endpoint that no key has', { endpoint: 'PATCH' }],
    ['dead letters of a state that has none', { state: ['completed'], deadLettered: true }],
    ['a search without a match', { q: 'nothing like it' }],
  ] satisfies [string, KeyFilter][])('of %s is empty', async (_, filter) => {
    expect(await listKeys(store, { filter, sort: '-replayCount', after: null, limit: 50 })).toMatchObject({
      items: [],
      next: null,
    })
  })
})

describe('an expired key that once was a dead letter', () => {
  it('is no longer listed as a dead letter', async () => {
    const [id] = await ids(`SELECT id FROM idempotency_records WHERE state = 'expired' LIMIT 1`)
    await db.query('UPDATE idempotency_records SET dead_lettered_at = now() WHERE id = $1', [id])
    expect(await walk({ deadLettered: true })).not.toContain(id)
    expect(await walk({ deadLettered: false })).toContain(id)
  })
})

describe('the keys that a bulk run takes', () => {
  it('are the newest that the filter matches, up to its limit', async () => {
    const all = await ids(
      `SELECT id FROM idempotency_records WHERE state = 'completed' AND tenant_id = 'ten_00' ORDER BY ${ORDERS['-createdAt']}`,
    )
    expect(all.length).toBeGreaterThan(300)
    expect(await selectKeyIds(store, { state: ['completed'], tenant: 'ten_00' }, 300)).toEqual(all.slice(0, 300))
    expect(await selectKeyIds(store, { state: ['completed'], tenant: 'ten_00' }, 10_000)).toEqual(all)
  })
})

describe('a search for keys', () => {
  interface Known {
    id: string
    key: string
    order_id: string
    order_record: string
    refund_id: string
    request_id: string
    provider_ref: string
  }
  let known: Known
  beforeAll(async () => {
    const { rows } = await db.query<Known>(`
      SELECT r.id, r.key, r.request_id, f.id AS refund_id, f.order_id, o.record_id AS order_record, l.provider_ref
      FROM refunds f JOIN idempotency_records r ON r.id = f.record_id JOIN orders o ON o.id = f.order_id
        JOIN ledger_entries l ON l.record_id = r.id
      WHERE r.state = 'completed' ORDER BY r.id LIMIT 1`)
    known = rows[0]!
  })

  it.each([
    ['a key', 'key'],
    ['a record id', 'id'],
    ['a refund id', 'refund_id'],
    ['a provider’s reference', 'provider_ref'],
    ['a request id', 'request_id'],
  ] as const)('finds a record by %s, in full or as a prefix', async (_, field) => {
    const whole = known[field]
    expect(await walk({ q: whole })).toEqual([known.id])
    expect(await walk({ q: `  ${whole}\n`.trim() })).toEqual([known.id])
    expect(await walk({ q: whole.slice(0, -1) })).toContain(known.id)
    expect(await walk({ q: whole.slice(1) })).not.toContain(known.id)
  })

  it('finds an order and its refunds by the order’s id, in full or as a prefix', async () => {
    expect((await walk({ q: known.order_id })).sort()).toEqual([known.id, known.order_record].sort())
    expect(await walk({ q: known.order_id.slice(0, -2) })).toEqual(
      expect.arrayContaining([known.id, known.order_record]),
    )
  })

  it.each(['in_progress', 'pending'])('finds a record that is %s by its request id', async (state) => {
    const { rows } = await db.query<{ id: string; request_id: string }>(
      `SELECT id, request_id FROM idempotency_records WHERE state = $1::record_state LIMIT 1`,
      [state],
    )
    expect(await walk({ q: rows[0]!.request_id })).toEqual([rows[0]!.id])
  })

  it('combines with the other filters', async () => {
    expect(await walk({ q: known.key, state: ['completed'] })).toEqual([known.id])
    expect(await walk({ q: known.key, state: ['unknown'] })).toEqual([])
    expect(await walk({ q: known.key, tenant: 'ten_19' })).toEqual([])
    expect(await walk({ q: known.order_id, endpoint: 'refunds' })).toEqual([known.id])
    expect(await walk({ q: known.key, minAgeSeconds: 10 * 86_400 })).toEqual([])
  })

  it.each(['%%%', '___', 'idem_%', 'INV', 'ınv', 'invoice\u{10ffff}', '\\\\\\'])(
    'takes %j literally: not as a pattern, and case-sensitively',
    async (q) => {
      expect(await walk({ q })).toEqual([])
    },
  )

  it('for a prefix that all ids share looks only at the 1000 newest records', async () => {
    const found = await walk({ q: 'idem_' })
    expect(found).toEqual(
      await ids(`
      SELECT id FROM (SELECT id, created_at FROM idempotency_records ORDER BY id COLLATE "C" DESC LIMIT 1000) newest
      ORDER BY created_at DESC, id DESC`),
    )
  })
})

describe('a filter for keys', () => {
  it.each([
    { state: 'unknown' },
    { state: ['unknown', 'expired'] },
    { minAgeSeconds: '600', deadLettered: 'true' },
    { minAgeSeconds: 600, deadLettered: false },
    { q: 'abc', tenant: 'acme', endpoint: 'refunds' },
    { createdFrom: '2026-11-16T00:00:00Z', createdTo: '2026-11-16T02:00:00+01:00' },
  ])('is accepted with values from a query or from JSON: %j', (given) => {
    expect(KeyFilter.safeParse(given).success).toBe(true)
  })

  it.each([
    { state: 'lost' },
    { state: [] },
    { state: ['unknown', 'lost'] },
    { q: 'ab' },
    { q: ' ab ' },
    { q: 'a\0bc' },
    { q: 'x'.repeat(256) },
    { tenant: '' },
    { tenant: ['a', 'b'] },
    { minAgeSeconds: -1 },
    { minAgeSeconds: 1.5 },
    { minAgeSeconds: 'soon' },
    { minAgeSeconds: 1e12 },
    { deadLettered: 'maybe' },
    { createdFrom: 'yesterday' },
    { createdFrom: '0000-01-01T00:00:00Z' },
    { status: 'unknown' },
  ])('that is invalid is refused: %j', (given) => {
    expect(KeyFilter.safeParse(given).success).toBe(false)
  })
})
