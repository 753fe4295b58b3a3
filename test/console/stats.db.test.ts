// The numbers of a window: aligned, without gaps, from the minutes and from the hours, and what follows from them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { adviseOn } from '../../lib/console/advice'
import { readStats, Stats } from '../../lib/console/stats'
import type { Window } from '../../lib/console/window'
import { readDatabaseClock } from '../../lib/db/clock'
import { COUNTER_NAMES } from '../../lib/metrics/names'
import { rollUpMetrics } from '../../lib/metrics/roll-up'
import { type Bench, openBench } from '../support/boundary'

const ORDERS = 'POST /api/orders'
const REFUNDS = 'POST /api/orders/{id}/refunds'
const SETTINGS = { leaseSeconds: 60, gatewayTimeLimitSeconds: 10, retentionSeconds: 86_400 }

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
  await readDatabaseClock(bench.store)
  await bench.db.query(
    `INSERT INTO tenants (id, name, retention_hours) VALUES ('ten_a', 'acme', 72), ('ten_b', 'other', NULL)`,
  )
})
beforeEach(() => bench.db.query('TRUNCATE metric_minutes, metric_hours'))
afterAll(() => bench.close())

interface Given {
  metric?: string
  tenant?: string
  endpoint?: string
  bucket?: string
}
const add = (minutesAgo: number, value: number, given: Given = {}) =>
  bench.db.query(
    `INSERT INTO metric_minutes AS m (at, metric, endpoint, tenant_id, bucket, value)
     VALUES (date_trunc('minute', clock_timestamp()) - $1 * interval '1 minute', $2, $3, $4, $5, $6)
     ON CONFLICT (metric, at, tenant_id, endpoint, bucket) DO UPDATE SET value = m.value + excluded.value`,
    [
      minutesAgo,
      given.metric ?? 'reserve_created',
      given.endpoint ?? ORDERS,
      given.tenant ?? 'ten_a',
      given.bucket ?? '',
      value,
    ],
  )

const stats = (window: Window, scope: { tenant?: string; endpoint?: string } = {}) =>
  readStats(bench.store, SETTINGS, { window, ...scope })

const STEPS = [
  ['1h', 60, 60],
  ['24h', 600, 144],
  ['7d', 3600, 168],
  ['30d', 21_600, 120],
] as const

describe.each(STEPS)('the statistics window %s', (window, step, count) => {
  it('has a row for each step, aligned to the clock, and only the last row is incomplete', async () => {
    const read = await stats(window)
    expect(Stats.parse(read)).toEqual(read)
    expect(read).toMatchObject({ window, step })
    expect(read.series).toHaveLength(count)
    expect(read.latency.series).toHaveLength(count)
    const times = read.series.map(({ at }) => Date.parse(at) / 1000)
    for (const [i, at] of times.entries()) expect(at).toBe(times[0]! + i * step)
    expect(times[0]! % step).toBe(0)
    expect(read.from).toBe(read.series[0]!.at)
    expect(read.series.map(({ filling }) => filling)).toEqual([...Array(count - 1).fill(false), true])
    expect(Date.parse(read.to)).toBeGreaterThanOrEqual(times.at(-1)! * 1000)
  })

  it('has zeros where nothing happened', async () => {
    const read = await stats(window)
    const zeros = Object.fromEntries(COUNTER_NAMES.map((name) => [name, 0]))
    expect(read.totals).toEqual(zeros)
    for (const row of read.series) expect(row).toMatchObject(zeros)
    expect(read.latency).toMatchObject({ p50: null, p95: null, p99: null, count: 0 })
    expect(read.replayDelay).toEqual({ p50: null, p95: null, p99: null, p999: null, count: 0 })
  })

  it('counts each event once, whether it is rolled up yet or not', async () => {
    const inWindow = [
      0,
      1,
      30,
      ...(window === '1h' ? [] : [90, 400, 1300]),
      ...(window.endsWith('d') ? [1500, 2800] : []),
    ]
    for (const minutes of inWindow) await add(minutes, 2)
    await add(60 * 24 * 45, 1000)
    const before = await stats(window)
    await rollUpMetrics(bench.store)
    const after = await stats(window)
    expect(after.totals.reserve_created).toBe(2 * inWindow.length)
    const sum = after.series.reduce((total, row) => total + row.reserve_created, 0)
    expect(sum).toBe(2 * inWindow.length)
    // Hours are there once they were rolled up; the last two are always there.
    if (!window.endsWith('d')) expect(before.totals).toEqual(after.totals)
  })
})

