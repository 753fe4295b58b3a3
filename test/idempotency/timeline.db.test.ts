// A timeline is bounded: attempts and look-ups beyond the first and the last 50 are summed up by the statement that
// appends, and what is read from a timeline stays true.
import sql from 'sql-template-tag'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { HAS_EVIDENCE, UNKNOWN_SINCE } from '../../lib/idempotency/store/event'
import { reschedule } from '../../lib/idempotency/store/reschedule'
import { type Bench, newKey, openBench, orderOf, refused, scriptedGateway, timedOut, toldBy } from '../support/boundary'

let bench: Bench
let key: string
const body = orderOf()
const gateway = scriptedGateway()

beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(() => {
  key = newKey()
})

type Told = { event: string; at: string; attempt?: number; until?: string; attempts?: number; lookUps?: number }
const timeline = async () => (await bench.recordOf(key)).timeline as Told[]

async function attempts(count: number, script = refused): Promise<void> {
  for (let attempt = 1; attempt <= count; attempt++) {
    gateway.nextCall(script)
    await bench.place(gateway, { ...body, customerId: `cus_${key}` }, { key })
  }
}

async function lookUps(count: number): Promise<void> {
  const { id, attempt } = await bench.recordOf(key)
  const each = {
    recordId: id,
    attempt,
    by: 'test',
    verdict: 'unreachable',
    intervalMs: 1,
    maxAttempts: 10_000,
  } as const
  for (let lookUp = 1; lookUp <= count; lookUp++) await reschedule(bench.store, each)
}

const sinceUnknown = async () => {
  const [row] = await bench.store.query<{ since: Date | null; evidence: boolean }>(
    sql`SELECT ${UNKNOWN_SINCE} AS since, ${HAS_EVIDENCE} AS evidence FROM idempotency_records r WHERE key = ${key}`,
  )
  return row!
}

describe('a timeline', () => {
  it('keeps every event of 100 attempts', async () => {
    await attempts(100)
    const all = await timeline()
    expect(all).toHaveLength(200)
    expect(all.some(({ event }) => event === 'summed_up')).toBe(false)
  })

  it('keeps the first and last 50 attempts, and one event that sums up those in between', async () => {
    await attempts(100)
    const before = await timeline()
    await attempts(30)
    const all = await timeline()
    expect(all).toHaveLength(201)
    const [summary] = all.splice(100, 1)
    expect(summary).toMatchObject({ event: 'summed_up', attempts: 30, lookUps: 0, at: before[100]!.at })
    expect(all.slice(0, 100)).toEqual(before.slice(0, 100))
    expect(all.slice(100).map(({ event, attempt }) => `${event} ${attempt}`)).toEqual(
      Array.from({ length: 50 }, (_, i) => [`claimed ${81 + i}`, `released ${81 + i}`]).flat(),
    )
    expect(all.map(({ at }) => Date.parse(at))).toEqual(all.map(({ at }) => Date.parse(at)).toSorted((a, b) => a - b))
    expect(Date.parse(summary!.until!)).toBeLessThanOrEqual(Date.parse(all[100]!.at))
    expect(Date.parse(summary!.until!)).toBeGreaterThanOrEqual(Date.parse(summary!.at))
    // the last move of a long timeline is an ordinary one
    expect(toldBy(await bench.place(gateway, { ...body, customerId: `cus_${key}` }, { key }))).toBe('201')
    expect((await timeline()).at(-1)).toMatchObject({ event: 'settled' })
  })

  it('sums up look-ups, and still says since when the outcome is unknown', async () => {
    await attempts(49)
    gateway.nextLookUp(() => ({ kind: 'not_found' }))
    await attempts(1, timedOut)
    await lookUps(40)
    const { since } = await sinceUnknown()
    await bench.rows(
      `UPDATE idempotency_records SET effect_evidence = false, version = version + 1,
         timeline = timeline || jsonb_build_array(jsonb_build_object('at', clock_timestamp(), 'event', 'evidence', 'by', 'webhook'))
       WHERE key = $1`,
      [key],
    )
    await lookUps(200)
    const all = await timeline()
    expect(all.find(({ event }) => event === 'summed_up')).toMatchObject({ attempts: 0, lookUps: 190 })
    expect(all.filter(({ event }) => event === 'looked_up')).toHaveLength(50)
    expect(all.filter(({ event }) => event === 'outcome_unknown')).toHaveLength(1)
    expect(await sinceUnknown()).toEqual({ since, evidence: true })
  })

  it('keeps only the last event that says since when the outcome is unknown', async () => {
    await attempts(60)
    for (const endsIn of ['lease_over', 'outcome_unknown', 'lease_over'])
      await bench.rows(
        `UPDATE idempotency_records SET timeline = timeline || jsonb_build_array(
           jsonb_build_object('at', clock_timestamp(), 'event', 'claimed', 'by', 'test', 'attempt', attempt),
           jsonb_build_object('at', clock_timestamp(), 'event', $2::text, 'by', 'test'),
           jsonb_build_object('at', clock_timestamp(), 'event', 'released', 'by', 'test')) WHERE key = $1`,
        [key, endsIn],
      )
    const { since } = await sinceUnknown()
    await attempts(60)
    const all = await timeline()
    expect(all.filter(({ event }) => event === 'outcome_unknown' || event === 'lease_over')).toMatchObject([
      { event: 'lease_over' },
    ])
    expect((await sinceUnknown()).since).toEqual(since)
  })

  it('stays of the same size however often its key is tried', async () => {
    const size = async () =>
      (
        await bench.rows<{ size: number }>(
          'SELECT length(timeline::text) AS size FROM idempotency_records WHERE key = $1',
          [key],
        )
      )[0]!.size
    await attempts(110)
    const before = await size()
    await attempts(110)
    expect((await size()) - before).toBeLessThan(1000)
  })

  it('is refused by the database when a long one loses its last event, or gets none', async () => {
    await attempts(110)
    for (const lost of ['timeline', 'timeline - 3', '(timeline - 4) - 3'])
      await expect(
        bench.rows(
          `UPDATE idempotency_records SET state = 'expired', version = version + 1, expired_at = clock_timestamp(),
             request = NULL, timeline = ${lost} WHERE key = $1`,
          [key],
        ),
      ).rejects.toThrow('is not a legal move with its event')
  })
})
