import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { STATES, type State } from '../../lib/idempotency/states'
import { readSamples, sampleStates, thinOutSamples, usualCounts } from '../../lib/metrics/state-samples'
import { type Bench, newKey, openBench, orderOf, scriptedGateway, timedOut } from '../support/boundary'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
beforeEach(() => bench.db.query('TRUNCATE state_samples'))
afterAll(() => bench.close())

const add = (agoMinutes: number, count: number, state: State = 'unknown', oldest: number | null = null) =>
  bench.db.query(
    `INSERT INTO state_samples (at, state, count, oldest_seconds)
     VALUES (date_trunc('minute', clock_timestamp()) - $1 * interval '1 minute', $2, $3, $4)`,
    [agoMinutes, state, count, oldest],
  )
const DAY_MINUTES = 24 * 60
const samples = () => bench.rows<{ n: number }>('SELECT count(*)::int AS n FROM state_samples')

describe('a sample of the record states', () => {
  it('has a count for every state, and the age of the oldest unknown outcome', async () => {
    const gateway = scriptedGateway()
    gateway.nextCall(timedOut)
    await bench.place(gateway, orderOf(), { key: newKey() })
    await bench.place(gateway, orderOf(), { key: newKey() })
    await sampleStates(bench.store)
    const rows = await bench.rows<{ state: State; count: string; oldest_seconds: number | null }>(
      'SELECT state, count, oldest_seconds FROM state_samples',
    )
    expect(Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]))).toEqual({
      ...Object.fromEntries(STATES.map((state) => [state, 0])),
      completed: 1,
      unknown: 1,
    })
    expect(rows.filter(({ oldest_seconds }) => oldest_seconds !== null).map(({ state }) => state)).toEqual(['unknown'])
  })

  it('is taken once per minute when several nodes take it at once', async () => {
    await bench.db.query('SELECT 1')
    await Promise.all([sampleStates(bench.store), sampleStates(bench.store), sampleStates(bench.store)])
    const [row] = await bench.rows<{ most: number }>(
      'SELECT max(n)::int AS most FROM (SELECT count(*) AS n FROM state_samples GROUP BY at, state) one',
    )
    expect(row!.most).toBe(1)
  })

  it('older than eight days is kept only if it is the first of its hour, and for 40 days at most', async () => {
    for (const day of [7, 9, 20]) for (let minute = 0; minute < 180; minute++) await add(day * DAY_MINUTES + minute, 1)
    await add(41 * DAY_MINUTES, 1)
    await thinOutSamples(bench.store)
    const rows = await bench.rows<{ days: number; n: number }>(`
      SELECT round(extract(epoch FROM clock_timestamp() - at) / 86400)::int AS days, count(*)::int AS n
      FROM state_samples GROUP BY days ORDER BY days`)
    // three hours, of which the first and the last may be cut
    expect(rows.map(({ days }) => days)).toEqual([7, 9, 20])
    expect(rows[0]!.n).toBe(180)
    for (const { n } of rows.slice(1)) expect([3, 4]).toContain(n)
    expect(await thinOutSamples(bench.store)).toBe(0)
  })
})

describe('the usual count of a state', () => {
  it('is null before there is a day of samples', async () => {
    await add(5, 900)
    await add(120, 900)
    expect((await usualCounts(bench.store)).unknown).toBeNull()
  })

  it('is the median of the same hour on the last seven days, without other hours and without today', async () => {
    for (let day = 1; day <= 7; day++)
      for (const minute of [-20, -10, 0, 10, 20]) await add(day * DAY_MINUTES + minute, day)
    for (let day = 1; day <= 7; day++) await add(day * DAY_MINUTES + 300, 5000)
    await add(8 * DAY_MINUTES, 5000)
    await add(1, 5000)
    expect(await usualCounts(bench.store)).toEqual({
      ...Object.fromEntries(STATES.map((state) => [state, null])),
      unknown: 4,
    })
  })
})

describe('the history of state samples', () => {
  it('has a point for each step of the window, oldest first', async () => {
    for (let minute = 0; minute < 120; minute++) await add(minute, minute < 30 ? 10 : 2, 'unknown', minute)
    const points = await readSamples(bench.store, { windowMs: HOUR, stepMs: 10 * MINUTE })
    expect(points.length).toBeGreaterThanOrEqual(6)
    expect(points.length).toBeLessThanOrEqual(7)
    expect(points.map(({ at }) => at.getTime())).toEqual(points.map(({ at }) => at.getTime()).toSorted((a, b) => a - b))
    expect(points[0]!.counts.unknown).toBe(2)
    expect(points.at(-1)!.counts.unknown).toBe(10)
    expect(points.at(-1)!.oldestUnknownSeconds).toBeLessThan(20)
    expect(await samples()).toEqual([{ n: 120 }])
  })
})
