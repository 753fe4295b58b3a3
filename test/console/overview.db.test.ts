import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readAttention } from '../../lib/console/attention'
import { readBackground } from '../../lib/console/overview'
import { readTrends } from '../../lib/console/overview-trends'
import { readStateMap } from '../../lib/console/state-map'
import { readDatabaseClock } from '../../lib/db/clock'
import { openStore, type Store } from '../../lib/db/store'
import { BUSY, fillBusyDay, TENANTS } from '../browser/busy-day'
import { cloneDatabase, type TestDatabase } from '../support/database'

let database: TestDatabase
let store: Store
let empty: TestDatabase
let emptyStore: Store
beforeAll(async () => {
  database = await cloneDatabase()
  empty = await cloneDatabase()
  store = openStore(database.url, { max: 4, applicationName: 'test' })
  emptyStore = openStore(empty.url, { max: 4, applicationName: 'test' })
  const db = new pg.Pool({ connectionString: database.url })
  await fillBusyDay(db)
  await db.end()
  await readDatabaseClock(store)
})
afterAll(async () => {
  await store.close()
  await emptyStore.close()
  await database.drop()
  await empty.drop()
})

describe('the attention list of the overview', () => {
  it('explains the largest group of unknown keys, expired leases by phase and misused paths', async () => {
    const background = await readBackground(store)
    expect(background).toMatchObject({
      unknownMostly: { tenantId: TENANTS.northwind, tenant: 'northwind', errorCode: 'timeout', count: 174 },
      deadLetters: { mostLookUps: 12 },
      expiredLeases: { beforeCall: 2, afterCall: 4 },
      misusePaths: { [TENANTS.kestrel]: { path: '$.items[0].quantity', share: 1 } },
      discrepancies: [{ kind: 'charge_without_order', count: BUSY.discrepancies }],
      storeErrorsAt: null,
      nextSweepAt: null,
    })
  })

  it('explains nothing in an empty store', async () => {
    expect(await readBackground(emptyStore)).toEqual({
      unknownMostly: null,
      deadLetters: null,
      expiredLeases: { beforeCall: 0, afterCall: 0, oldestAt: null },
      nextSweepAt: null,
      misusePaths: {},
      discrepancies: [],
      storeErrorsAt: null,
    })
  })

  it('has the count of each concern', async () => {
    const counts = Object.fromEntries((await readAttention(store)).map(({ concern, count }) => [concern, count]))
    expect(counts).toEqual({
      dead_letters: BUSY.deadLetters,
      oldest_unknown: BUSY.unknown,
      expired_leases: BUSY.expiredLeases,
      misuse_spikes: 1,
      replay_storms: BUSY.storms,
      open_discrepancies: BUSY.discrepancies,
      store_errors: 0,
    })
    expect((await readStateMap(store, { window: '1h' })).piling?.state).toBe('unknown')
  })
})

describe('the trends of the overview', () => {
  it('have a value per minute for the time to resolution and for the oldest unknown key', async () => {
    const { resolution, oldestUnknown } = await readTrends(store, { window: '1h' })
    expect(resolution.series).toHaveLength(60)
    expect(oldestUnknown).toHaveLength(60)
    // half of them between one and two minutes before the trouble, later up to ten
    expect(resolution.series[5]).toBeGreaterThan(60)
    expect(resolution.series[5]).toBeLessThanOrEqual(120)
    expect(resolution.series[55]).toBeGreaterThan(120)
    expect(oldestUnknown[30]! / 60).toBeGreaterThan(360)
  })

  it('take usual values from the same hour of previous days', async () => {
    const { usual } = await readTrends(store, { window: '1h' })
    expect(usual.misuse).toBe(12)
    expect(usual.replayRatio).toBeCloseTo(0.073, 2)
    expect(usual.p99Seconds).toBeCloseTo(0.9, 1)
    expect((await readTrends(store, { window: '24h' })).usual.misuse).toBe(12 * 24)
  })

  it('have no usual values for a week, for another tenant or for an empty store', async () => {
    const nothing = { misuse: null, replayRatio: null, p99Seconds: null }
    expect((await readTrends(store, { window: '7d' })).usual).toEqual(nothing)
    expect((await readTrends(emptyStore, { window: '1h' })).usual).toEqual(nothing)
    const other = await readTrends(store, { window: '1h', tenant: 'brightcart' })
    expect(other.usual).toEqual(nothing)
    expect(other.oldestUnknown.every((seconds) => seconds === null)).toBe(true)
  })
})
