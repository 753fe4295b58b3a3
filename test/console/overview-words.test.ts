import { describe, expect, it } from 'vitest'
import { leaseWords, retentionWords, span } from '../../app/(console)/_overview/advice-words'
import { checked } from '../../app/(console)/_overview/attention-words'
import {
  countTicks,
  countWord,
  niceTicks,
  secondTicks,
  secondWord,
  timeTicks,
  timeWord,
} from '../../app/(console)/_overview/chart-scale'
import { lineEnds } from '../../app/(console)/_overview/line-ends'
import { rate, spokenRate } from '../../app/(console)/_overview/rate'
import { restOf, verdictOf } from '../../app/(console)/_overview/verdict-words'
import { hrefOf, viewOf } from '../../app/(console)/_overview/window'
import type { Attention } from '../../lib/console/attention'
import type { Background } from '../../lib/console/overview'
import type { StateMapView } from '../../lib/console/state-map'
import { FLOW_NAMES, type Flow } from '../../lib/idempotency/flows'
import { STATES, type State } from '../../lib/idempotency/states'

const NOTHING: Background = {
  unknownMostly: null,
  deadLetters: null,
  expiredLeases: { beforeCall: 0, afterCall: 0, oldestAt: null },
  nextSweepAt: null,
  misusePaths: {},
  discrepancies: [],
  storeErrorsAt: null,
}
const NOW = Date.parse('2026-11-16T14:32:07Z')
const told = (background: Partial<Background> = {}) => ({
  background: { ...NOTHING, ...background },
  pace: { settlesWithinSeconds: 210, gatewayTimeLimitSeconds: 10 },
  nowMs: NOW,
})

const keys = (query: string) => ({ list: 'keys' as const, query })
const QUIET: Attention[] = [
  { concern: 'dead_letters', count: 0, rows: keys('deadLettered=true') },
  { concern: 'oldest_unknown', count: 0, oldestSeconds: 0, rows: keys('state=unknown') },
  { concern: 'expired_leases', count: 0, rows: keys('state=in_progress') },
  { concern: 'misuse_spikes', count: 0, tenants: [], rows: { list: 'misuse', query: 'from=x' } },
  { concern: 'replay_storms', count: 0, keys: [], rows: keys('sort=-replayCount') },
  { concern: 'open_discrepancies', count: 0, rows: { list: 'discrepancies', query: 'state=open' } },
  { concern: 'store_errors', count: 0, rows: null },
]
const loud = (...changes: Partial<Attention>[]): Attention[] =>
  QUIET.map((concern) => ({ ...concern, ...changes.find((one) => one.concern === concern.concern) }))

const mapOf = (
  states: Partial<Record<State, Partial<StateMapView['states'][State]>>> = {},
  more: Partial<StateMapView> = {},
) =>
  ({
    window: '1h',
    states: Object.fromEntries(
      STATES.map((state) => [state, { count: 0, estimated: false, usual: null, history: [], ...states[state] }]),
    ),
    flows: Object.fromEntries(FLOW_NAMES.map((flow) => [flow, 0])) as Record<Flow, number>,
    flowLinks: {},
    stateLinks: {},
    piling: null,
    ...more,
  }) as StateMapView

