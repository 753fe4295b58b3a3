// The numbers of a window: how many keys there are, what happened when, how long it took, and what follows from it. Steps
// are aligned to the clock, gaps are zeros, and the step that is still filling says so.
import sql from 'sql-template-tag'
import { z } from 'zod'
import { databaseNowMs } from '../db/clock'
import type { Store } from '../db/store'
import { STATES } from '../idempotency/states'
import { readGauges } from '../metrics/gauges'
import { COUNTER_NAMES, type CounterName } from '../metrics/names'
import { percentile, sizeOf } from '../metrics/percentile'
import { Advice, adviseOn, LEASE_WINDOW_DAYS, RETENTION_WINDOW_DAYS, type Settings } from './advice'
import { Attention, readAttention } from './attention'
import { bucketsOf, countOf, type Measured, readMeasured, type Scope, type Stretch } from './measured'
import { tenantNamed } from './tenant-named'
import { WINDOWS, type Window } from './window'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

export const STEPS: Record<Window, { stepMs: number; steps: number; from: Stretch['from'] }> = {
  '1h': { stepMs: MINUTE_MS, steps: 60, from: 'minutes' },
  '24h': { stepMs: 10 * MINUTE_MS, steps: 144, from: 'minutes' },
  '7d': { stepMs: HOUR_MS, steps: 168, from: 'hours' },
  '30d': { stepMs: 6 * HOUR_MS, steps: 120, from: 'hours' },
}

const counters = <Schema extends z.ZodType>(schema: Schema) =>
  Object.fromEntries(COUNTER_NAMES.map((name) => [name, schema])) as Record<CounterName, Schema>

const Seconds = z
  .number()
  .nullable()
  .meta({ id: 'MeasuredSeconds', description: 'Seconds; null where nothing was measured' })
const percentiles = { p50: Seconds, p95: Seconds, p99: Seconds, count: z.number() }
const moment = {
  at: z.iso.datetime(),
  filling: z.boolean().meta({ description: 'The step has not ended: its numbers will grow' }),
}

export const Stats = z
  .object({
    window: z.enum(WINDOWS),
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    step: z.int().meta({ description: 'Seconds' }),
    records: z
      .object(
        Object.fromEntries(
          STATES.map((state) => [state, z.object({ count: z.number(), estimated: z.boolean() })]),
        ) as Record<(typeof STATES)[number], z.ZodObject<{ count: z.ZodNumber; estimated: z.ZodBoolean }>>,
      )
      .meta({ description: 'Of all tenants and endpoints, now' }),
    oldestUnknownSeconds: z.number(),
    deadLetters: z.number(),
    totals: z.object(counters(z.number())).meta({ description: 'Over the window' }),
    series: z.array(z.object({ ...moment, ...counters(z.number()) })),
    latency: z.object({ ...percentiles, series: z.array(z.object({ ...moment, ...percentiles })) }),
    replayDelay: z
      .object({ ...percentiles, p999: Seconds })
      .meta({ description: 'From the first request to those that came for its answer' }),
    advice: Advice,
    attention: z.array(Attention).meta({ description: 'What needs somebody now, whatever the window' }),
  })
  .meta({ id: 'Stats', description: 'The numbers of a window' })
export type Stats = z.infer<typeof Stats>

export async function readStats(
  store: Store,
  settings: Settings,
  { window, ...scope }: { window: Window } & Scope,
): Promise<Stats> {
  const nowMs = databaseNowMs()
  const { stepMs, steps, from } = STEPS[window]
  const fromMs = (Math.floor(nowMs / stepMs) - steps + 1) * stepMs
  const over = (metrics: readonly string[], stretch: Stretch) => readMeasured(store, metrics, stretch, scope, nowMs)
  const days = (count: number): Stretch => ({ fromMs: nowMs - count * DAY_MS, stepMs: DAY_MS, from: 'hours' })
  const gaugesRead = readGauges(store)
  const [gauges, measured, attempts, delays, retentionSeconds, attention] = await Promise.all([
    gaugesRead,
    over([...COUNTER_NAMES, 'duration', 'replay_delay'], { fromMs, stepMs, from }),
    over(['attempt'], days(LEASE_WINDOW_DAYS)),
    over(['replay_delay'], days(RETENTION_WINDOW_DAYS)),
    retentionOf(store, scope.tenant, settings.retentionSeconds),
    readAttention(store, gaugesRead),
  ])
  const moments = Array.from({ length: steps }, (_, step) => fromMs + step * stepMs)
  const series = moments.map((atMs) => ({ ...momentAt(atMs, stepMs, nowMs), ...countsOf(measured.get(atMs)) }))
  return {
    window,
    from: new Date(fromMs).toISOString(),
    to: new Date(nowMs).toISOString(),
    step: stepMs / 1000,
    ...gauges,
    totals: Object.fromEntries(
      COUNTER_NAMES.map((name) => [name, series.reduce((sum, step) => sum + step[name], 0)]),
    ) as Record<CounterName, number>,
    series,
    latency: latencyOf(measured, moments, (atMs) => momentAt(atMs, stepMs, nowMs)),
    replayDelay: {
      ...percentilesOf('replay_delay', bucketsOf(measured, 'replay_delay')),
      p999: percentile('replay_delay', bucketsOf(measured, 'replay_delay'), 0.999),
    },
    advice: adviseOn(
      { ...settings, retentionSeconds },
      bucketsOf(attempts, 'attempt'),
      bucketsOf(delays, 'replay_delay'),
    ),
    attention,
  }
}

const momentAt = (atMs: number, stepMs: number, nowMs: number) => ({
  at: new Date(atMs).toISOString(),
  filling: atMs + stepMs > nowMs,
})

const countsOf = (step: ReturnType<Measured['get']>) =>
  Object.fromEntries(COUNTER_NAMES.map((name) => [name, countOf(step, name)])) as Record<CounterName, number>

const percentilesOf = (histogram: 'duration' | 'replay_delay', buckets: ReturnType<typeof bucketsOf>) => ({
  p50: percentile(histogram, buckets, 0.5),
  p95: percentile(histogram, buckets, 0.95),
  p99: percentile(histogram, buckets, 0.99),
  count: sizeOf(buckets),
})

function latencyOf(
  measured: Measured,
  moments: readonly number[],
  momentOf: (atMs: number) => { at: string; filling: boolean },
): Stats['latency'] {
  return {
    ...percentilesOf('duration', bucketsOf(measured, 'duration')),
    series: moments.map((atMs) => ({
      ...momentOf(atMs),
      ...percentilesOf('duration', measured.get(atMs)?.get('duration') ?? {}),
    })),
  }
}

/** A tenant's own setting overrides what holds for all. */
async function retentionOf(store: Store, tenant: string | undefined, otherwise: number): Promise<number> {
  if (tenant === undefined) return otherwise
  const [row] = await store.query<{ hours: number | null }>(sql`
    SELECT retention_hours AS hours FROM tenants WHERE id = ${tenantNamed(tenant)}`)
  return row?.hours == null ? otherwise : row.hours * 3600
}