describe('a statistics scope', () => {
  beforeEach(async () => {
    await add(1, 1, { tenant: 'ten_a' })
    await add(1, 10, { tenant: 'ten_b' })
    await add(1, 100, { tenant: 'ten_b', endpoint: REFUNDS })
  })

  it.each([
    [{}, 111],
    [{ tenant: 'ten_b' }, 110],
    [{ tenant: 'acme' }, 1],
    [{ tenant: 'nobody' }, 0],
    [{ endpoint: ORDERS }, 11],
    [{ endpoint: 'refunds' }, 100],
    [{ tenant: 'other', endpoint: ORDERS }, 10],
    [{ endpoint: 'nothing' }, 0],
  ])('of %j counts %d reservations', async (scope, expected) => {
    for (const window of ['1h', '7d'] as const)
      expect((await stats(window, scope)).totals.reserve_created).toBe(expected)
  })
})

describe('the latency in the statistics', () => {
  it('is interpolated from histogram buckets, for each step and for the window', async () => {
    await add(5, 90, { metric: 'duration', bucket: '0.1' })
    await add(5, 10, { metric: 'duration', bucket: '1' })
    await add(2, 100, { metric: 'duration', bucket: '0.001' })
    const { latency } = await stats('1h')
    expect(latency.count).toBe(200)
    expect(latency.p50).toBeCloseTo(0.001)
    expect(latency.p95).toBeCloseTo(0.1)
    const five = latency.series.find(({ count, p99 }) => count === 100 && p99! > 0.5)!
    expect(five.p50).toBeCloseTo(0.05 + 0.05 * (50 / 90))
    expect(five.p99).toBeCloseTo(0.5 + 0.5 * 0.9)
  })
})

describe('the advice on lease and retention', () => {
  it('is not given from too few samples, and says so', () => {
    const { lease, retention } = adviseOn(SETTINGS, { '0.1': 499 }, { '1': 999 })
    expect(lease).toMatchObject({ enough: false, samples: 499, recommendedSeconds: null, warn: false })
    expect(retention).toMatchObject({ enough: false, samples: 999, recommendedSeconds: null, warn: false })
  })

  it('recommends a lease of three times the p99, and warns of a lease below twice the p99', () => {
    const slow = { '10': 1000, '30': 1000 }
    const p99 = 10 + 20 * 0.98
    const { lease } = adviseOn(SETTINGS, slow, {})
    expect(lease).toMatchObject({ enough: true, samples: 2000, recommendedSeconds: Math.ceil(3 * p99), warn: false })
    expect(lease.p99Seconds).toBeCloseTo(p99)
    expect(adviseOn({ ...SETTINGS, leaseSeconds: 59 }, slow, {}).lease.warn).toBe(true)
  })

  it('never recommends a lease too short for a node to start with', () => {
    expect(adviseOn(SETTINGS, { '0.001': 1000 }, {}).lease.recommendedSeconds).toBe(21)
  })

  it('recommends a retention that covers 99.9 % of the replay delays', () => {
    const delays = { '1': 9000, '43200': 985, '172800': 15 }
    const { retention } = adviseOn(SETTINGS, {}, delays)
    expect(retention).toMatchObject({ enough: true, recommendedSeconds: 172_800, warn: true })
    expect(adviseOn({ ...SETTINGS, retentionSeconds: 172_800 }, {}, delays).retention.warn).toBe(false)
    expect(adviseOn(SETTINGS, {}, { '1': 9999, '43200': 1 }).retention.recommendedSeconds).toBe(1)
  })

  it('uses attempts of a week and replay delays of a month, and a tenant’s own retention', async () => {
    await bench.db.query(
      `INSERT INTO metric_hours (at, metric, endpoint, tenant_id, bucket, value)
       SELECT date_trunc('hour', clock_timestamp()) - d * interval '1 day', metric, $1, 'ten_a', '1', 1000
       FROM generate_series(1, 29, 4) d, unnest(ARRAY['attempt', 'replay_delay']) metric`,
      [ORDERS],
    )
    await add(1, 7, { metric: 'attempt', bucket: '1' })
    const { advice } = await stats('1h')
    expect(advice.lease).toMatchObject({ samples: 2007, windowDays: 7, leaseSeconds: 60 })
    expect(advice.retention).toMatchObject({ samples: 8000, windowDays: 30, retentionSeconds: 86_400 })
    expect((await stats('1h', { tenant: 'acme' })).advice.retention.retentionSeconds).toBe(72 * 3600)
    expect((await stats('1h', { tenant: 'other' })).advice.retention.retentionSeconds).toBe(86_400)
  })
})
