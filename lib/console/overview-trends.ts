// What the charts show beside the counters: how long outcomes stay unknown, and what is usual for a window like this one,
// which is the median of the days before at the same hours.
import { databaseNowMs } from '../db/clock'
import type { Store } from '../db/store'
import { percentile, sizeOf } from '../metrics/percentile'
import { readSamples } from '../metrics/state-samples'
import { bucketsOf, countOf, type Measured, readMeasured, type Scope } from './measured'
import { STEPS } from './stats'
import type { Window } from './window'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const USUAL_DAYS = 7
/** Of a day that has fewer requests a percentile or a ratio says nothing. */
const ENOUGH = 20

export interface Trends {
  /** Seconds that half of those took that were found out in the step; null where none was. */
  resolution: { p50: number | null; count: number; series: (number | null)[] }
  /** Seconds, at most in the step; null where it is not known, or of one tenant or endpoint. */
  oldestUnknown: (number | null)[]
  /** Null where there is no day to compare with, or the window is longer than a day. */
  usual: { misuse: number | null; replayRatio: number | null; p99Seconds: number | null }
}

export async function readTrends(
  store: Pick<Store, 'query'>,
  { window, ...scope }: { window: Window } & Scope,
): Promise<Trends> {
  const nowMs = databaseNowMs()
  const { stepMs, steps, from } = STEPS[window]
  const fromMs = (Math.floor(nowMs / stepMs) - steps + 1) * stepMs
  const isAll = scope.tenant === undefined && scope.endpoint === undefined
  const [measured, samples, usual] = await Promise.all([
    readMeasured(store, ['resolution'], { fromMs, stepMs, from }, scope, nowMs),
    isAll ? readSamples(store, { windowMs: nowMs - fromMs, stepMs }) : [],
    readUsual(store, window, scope, nowMs),
  ])
  const moments = Array.from({ length: steps }, (_, step) => fromMs + step * stepMs)
  const oldest = new Map(samples.map(({ at, oldestUnknownSeconds }) => [at.getTime(), oldestUnknownSeconds]))
  const found = bucketsOf(measured, 'resolution')
  return {
    resolution: {
      p50: percentile('resolution', found, 0.5),
      count: sizeOf(found),
      series: moments.map((atMs) => percentile('resolution', measured.get(atMs)?.get('resolution') ?? {}, 0.5)),
    },
    oldestUnknown: moments.map((atMs) => oldest.get(atMs) ?? null),
    usual,
  }
}

const NOTHING: Trends['usual'] = { misuse: null, replayRatio: null, p99Seconds: null }

async function readUsual(
  store: Pick<Store, 'query'>,
  window: Window,
  scope: Scope,
  nowMs: number,
): Promise<Trends['usual']> {
  if (window !== '1h' && window !== '24h') return NOTHING
  const metrics = ['reserve_key_misuse', 'reserve_created', 'reserve_replay', 'duration']
  const fromMs = (Math.floor(nowMs / HOUR_MS) - USUAL_DAYS * 24) * HOUR_MS
  const stretch = { fromMs, stepMs: window === '1h' ? HOUR_MS : DAY_MS, from: 'hours' } as const
  const measured = await readMeasured(store, metrics, stretch, scope, nowMs)
  const days: Measured[] = []
  for (const [atMs, step] of measured) {
    // Today is what is compared, and of the first day only a part was read.
    const isWhole = atMs >= fromMs && nowMs - atMs >= DAY_MS
    if (isWhole && (window === '24h' || isSameHour(atMs, nowMs))) days.push(new Map([[atMs, step]]))
  }
  return {
    misuse: median(days.map((day) => totalOf(day, 'reserve_key_misuse'))),
    replayRatio: median(days.flatMap((day) => replayRatioOf(day) ?? [])),
    p99Seconds: median(days.flatMap((day) => p99Of(day) ?? [])),
  }
}

const isSameHour = (atMs: number, nowMs: number): boolean =>
  Math.floor(atMs / HOUR_MS) % 24 === Math.floor(nowMs / HOUR_MS) % 24

const totalOf = (day: Measured, metric: string): number =>
  [...day.values()].reduce((sum, step) => sum + countOf(step, metric), 0)

function replayRatioOf(day: Measured): number | null {
  const replays = totalOf(day, 'reserve_replay')
  const all = replays + totalOf(day, 'reserve_created')
  return all < ENOUGH ? null : replays / all
}

function p99Of(day: Measured): number | null {
  const buckets = bucketsOf(day, 'duration')
  return sizeOf(buckets) < ENOUGH ? null : percentile('duration', buckets, 0.99)
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  if (sorted.length === 0) return null
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
