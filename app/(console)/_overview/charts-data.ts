// What the charts draw, made of the numbers of a window: one point for each step, with everything that is shown of it.
// Pure.
import type { Trends } from '../../../lib/console/overview-trends'
import type { Stats } from '../../../lib/console/stats'
import { keysHref, type View } from './window'

export interface Point {
  at: string
  /** Its numbers will grow. */
  filling: boolean
  created: number
  replay: number
  inProgress: number
  retry: number
  misuse: number
  unknown: number
  zombies: number
  late: number
  /** Of the answered: how many were replays. */
  ratio: number | null
  /** Seconds. */
  p50: number | null
  p95: number | null
  p99: number | null
  oldest: number | null
  resolution: number | null
}

export const DECISIONS = ['created', 'replay', 'inProgress', 'retry', 'misuse', 'unknown'] as const
export type Decision = (typeof DECISIONS)[number]

export interface ChartsData {
  view: View
  stepSeconds: number
  points: Point[]
  totals: Record<Decision | 'zombies' | 'late', number>
  replayRatio: number | null
  p99: number | null
  oldestUnknownSeconds: number
  resolutionP50: number | null
  usual: Trends['usual']
  gatewayTimeLimitSeconds: number
  /** Where the rows of a total are, where there are any. */
  links: Partial<Record<Decision, string>>
}

const ratioOf = (replay: number, created: number): number | null =>
  replay + created > 0 ? replay / (replay + created) : null

export function chartsData(stats: Stats, trends: Trends, view: View, gatewayTimeLimitSeconds: number): ChartsData {
  const { totals } = stats
  return {
    view,
    stepSeconds: stats.step,
    points: stats.series.map((step, i) => ({
      at: step.at,
      filling: step.filling,
      created: step.reserve_created,
      replay: step.reserve_replay,
      inProgress: step.reserve_in_progress,
      retry: step.reserve_failed_retry,
      misuse: step.reserve_key_misuse,
      unknown: step.reserve_unknown,
      zombies: step.zombie_key,
      late: step.late_result,
      ratio: ratioOf(step.reserve_replay, step.reserve_created),
      p50: stats.latency.series[i]!.p50,
      p95: stats.latency.series[i]!.p95,
      p99: stats.latency.series[i]!.p99,
      oldest: trends.oldestUnknown[i] ?? null,
      resolution: trends.resolution.series[i] ?? null,
    })),
    totals: {
      created: totals.reserve_created,
      replay: totals.reserve_replay,
      inProgress: totals.reserve_in_progress,
      retry: totals.reserve_failed_retry,
      misuse: totals.reserve_key_misuse,
      unknown: totals.reserve_unknown,
      zombies: totals.zombie_key,
      late: totals.late_result,
    },
    replayRatio: ratioOf(totals.reserve_replay, totals.reserve_created),
    p99: stats.latency.p99,
    oldestUnknownSeconds: stats.oldestUnknownSeconds,
    resolutionP50: trends.resolution.p50,
    usual: trends.usual,
    gatewayTimeLimitSeconds,
    links: {
      created: keysHref(view, { createdFrom: stats.from }),
      replay: keysHref(view, { sort: '-replayCount' }),
      misuse: misuseHref(view, { from: stats.from }),
      unknown: keysHref(view, { state: 'unknown' }),
    },
  }
}

function misuseHref({ tenant, endpoint }: Pick<View, 'tenant' | 'endpoint'>, more: Record<string, string>): string {
  const query = new URLSearchParams(more)
  if (tenant !== undefined) query.set('tenant', tenant)
  if (endpoint !== undefined) query.set('endpoint', endpoint)
  return `/misuse?${query}`
}

/** The keys that were made in a step. */
export const keysOfStep = ({ view, stepSeconds }: ChartsData, { at }: Point): string =>
  keysHref(view, { createdFrom: at, createdTo: new Date(Date.parse(at) + stepSeconds * 1000).toISOString() })

export const misuseOfStep = ({ view, stepSeconds }: ChartsData, { at }: Point): string =>
  misuseHref(view, { from: at, to: new Date(Date.parse(at) + stepSeconds * 1000).toISOString() })