describe('the attention list of the overview', () => {
  it('is empty when all seven checks are quiet', () => {
    const found = checked(QUIET, told())
    expect(found.rows).toEqual([])
    expect(found.quiet).toHaveLength(7)
    expect(verdictOf(mapOf(), found)).toBe('Nothing needs attention.')
    expect(restOf(mapOf(), found, 130)).toBe('All seven checks are quiet. The oldest unknown key is 2 min 10 s old.')
    expect(restOf(mapOf(), found, 0)).toBe('All seven checks are quiet. No outcome is unknown.')
  })

  it('leaves out an unknown outcome that is younger than reconciliation takes', () => {
    const young = loud({ concern: 'oldest_unknown', count: 11, oldestSeconds: 130 })
    expect(checked(young, told()).rows).toEqual([])
    expect(checked(young, told()).quiet[1]).toMatchObject({ value: '2 min 10 s, found out by itself' })
    const old = loud({ concern: 'oldest_unknown', count: 11, oldestSeconds: 211 })
    expect(checked(old, told()).rows[0]).toMatchObject({ title: 'Oldest unknown is 3 min 31 s' })
  })

  it('has its rows in a fixed order, each with a link to its keys or findings', () => {
    const found = checked(
      loud(
        { concern: 'dead_letters', count: 3 },
        { concern: 'oldest_unknown', count: 186, oldestSeconds: 24_060 },
        { concern: 'expired_leases', count: 6 },
        {
          concern: 'misuse_spikes',
          count: 1,
          tenants: [
            { id: 'ten_k', name: 'kestrel', count: 187, usual: 13, rows: { list: 'misuse', query: 'tenant=ten_k' } },
          ],
        },
        { concern: 'replay_storms', count: 3 },
        { concern: 'open_discrepancies', count: 2 },
      ),
      told({
        deadLetters: { oldestAt: '2026-11-16T07:51:00Z', mostLookUps: 12 },
        unknownMostly: { tenantId: 'ten_n', tenant: 'northwind', errorCode: 'timeout', count: 171 },
        expiredLeases: { beforeCall: 2, afterCall: 4, oldestAt: '2026-11-16T14:31:31Z' },
        nextSweepAt: '2026-11-16T14:32:31Z',
        misusePaths: { ten_k: { path: '$.items[0].quantity', share: 0.97 } },
        discrepancies: [{ kind: 'charge_without_order', count: 2, oldestAt: '2026-11-16T02:00:00Z' }],
      }),
    )
    expect(found.rows.map(({ title, detail, link }) => [title, detail, link?.words, link?.href])).toEqual([
      [
        '3 dead letters',
        '12 look-ups each and no answer. Only a person moves these on.',
        '3 keys',
        '/keys?deadLettered=true',
      ],
      [
        'Oldest unknown is 6 h 41 min',
        'When the provider answers, it takes 3 min 30 s at most. 171 of 186 are northwind, timeout.',
        '186 keys',
        '/keys?state=unknown',
      ],
      [
        '6 leases ran out',
        'The sweeper takes them in 24 s: 2 before the charge, 4 after it.',
        '6 keys',
        '/keys?state=in_progress',
      ],
      [
        'Misuse at kestrel is 14× its last day',
        '187 in the last hour, usually 13. Almost always /items/0/quantity differs.',
        '187 rejects',
        '/misuse?tenant=ten_k',
      ],
      ['3 keys are asked for again and again', expect.any(String), '3 keys', '/keys?sort=-replayCount'],
      [
        '2 open discrepancies',
        'Charged, and our ledger has no row.',
        '2 findings',
        '/reconciliation?discrepancies=open',
      ],
    ])
    expect(found.quiet.map(({ word }) => word)).toEqual(['Store errors'])
    expect(verdictOf(mapOf(), found)).toBe('3 dead letters wait for a person.')
    expect(restOf(mapOf(), found, 24_060)).toBe('Six things need attention.')
    const flows = { ...mapOf().flows, lost: 0.7, settled: 99, released: 0.3 }
    expect(restOf(mapOf({}, { flows }), found, 0)).toBe(
      'Six things need attention. Of the attempts of the last hour, 0.7 % lost their outcome.',
    )
  })

  it('says in one sentence which keys are piling up', () => {
    const piling = { state: 'unknown', grown: 174, inPerMinute: 4, outPerMinute: 1 } as const
    const map = mapOf({ unknown: { count: 186, usual: 12, history: [12] } }, { piling })
    expect(verdictOf(map, checked(QUIET, told()))).toBe('Unknown keys are piling up: 186, usually 12.')
  })

  it('words each concern correctly for a count of one', () => {
    for (const concern of [
      'dead_letters',
      'expired_leases',
      'replay_storms',
      'open_discrepancies',
      'store_errors',
    ] as const) {
      const [row] = checked(loud({ concern, count: 1 }), told()).rows
      expect(row!.title).toMatch(/^1 |^A /)
      expect(`${row!.title} ${row!.detail} ${row!.verdict}`).not.toMatch(/undefined|NaN| {2}|these|them\b/)
    }
  })
})

