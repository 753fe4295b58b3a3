import type { Sql } from 'sql-template-tag'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../lib/db/store'
import type { Input } from '../../lib/idempotency/operation'
import { MAX_ROWS_A_MINUTE, type MisusedKey, misusedPaths, openMisuseLog } from '../../lib/metrics/misuse'
import {
  type Bench,
  connectionLost,
  newKey,
  openBench,
  orderOf,
  scriptedGateway,
  TENANT,
  tampered,
} from '../support/boundary'

let bench: Bench
let second: Store
beforeAll(async () => {
  bench = await openBench()
  second = openStore(bench.url, { max: 8, applicationName: 'bench' })
})
beforeEach(() => bench.db.query('TRUNCATE misuse'))
afterAll(async () => {
  await second.close()
  await bench.close()
})

const input = (body: unknown, params: Record<string, string> = {}): Input => ({ params, body })

const misused = (changes: Partial<MisusedKey> = {}): MisusedKey => ({
  recordId: 'idem_01jcq2h8k3v9x4m6n7p8q9r0s1',
  tenantId: TENANT,
  endpoint: 'POST /api/orders',
  key: 'key-of-sixteen-characters',
  requestId: 'req_1',
  stored: input({ note: 'a' }),
  sent: input({ note: 'b' }),
  ...changes,
})

interface Row {
  id: string
  at: Date
  tenant_id: string
  endpoint: string
  key: string
  record_id: string
  changed_paths: string[]
  request_id: string
}
const rows = () => bench.rows<Row>('SELECT * FROM misuse ORDER BY at, id')

describe('the paths at which two requests differ', () => {
  it.each<[string, unknown, unknown, string[]]>([
    ['a member', { note: 'a' }, { note: 'b' }, ['$.note']],
    ['an element’s member', { items: [{ quantity: 1 }] }, { items: [{ quantity: 2 }] }, ['$.items[0].quantity']],
    ['a further element', { items: [1] }, { items: [1, 2] }, ['$.items[1]']],
    ['a member that only one has', { a: 1 }, { a: 1, note: 'x' }, ['$.note']],
    ['all of it', { a: 1 }, [1], ['$']],
    ['nothing', { a: 1, b: 2 }, { b: 2, a: 1 }, []],
  ])('are given relative to the body: %s', (_, stored, sent, paths) => {
    expect(misusedPaths(input(stored), input(sent))).toEqual(paths)
  })

  it('name parameters of the URL path as $params', () => {
    expect(misusedPaths(input({ a: 1 }, { id: 'ord_1' }), input({ a: 2 }, { id: 'ord_2' }))).toEqual([
      '$params.id',
      '$.a',
    ])
  })

  it('are empty once the stored request is erased', () => {
    expect(misusedPaths(null, input({ a: 1 }))).toEqual([])
  })

  it('are at most fifty', () => {
    const wide = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`m${i}`, i]))
    expect(misusedPaths(input(wide, { id: 'a' }), input({}, { id: 'b' }))).toHaveLength(50)
  })
})

