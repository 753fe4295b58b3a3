// The numbers of one tenant at one endpoint, in plain memory: every request counts several, so counting must cost next
// to nothing. Prometheus reads their totals when it asks; what the store lacks of them is collected for the next flush.
import type { Metric } from 'prom-client'
import {
  BUCKETS,
  bucketOf,
  COUNTER_NAMES,
  COUNTERS,
  type Counted,
  type CounterName,
  type Labels,
  PREFIX,
} from './names'
import { nameOfNumber, type Unsaved, type UnsavedNumber } from './unsaved'

export interface AllSeries {
  /** Begins at zero when its tenant is first met: one that is born with its first event has no rate. */
  of(labels: Labels): Series
  /** As Prometheus is to see them. */
  metrics: readonly Metric[]
  /** Moves what was counted since the last time. */
  collect(into: Unsaved<UnsavedNumber>): void
}

export function openSeries(): AllSeries {
  const byTenant = new Map<string, Map<string, Series>>()
  const all: Series[] = []

  function of({ tenantId, endpoint }: Labels): Series {
    const known = byTenant.get(tenantId)?.get(endpoint)
    if (known) return known
    const fresh = new Series({ tenantId, endpoint })
    byTenant.set(tenantId, new Map(byTenant.get(tenantId)).set(endpoint, fresh))
    all.push(fresh)
    return fresh
  }

  const counters = COUNTER_NAMES.map((name) =>
    metric(`${name}_total`, 'counter', COUNTERS[name], () =>
      all.map(({ labels, totals }) => ({ labels, value: totals[name] })),
    ),
  )
  const duration = metric(
    'duration_seconds',
    'histogram',
    'Keyed requests from arrival to answer, waiting and the provider included',
    () => all.flatMap((one) => one.durationValues(`${PREFIX}duration_seconds`)),
  )
  const collect = (into: Unsaved<UnsavedNumber>) => {
    for (const series of all) series.collect(into)
  }
  return { of, metrics: [...counters, duration], collect }
}

interface Value {
  labels: Record<string, string | number>
  value: number
  metricName?: string
}

// The library's own counters and histograms look up their labels by a hash of them, at every request. What it asks of a
// metric is no more than this; its types want one of its classes.
function metric(name: string, type: 'counter' | 'histogram', help: string, values: () => Value[]): Metric {
  const told = { name: `${PREFIX}${name}`, help, type, aggregator: 'sum' }
  return { ...told, get: async () => ({ ...told, values: values() }), reset() {} } as unknown as Metric
}

const COUNTED = Object.keys(BUCKETS) as Counted[]

/** A place for every bucket of everything that is counted. */
const noCounts = () =>
  Object.fromEntries(COUNTED.map((name) => [name, BUCKETS[name].map(() => 0)])) as Record<Counted, number[]>

export class Series {
  readonly #labels: Labels
  readonly totals = Object.fromEntries(COUNTER_NAMES.map((name) => [name, 0])) as Record<CounterName, number>
  readonly durations: number[] = BUCKETS.duration.map(() => 0)
  durationSum = 0
  /** What the store lacks. */
  readonly #unsaved = noCounts()
  /** When the first of it was counted; null where there is nothing. */
  #sinceMs: number | null = null

  constructor(labels: Labels) {
    this.#labels = labels
  }

  count(name: CounterName, value = 1): void {
    this.totals[name] += value
    this.keep(name, 0, value)
  }

  took(seconds: number): void {
    const bucket = bucketOf('duration', seconds)
    this.durations[bucket]!++
    this.durationSum += seconds
    this.keep('duration', bucket)
  }

  /** For the store alone. */
  keep(counted: Counted, bucket: number, value = 1): void {
    this.#unsaved[counted][bucket]! += value
    this.#sinceMs ??= performance.now()
  }

  collect(into: Unsaved<UnsavedNumber>): void {
    if (this.#sinceMs === null) return
    for (const metric of COUNTED) {
      const counts = this.#unsaved[metric]
      for (const [i, bucket] of BUCKETS[metric].entries()) {
        if (counts[i] === 0) continue
        const number = { metric, ...this.#labels, bucket, value: counts[i]!, countedMs: this.#sinceMs }
        into.add(nameOfNumber(number), number)
        counts[i] = 0
      }
    }
    this.#sinceMs = null
  }

  /** Cumulative, as Prometheus wants them. */
  durationValues(name: string): Value[] {
    const { labels } = this
    let upTo = 0
    const buckets = this.durations.map((count, i) => {
      upTo += count
      return { labels: { le: BUCKETS.duration[i]!, ...labels }, value: upTo, metricName: `${name}_bucket` }
    })
    return [
      ...buckets,
      { labels, value: this.durationSum, metricName: `${name}_sum` },
      { labels, value: upTo, metricName: `${name}_count` },
    ]
  }

  get labels(): { endpoint: string; tenant: string } {
    return { endpoint: this.#labels.endpoint, tenant: this.#labels.tenantId }
  }
}