describe('the retention and lease advice', () => {
  const basis = { enough: true, samples: 4000, windowDays: 30 }
  const retention = { ...basis, p90Seconds: 2400, p99Seconds: 68_400, retentionSeconds: 86_400 }
  const lease = { ...basis, windowDays: 7, p99Seconds: 9.8, leaseSeconds: 60, recommendedSeconds: 30, warn: false }

  it('recommends a longer retention and names the share of replays that come too late', () => {
    const words = retentionWords({
      ...retention,
      p999Seconds: 111_600,
      recommendedSeconds: 172_800,
      tooLateShare: 0.008,
      warn: true,
    })
    expect(words).toMatchObject({ kind: 'change', title: `Keep keys longer: ${span(172_800)}, not ${span(86_400)}` })
    expect(words.detail).toContain('0.8 % of replays come after the key is gone and get a 410.')
    expect(words.scale!.marks).toHaveLength(3)
  })

  it('says that the retention is long enough', () => {
    const words = retentionWords({
      ...retention,
      p999Seconds: 40_000,
      recommendedSeconds: 43_200,
      tooLateShare: 0,
      warn: false,
    })
    expect(words).toMatchObject({ kind: 'keep', title: 'Keys are kept long enough' })
  })

  it('recommends more than 7 d when the replay delay is beyond the largest bucket', () => {
    const words = retentionWords({
      ...retention,
      p999Seconds: 604_800,
      recommendedSeconds: null,
      tooLateShare: 0.2,
      warn: true,
    })
    expect(words.title).toBe(`Keep keys longer: more than 7 d, not ${span(86_400)}`)
  })

  it('compares the lease with the measured p99', () => {
    expect(leaseWords(lease)).toMatchObject({
      kind: 'keep',
      title: 'The lease is long enough',
      detail: `${span(60)} is 6.1 times the measured p99. Three times is enough: ${span(30)} would free the key of a crashed owner sooner.`,
    })
    expect(leaseWords({ ...lease, leaseSeconds: 15, warn: true })).toMatchObject({
      kind: 'change',
      title: `Lengthen the lease: ${span(30)}, not ${span(15)}`,
    })
  })

  it('recommends nothing when too little was measured, and says so', () => {
    expect(leaseWords({ ...lease, enough: false, samples: 12 })).toMatchObject({ kind: 'unknown', scale: null })
    const few = {
      ...retention,
      enough: false,
      samples: 412,
      p999Seconds: 3,
      recommendedSeconds: null,
      tooLateShare: 0,
      warn: false,
    }
    expect(retentionWords(few).detail).toContain('412 replays measured in 30 days; it takes 1,000.')
  })
})

describe('a chart axis', () => {
  it('ends at a round number above the highest value', () => {
    expect(niceTicks(780, 3)).toEqual([0, 300, 600, 900])
    expect(niceTicks(45, 3)).toEqual([0, 20, 40, 60])
    expect(niceTicks(0, 3)).toEqual([0, 1])
    expect(countTicks(2, 3)).toEqual([0, 1, 2])
    expect(secondTicks(10.6, 4)).toEqual([0, 4, 8, 12])
    expect(secondTicks(24_060, 1)).toEqual([0, 43_200])
  })
  it('has one unit for all of its labels', () => {
    expect([0, 4, 8, 12].map((value) => secondWord(value, 12))).toEqual(['0', '4 s', '8 s', '12 s'])
    expect(secondWord(0.05, 0.2)).toBe('50 ms')
    expect(secondWord(43_200, 43_200)).toBe('12 h')
    expect(countWord(9000)).toBe('9,000')
    expect(countWord(60_000)).toBe('60k')
  })
  it('shows its times in the reader’s time zone', () => {
    expect(timeWord('2026-11-16T14:02:00Z', '1h', 'UTC')).toBe('14:02')
    expect(timeWord('2026-11-16T14:02:00Z', '1h', 'Europe/Berlin')).toBe('15:02')
    expect(timeWord('2026-11-16T23:30:00Z', '30d', 'Europe/Berlin')).toBe('17 Nov')
    const points = Array.from({ length: 60 }, (_, i) => ({ at: String(i) }))
    expect(timeTicks(points, 4)).toEqual(['0', '14', '29', '44', '59'])
  })
  it('separates the names of lines that end close to each other', () => {
    const points = [
      { a: 1, b: 2, c: 50 },
      { a: 1, b: 1.5, c: null },
    ]
    const ends = lineEnds(points, ['a', 'b', 'c'], { most: 100, height: 200 })
    expect(ends.a).toEqual({ index: 1, y: 198 })
    expect(ends.b!.y).toBe(185)
    expect(ends.c).toEqual({ index: 0, y: 100 })
  })
})

it('a rate is rounded to a precision that fits its size', () => {
  expect([0, 0.02, 0.34, 4.6, 612.3, 6120].map(rate)).toEqual([
    '0',
    '< 0.1/min',
    '0.3/min',
    '4.6/min',
    '612/min',
    '6,120/min',
  ])
  expect(spokenRate(0.02)).toBe('less than 0.1 a minute')
})

it('the address of the overview holds the chosen filters, and invalid filters are ignored', () => {
  expect(viewOf({})).toEqual({ window: '1h' })
  expect(viewOf({ window: '7d', tenant: 'acme', endpoint: 'POST /api/orders' })).toEqual({
    window: '7d',
    tenant: 'acme',
    endpoint: 'POST /api/orders',
  })
  expect(viewOf({ window: '5y', tenant: ['a', 'b'], endpoint: '' })).toEqual({ window: '1h' })
  expect(hrefOf({ window: '1h' })).toBe('/')
  expect(viewOf(Object.fromEntries(new URLSearchParams(hrefOf({ window: '24h', tenant: 'a&b' }).slice(2))))).toEqual({
    window: '24h',
    tenant: 'a&b',
  })
})
