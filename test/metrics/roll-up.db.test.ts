import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { takeTurn } from '../../lib/maintenance/schedule'
import { rollUpMetrics } from '../../lib/metrics/roll-up'
import { type Bench, openBench } from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
beforeEach(() => bench.db.query('TRUNCATE metric_minutes, metric_hours, schedules, misuse'))
afterAll(() => bench.close())

/** In the middle of its minute, so that the test's own duration moves nothing. */
const add = (agoMinutes: number, value: number, changes: { metric?: string; tenant?: string; bucket?: string } = {}) =>
  bench.db.query(
    `INSERT INTO metric_minutes AS m (at, metric, endpoint, tenant_id, bucket, value)
     VALUES (date_trunc('minute', clock_timestamp()) - $1 * interval '1 minute', $2, 'POST /api/orders', $3, $4, $5)
     ON CONFLICT (metric, at, tenant_id, endpoint, bucket) DO UPDATE SET value = m.value + excluded.value`,
    [agoMinutes, changes.metric ?? 'reserve_created', changes.tenant ?? 'ten_a', changes.bucket ?? '', value],
  )

const hours = () =>
  bench.rows<{ hours_ago: number; metric: string; tenant_id: string; bucket: string; value: number }>(
    `SELECT round(extract(epoch FROM date_trunc('hour', clock_timestamp()) - at) / 3600)::int AS hours_ago,
       metric, tenant_id, bucket, value
     FROM metric_hours ORDER BY at, metric, tenant_id, bucket`,
  )
const sumOf = (rows: { value: number }[]) => rows.reduce((sum, { value }) => sum + value, 0)
const count = async (table: string) =>
  (await bench.rows<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`))[0]!.n

describe('a metrics roll-up', () => {
  it('sums the minutes of each hour, separately for each series and bucket', async () => {
    for (const minute of [0, 1, 60, 61, 62, 120]) await add(minute, 1)
    await add(0, 5, { tenant: 'ten_b' })
    await add(0, 7, { metric: 'duration', bucket: '0.1' })
    await add(0, 8, { metric: 'duration', bucket: '+Inf' })
    await rollUpMetrics(bench.store)
    const rows = await hours()
    expect(sumOf(rows.filter((row) => row.metric === 'reserve_created' && row.tenant_id === 'ten_a'))).toBe(6)
    expect(sumOf(rows.filter((row) => row.tenant_id === 'ten_b'))).toBe(5)
    expect(rows.filter((row) => row.metric === 'duration').map(({ bucket, value }) => [bucket, value])).toEqual([
      ['+Inf', 8],
      ['0.1', 7],
    ])
    const [minutes] = await bench.rows<{ same: boolean }>(`
      SELECT NOT EXISTS (
        SELECT date_trunc('hour', at) AS at, metric, tenant_id, endpoint, bucket, sum(value) AS value FROM metric_minutes
        GROUP BY 1, 2, 3, 4, 5
        EXCEPT SELECT at, metric, tenant_id, endpoint, bucket, value FROM metric_hours) AS same`)
    expect(minutes!.same).toBe(true)
  })

  it('changes nothing when it runs again', async () => {
    for (const minute of [0, 30, 90, 300]) await add(minute, 3)
    await rollUpMetrics(bench.store)
    const before = await hours()
    expect(await rollUpMetrics(bench.store)).toMatchObject({ changed: 0, minutesDeleted: 0, hoursDeleted: 0 })
    expect(await hours()).toEqual(before)
    expect(sumOf(before)).toBe(12)
  })

  it('counts everything once when several nodes run it at once', async () => {
    for (let minute = 0; minute < 180; minute++) await add(minute, 1)
    await Promise.all(Array.from({ length: 6 }, () => rollUpMetrics(bench.store)))
    expect(sumOf(await hours())).toBe(180)
  })

  it('includes counts that were flushed late', async () => {
    await add(5, 1)
    await add(50, 1)
    await rollUpMetrics(bench.store)
    // a node without a store for most of an hour
    await add(58, 10)
    expect((await rollUpMetrics(bench.store)).changed).toBeGreaterThan(0)
    expect(sumOf(await hours())).toBe(12)
  })

  it('catches up after a day without a worker', async () => {
    await add(30 * 60, 1)
    await rollUpMetrics(bench.store)
    for (let hour = 1; hour < 30; hour++) await add(hour * 60, 1)
    await rollUpMetrics(bench.store)
    const rows = await hours()
    expect(rows).toHaveLength(30)
    expect(sumOf(rows)).toBe(30)
  })

  it('reads only the hours that may have changed', async () => {
    for (let hour = 0; hour < 30; hour++) await add(hour * 60, 1)
    expect((await rollUpMetrics(bench.store)).hours).toBe(30)
    expect((await rollUpMetrics(bench.store)).hours).toBeLessThanOrEqual(3)
  })

  it('does nothing when nothing was counted', async () => {
    expect(await rollUpMetrics(bench.store)).toEqual({
      hours: 0,
      changed: 0,
      minutesDeleted: 0,
      hoursDeleted: 0,
      misuseDeleted: 0,
    })
  })
})

describe('the clean-up of old metrics', () => {
  it('deletes minutes after two days and leaves their hours unchanged', async () => {
    await add(47 * 60, 1)
    await add(50 * 60, 2)
    await add(50 * 60 + 1, 3)
    const { minutesDeleted } = await rollUpMetrics(bench.store)
    expect(minutesDeleted).toBe(2)
    expect(sumOf(await hours())).toBe(6)
    await rollUpMetrics(bench.store)
    expect(sumOf(await hours())).toBe(6)
  })

  it('deletes all old minutes, however many there are', async () => {
    await bench.db.query(
      `INSERT INTO metric_minutes SELECT date_trunc('minute', clock_timestamp()) - interval '3 days', 'm' || i, '', '', '', 1
       FROM generate_series(1, 25000) i`,
    )
    expect((await rollUpMetrics(bench.store)).minutesDeleted).toBe(25_000)
    expect(await count('metric_minutes')).toBe(0)
    expect(await count('metric_hours')).toBe(25_000)
  })

  it('deletes hours after forty days', async () => {
    for (const days of [29, 39, 41])
      await bench.db.query(
        `INSERT INTO metric_hours VALUES (date_trunc('hour', clock_timestamp()) - $1 * interval '1 day', 'm', '', '', '', 1)`,
        [days],
      )
    expect((await rollUpMetrics(bench.store)).hoursDeleted).toBe(1)
    expect((await hours()).map(({ hours_ago }) => hours_ago)).toEqual([39 * 24, 29 * 24])
  })
})

describe('misuse', () => {
  it('is kept for ninety days', async () => {
    for (const days of [0, 89, 91, 400])
      await bench.db.query(
        `INSERT INTO misuse (id, at, tenant_id, endpoint, key, record_id, changed_paths, request_id)
         VALUES ('mis_' || $1::int, clock_timestamp() - $1::int * interval '1 day', 't', 'e', 'k', 'r', '{}', 'q')`,
        [days],
      )
    expect((await rollUpMetrics(bench.store)).misuseDeleted).toBe(2)
    expect(await count('misuse')).toBe(2)
  })
})

describe('the turn of a scheduled job', () => {
  it('goes to one node per interval', async () => {
    const turns = await Promise.all(Array.from({ length: 8 }, () => takeTurn(bench.store, 'metrics', 60_000)))
    expect(turns.filter(Boolean)).toHaveLength(1)
  })
})
