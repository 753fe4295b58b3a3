// The numbers of one tenant at one endpoint, in plain memory: every request counts several, so counting must cost next
// to nothing. Prometheus reads their totals when it asks; what the store lacks of them goes there with the next flush.
import type { Metric } from 'prom-client'
import { bucketIndexOf, COUNTER_NAMES, COUNTERS, type CounterName, DURATION_BOUNDS, type Labels, PREFIX } from './names'
import { nameOfNumber, SLOT_MS, type Unsaved, type UnsavedNumber } from './unsaved'

export interface AllSeries {
  /** Begins at zero when its tenant is first met: one that is born with its first event has no rate. */
  of(labels: Labels): Series
  /** As Prometheus is to see them. */
  metrics: readonly Metric[]
}

export function openSeries(unsaved: Unsaved<UnsavedNumber>): AllSeries {
  const byTenant = new Map<string, Map<string, Series>>()
  const all: Series[] = []

  function of({ tenantId, endpoint }: Labels): Series {
    const known = byTenant.get(tenantId)?.get(endpoint)
    if (known) return known
    const fresh = new Series({ tenantId, endpoint }, unsaved)
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
  return { of, metrics: [...counters, duration] }
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

const boundOf = (bucket: number): string => String(DURATION_BOUNDS[bucket] ?? '+Inf')

export class Series {
  readonly #labels: Labels
  readonly #unsaved: Unsaved<UnsavedNumber>
  readonly totals = Object.fromEntries(COUNTER_NAMES.map((name) => [name, 0])) as Record<CounterName, number>
  /** Not cumulative; the last is for what is beyond all bounds. */
  readonly durations: number[] = Array(DURATION_BOUNDS.length + 1).fill(0)
  durationSum = 0
  /** Those that are added to right now, by a short name: good until the next flush, or the next minute. */
  readonly #open = new Map<string, UnsavedNumber>()
  #openUntilMs = 0
  #openSince = -1

  constructor(labels: Labels, unsaved: Unsaved<UnsavedNumber>) {
    this.#labels = labels
    this.#unsaved = unsaved
  }

  count(name: CounterName, value = 1): void {
    this.totals[name] += value
    this.keep(name, '', value)
  }

  took(seconds: number): void {
    const bucket = bucketIndexOf('duration', seconds)
    this.durations[bucket]!++
    this.durationSum += seconds
    this.keep('duration', boundOf(bucket), 1)
  }

  /** For the store alone. */
  keep(metric: string, bucket: string, value: number): void {
    const countedMs = performance.now()
    if (this.#openSince !== this.#unsaved.taken || countedMs >= this.#openUntilMs) {
      this.#open.clear()
      this.#openSince = this.#unsaved.taken
      this.#openUntilMs = (Math.floor(countedMs / SLOT_MS) + 1) * SLOT_MS
    }
    const name = bucket === '' ? metric : `${metric} ${bucket}`
    const open = this.#open.get(name)
    if (open) {
      open.value += value
      return
    }
    const { endpoint, tenantId } = this.#labels
    const number = { metric, endpoint, tenantId, bucket, value, countedMs }
    const kept = this.#unsaved.add(nameOfNumber(number), number)
    if (kept) this.#open.set(name, kept)
  }

  /** Cumulative, as Prometheus wants them. */
  durationValues(name: string): Value[] {
    const { labels } = this
    let upTo = 0
    const buckets = this.durations.map((count, i) => {
      upTo += count
      return { labels: { le: boundOf(i), ...labels }, value: upTo, metricName: `${name}_bucket` }
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
