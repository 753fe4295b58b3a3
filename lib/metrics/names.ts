// What is counted, under which name, and in which buckets. These names are the contract's: dashboards, alerts and the
// console read them, so one may be added and none may change.
import { FLOW_NAMES } from '../idempotency/flows'

export const PREFIX = 'api_idempotency_'

/** By their name in the store; Prometheus sees them as `api_idempotency_<name>_total`. */
export const COUNTERS = {
  reserve_created: 'Records created by a first request',
  reserve_replay: 'Requests answered with the stored answer',
  reserve_in_progress: 'Duplicates that found the first request running, whatever they were answered',
  reserve_key_misuse: 'Requests whose key stands for another request',
  reserve_failed_retry: 'Attempts that took up a record proven not executed, by a client or a worker',
  reserve_unknown: 'Requests that found the outcome not known yet',
  store_error: 'Requests for which the store could not be asked; without a tenant where that was not known yet',
  zombie_key: 'Leases that ran out',
  ttl_pruned: 'Tombstones deleted',
  reconcile_scheduled: 'Outcomes that became unknown',
  reconcile_resolved: 'Unknown outcomes that were found out',
  reconcile_failed: 'Look-ups that the provider could not be reached for, or that were the last before a dead letter',
  late_result: 'Writers that found themselves fenced',
} as const satisfies Record<string, string>

export type CounterName = keyof typeof COUNTERS
export const COUNTER_NAMES = Object.keys(COUNTERS) as readonly CounterName[]

/**
 * The histograms of the store. Prometheus has the first; the others are the console's: how long requests took that ran
 * an attempt themselves, and how long after the first request others came for its answer, which lease and retention are
 * chosen by; and how long outcomes were unknown that were found out.
 */
export type HistogramName = 'duration' | 'attempt' | 'replay_delay' | 'resolution'

/** Also the console's alone: how many records went from one state to another, each bucket a flow by its name. */
export const MOVE = 'move'

/**
 * A replay takes a millisecond or a few and an order as long as the provider, so the steps are even from one end to the
 * other. The last three are limits that people set: 10 s is the gateway's own (GATEWAY_TIMEOUT_MS), 30 s the longest
 * `Prefer: wait`, 60 s the lease; what is beyond them says that one of the three is wrong.
 */
export const DURATION_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

const MINUTE = 60
const HOUR = 3600
/** Seconds: a client library's own retries, then queues and people, then the retentions that one might choose. */
const REPLAY_DELAY_BOUNDS = [
  1,
  5,
  30,
  MINUTE,
  5 * MINUTE,
  30 * MINUTE,
  HOUR,
  6 * HOUR,
  12 * HOUR,
  24 * HOUR,
  48 * HOUR,
  72 * HOUR,
  168 * HOUR,
] as const

/** Seconds: a webhook, then the reconciler and its pauses, then people. */
const RESOLUTION_BOUNDS = [
  1,
  5,
  15,
  30,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  24 * HOUR,
  48 * HOUR,
  168 * HOUR,
] as const

export const BOUNDS: Record<HistogramName, readonly number[]> = {
  duration: DURATION_BOUNDS,
  attempt: DURATION_BOUNDS,
  replay_delay: REPLAY_DELAY_BOUNDS,
  resolution: RESOLUTION_BOUNDS,
}

/** What the store holds a count of, and of each its buckets by name: a counter's one has none. */
export const BUCKETS: Record<Counted, readonly string[]> = {
  ...(Object.fromEntries(COUNTER_NAMES.map((name) => [name, ['']])) as Record<CounterName, string[]>),
  duration: bucketNames('duration'),
  attempt: bucketNames('attempt'),
  replay_delay: bucketNames('replay_delay'),
  resolution: bucketNames('resolution'),
  [MOVE]: FLOW_NAMES,
}

export type Counted = CounterName | HistogramName | typeof MOVE

/** By their upper bound, which belongs to them; the last is for what is beyond all bounds. */
function bucketNames(histogram: HistogramName): readonly string[] {
  return [...BOUNDS[histogram].map(String), '+Inf']
}

/** Which of them a value falls into. Buckets are not cumulative here. */
export function bucketOf(histogram: HistogramName, value: number): number {
  const bounds = BOUNDS[histogram]
  let bucket = 0
  while (bucket < bounds.length && !(value <= bounds[bucket]!)) bucket++
  return bucket
}

/** Whose number it is. */
export interface Labels {
  endpoint: string
  /** Empty where it was not known yet. */
  tenantId: string
}
