import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { NARROW, WIDE } from '../../app/(console)/_overview/state-map-layout'
import { emphasisOf } from '../../lib/console/emphasis'
import { countStates } from '../../lib/console/state-counts'
import { hasHadKeys, readStateMap } from '../../lib/console/state-map'
import { readDatabaseClock } from '../../lib/db/clock'
import { FLOW_NAMES } from '../../lib/idempotency/flows'
import { STATES, type State } from '../../lib/idempotency/states'
import { type Bench, newKey, openBench, orderOf, refused, scriptedGateway, timedOut } from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
  await readDatabaseClock(bench.store)
})
beforeEach(() =>
  bench.db.query('TRUNCATE state_samples, metric_minutes, metric_hours, idempotency_records, orders CASCADE'),
)
afterAll(() => bench.close())

const move = (flow: string, agoMinutes: number, value: number, tenant = 'ten_bench') =>
  bench.db.query(
    `INSERT INTO metric_minutes AS m (at, metric, endpoint, tenant_id, bucket, value)
     VALUES (date_trunc('minute', clock_timestamp()) - $1 * interval '1 minute', 'move', 'POST /api/orders', $2, $3, $4)`,
    [agoMinutes, tenant, flow, value],
  )
const sample = (state: State, agoMinutes: number, count: number) =>
  bench.db.query(
    `INSERT INTO state_samples (at, state, count)
     VALUES (date_trunc('minute', clock_timestamp()) - $1 * interval '1 minute', $2, $3)`,
    [agoMinutes, state, count],
  )

describe('the state map’s drawing', () => {
  it('has a place for every state and every move within its frame, wide and narrow', () => {
    for (const layout of [WIDE, NARROW]) {
      expect(Object.keys(layout.boxes).toSorted()).toEqual([...STATES].toSorted())
      expect(Object.keys(layout.arrows).toSorted()).toEqual([...FLOW_NAMES].toSorted())
      for (const { x, y, w, h } of Object.values(layout.boxes)) {
        expect(x + w).toBeLessThanOrEqual(layout.width)
        expect(y + h).toBeLessThanOrEqual(layout.height)
      }
    }
  })
})