describe('a misuse', () => {
  it('is stored as a row with the differing paths and without any value', async () => {
    const secret = 'pm_4242424242424242'
    const stored = input(orderOf({ paymentMethod: secret, note: 'the first note' }), { id: 'ord_first' })
    const sent = input(orderOf({ paymentMethod: 'pm_other_secret', note: 'the second note' }), { id: 'ord_second' })
    const sentStatements = await bench.sentBy(() => openMisuseLog(bench.store).record(misused({ stored, sent })))
    expect(sentStatements).toHaveLength(1)
    const found = await rows()
    expect(found).toMatchObject([
      {
        tenant_id: TENANT,
        endpoint: 'POST /api/orders',
        key: 'key-of-sixteen-characters',
        record_id: 'idem_01jcq2h8k3v9x4m6n7p8q9r0s1',
        request_id: 'req_1',
        changed_paths: ['$params.id', '$.customerId', '$.note', '$.paymentMethod'],
      },
    ])
    const text = JSON.stringify(found)
    for (const value of [secret, 'pm_other_secret', 'first note', 'second note', 'ord_first', 'ord_second'])
      expect(text).not.toContain(value)
  })

  it('that can’t be stored raises no error', async () => {
    const away = tampered(bench.store, () => Promise.reject(connectionLost()))
    await expect(openMisuseLog(away).record(misused())).resolves.toBeUndefined()
  })

  it('is reported by the boundary together with the key’s stored request', async () => {
    const key = newKey()
    const first = orderOf()
    await bench.place(scriptedGateway(), first, { key })
    const second = await bench.place(scriptedGateway(), { ...first, note: 'changed' }, { key })
    expect(second).toMatchObject({ kind: 'misuse', stored: { params: {}, body: first } })
  })

  it('of a key whose request is erased is reported without a stored request', async () => {
    const key = newKey()
    const first = orderOf()
    await bench.place(scriptedGateway(), first, { key })
    await bench.db.query(
      `UPDATE idempotency_records SET state = 'expired', version = version + 1, expired_at = clock_timestamp(),
         request = NULL, response_headers = NULL, response_body = NULL, timeline = timeline || '[{"event": "test"}]'
       WHERE key = $1`,
      [key],
    )
    const second = await bench.place(scriptedGateway(), { ...first, note: 'changed' }, { key })
    expect(second).toMatchObject({ kind: 'misuse', stored: null })
  })
})

describe('a key that is misused many times', () => {
  it('gets a row for each of sixty simultaneous misuses', async () => {
    const log = openMisuseLog(bench.store)
    await Promise.all(Array.from({ length: 60 }, (_, i) => log.record(misused({ requestId: `req_${i}` }))))
    const found = await rows()
    expect(new Set(found.map(({ request_id }) => request_id)).size).toBe(60)
  })

  it('gets exactly a hundred rows a minute, and further misuses cost few statements', async () => {
    const log = openMisuseLog(bench.store)
    const sent = await bench.sentBy(() =>
      Promise.all(Array.from({ length: 500 }, (_, i) => log.record(misused({ requestId: `req_${i}` })))),
    )
    expect(await rows()).toHaveLength(MAX_ROWS_A_MINUTE)
    expect(sent.length).toBeLessThan(120)
  })

  it('gets exactly a hundred rows a minute from two nodes together', async () => {
    const logs = [openMisuseLog(bench.store), openMisuseLog(second)]
    await Promise.all(Array.from({ length: 200 }, (_, i) => logs[i % 2]!.record(misused({ requestId: `req_${i}` }))))
    expect(await rows()).toHaveLength(MAX_ROWS_A_MINUTE)
  })

  it.each([
    [5, 7],
    [99, 100],
  ])('has %d rows, and after two nodes add one each at the same moment: %d', async (before, after) => {
    const log = openMisuseLog(bench.store)
    for (let i = 0; i < before; i++) await log.record(misused({ requestId: `req_${i}` }))
    const transaction = await bench.transaction()
    const uncommitted = { query: async <Row>(statement: Sql) => (await transaction.query(statement)).rows as Row[] }
    await openMisuseLog(uncommitted).record(misused({ requestId: 'req_first' }))
    const racing = log.record(misused({ requestId: 'req_second' }))
    await bench.untilBlocked(1)
    await transaction.query('COMMIT')
    transaction.release()
    await racing
    expect(await rows()).toHaveLength(after)
  })

  it('does not use up the rows of another key', async () => {
    const log = openMisuseLog(bench.store)
    await Promise.all(Array.from({ length: 150 }, () => log.record(misused())))
    await log.record(misused({ recordId: 'idem_other' }))
    expect(await rows()).toHaveLength(MAX_ROWS_A_MINUTE + 1)
  })

  it('gets rows again in the next minute', async () => {
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => openMisuseLog(bench.store).record(misused({ requestId: `${i}` }))),
    )
    const before = (await rows()).length
    await bench.db.query(`UPDATE misuse SET at = at - interval '1 minute', id = 'old_' || id`)
    await openMisuseLog(bench.store).record(misused({ requestId: 'req_later' }))
    expect(await rows()).toHaveLength(before + 1)
  })
})