describe('the state map', () => {
  it('counts the keys of each state as the database has them', async () => {
    const gateway = scriptedGateway()
    gateway.nextCall(timedOut, timedOut, refused)
    for (let i = 0; i < 5; i++) await bench.place(gateway, orderOf(), { key: newKey() })
    const { states } = await readStateMap(bench.store, { window: '1h' })
    const counts = Object.fromEntries(STATES.map((state) => [state, states[state].count]))
    expect(counts).toEqual({
      pending: 0,
      in_progress: 0,
      completed: 2,
      failed_retryable: 1,
      unknown: 2,
      expired: 0,
    })
    expect(Object.values(states).some(({ estimated }) => estimated)).toBe(false)
  })

  it('gives the moves per minute along each arrow within the window', async () => {
    await move('reserved', 5, 120)
    await move('reserved', 30, 60)
    await move('lost', 10, 6)
    await move('reserved', 90, 6000)
    const hour = await readStateMap(bench.store, { window: '1h' })
    expect(hour.flows).toMatchObject({ reserved: 3, lost: 0.1, settled: 0 })
    const day = await readStateMap(bench.store, { window: '24h' })
    expect(day.flows.reserved).toBeCloseTo(6180 / 1440)
  })

  it('links each arrow to the keys of the state it leads to, and the arrow of deletion to nothing', async () => {
    const { flowLinks, stateLinks } = await readStateMap(bench.store, { window: '1h' })
    expect(flowLinks.lost).toBe('/keys?state=unknown')
    expect(flowLinks.reclaimed).toBe('/keys?state=in_progress')
    expect(flowLinks.deleted).toBeUndefined()
    expect(stateLinks.failed_retryable).toBe('/keys?state=failed_retryable')
  })

  it('of one tenant counts and links to that tenant’s keys only', async () => {
    const gateway = scriptedGateway()
    await bench.place(gateway, orderOf(), { key: newKey() })
    await bench.place(gateway, orderOf(), { key: newKey(), tenantId: 'ten_other' })
    await move('settled', 3, 60)
    await move('settled', 3, 600, 'ten_other')
    const map = await readStateMap(bench.store, { window: '1h', tenant: 'ten_bench', endpoint: 'POST /api/orders' })
    expect(map.states.completed).toMatchObject({ count: 1, usual: null, history: [] })
    expect(map.flows.settled).toBe(1)
    expect(map.stateLinks.completed).toBe('/keys?state=completed&tenant=ten_bench&endpoint=POST+%2Fapi%2Forders')
    expect(await countStates(bench.store, { endpoint: 'refunds' })).toMatchObject({
      completed: { count: 0, estimated: false },
    })
  })

  it('of one tenant marks a count as an estimate when there are more keys than are counted', async () => {
    await bench.rows('ALTER TABLE idempotency_records DISABLE TRIGGER ALL')
    await bench.rows(
      `INSERT INTO idempotency_records (id, tenant_id, endpoint, key, fingerprint, state, async, attempt, external,
         request_id, retention_seconds, created_at, expires_at, expired_at, timeline)
       SELECT 'idem_' || n, 'ten_large', 'POST /api/orders', 'key-0000000000-' || n, 'v1:' || repeat('0', 64), 'expired',
         false, 1, false, 'req', 60, now(), now(), now(), '[{}]' FROM generate_series(1, 21000) n`,
    )
    await bench.rows('ALTER TABLE idempotency_records ENABLE TRIGGER ALL')
    await bench.rows('ANALYZE idempotency_records')
    const { expired, completed } = await countStates(bench.store, { tenant: 'ten_large' })
    expect(completed).toEqual({ count: 0, estimated: false })
    expect(expired.estimated).toBe(true)
    expect(expired.count).toBeGreaterThan(20_000)
    expect(expired.count).toBeLessThan(23_000)
  })

  it('has at most sixty points of history, the oldest first', async () => {
    for (let minute = 0; minute < 70; minute++) await sample('unknown', minute, 70 - minute)
    const { history } = (await readStateMap(bench.store, { window: '1h' })).states.unknown
    expect(history.length).toBeGreaterThan(50)
    expect(history.length).toBeLessThanOrEqual(60)
    expect(history.toSorted((a, b) => a - b)).toEqual(history)
  })

  it('names the state that piles up, with its moves in and out per minute', async () => {
    const gateway = scriptedGateway()
    for (let i = 0; i < 9; i++) gateway.nextCall(timedOut)
    for (let i = 0; i < 9; i++) await bench.place(gateway, orderOf(), { key: newKey() })
    for (let day = 1; day <= 7; day++) await sample('unknown', day * 1440, 2)
    await sample('unknown', 55, 2)
    await move('lost', 3, 60)
    await move('reconciled', 3, 6)
    await move('not_executed', 3, 6)
    const { piling } = await readStateMap(bench.store, { window: '1h' })
    expect(piling).toEqual({ state: 'unknown', grown: 7, inPerMinute: 1, outPerMinute: 0.2 })
  })
})

describe('hasHadKeys', () => {
  it('is false before the first key, and still true when only the key’s order is left', async () => {
    expect(await hasHadKeys(bench.store)).toBe(false)
    await bench.place(scriptedGateway(), orderOf(), { key: newKey() })
    expect(await hasHadKeys(bench.store)).toBe(true)
    await bench.db.query('UPDATE orders SET record_id = NULL')
    await bench.db.query('ALTER TABLE idempotency_records DISABLE TRIGGER ALL')
    await bench.db.query('DELETE FROM idempotency_records')
    await bench.db.query('ALTER TABLE idempotency_records ENABLE TRIGGER ALL')
    expect(await hasHadKeys(bench.store)).toBe(true)
  })
})

describe('the emphasis of a state is', () => {
  it('“calm” when its count is as usual, however large', () => {
    expect(emphasisOf({ count: 921_000, usual: 918_000, history: [900_000] })).toBe('calm')
    expect(emphasisOf({ count: 15, usual: 10, history: [1] })).toBe('calm')
  })
  it('“calm” when the usual count is unknown, or the count is small', () => {
    expect(emphasisOf({ count: 500, usual: null, history: [] })).toBe('calm')
    expect(emphasisOf({ count: 4, usual: 0, history: [0] })).toBe('calm')
  })
  it('“above” when its count is more than one and a half times the usual', () => {
    expect(emphasisOf({ count: 16, usual: 10, history: [10] })).toBe('above')
  })
  it('“piling” only when its count is more than three times the usual and rising', () => {
    expect(emphasisOf({ count: 31, usual: 10, history: [12, 20] })).toBe('piling')
    expect(emphasisOf({ count: 31, usual: 10, history: [90, 60] })).toBe('above')
    expect(emphasisOf({ count: 31, usual: 10, history: [] })).toBe('above')
  })
})
