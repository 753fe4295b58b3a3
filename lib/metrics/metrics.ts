// Every number of the contract, counted once where its cause is known, in two places: in this process for Prometheus,
// and in the store, over all nodes, for the console. Counting touches memory only; nothing here can fail a request.
import { Counter, Histogram, Registry } from 'prom-client'
import { databaseNowMs } from '../db/clock'
import type { Store } from '../db/store'
import type { BoundaryEvent, Moved } from '../idempotency/boundary'
import { flowOf } from '../idempotency/flows'
import type { Outcome } from '../idempotency/run'
import { startFlushing } from './flush'
import {
  bucketOf,
  COUNTER_NAMES,
  COUNTERS,
  type CounterName,
  DURATION_BOUNDS,
  type Labels,
  MOVE,
  PREFIX,
} from './names'
import { nameOfNumber, unsavedNumbers, unsavedReplays } from './unsaved'

const LABEL_NAMES = ['endpoint', 'tenant'] as const

export interface Metrics {
  /** This process's counters and its histogram. */
  registry: Registry
  /** For the boundary and the daemons. */
  observe(event: BoundaryEvent): void
  /** A keyed request came to this end. */
  answered(labels: Labels, outcome: Outcome, seconds: number): void
  storeFailed(labels: Labels): void
  /** Somebody who is no operator asked for what is the operators'. */
  operatorUnauthenticated(): void
  flush(): Promise<void>
  close(): Promise<void>
}

export function openMetrics(store: Pick<Store, 'query'>): Metrics {
  const registry = new Registry()
  const counters = Object.fromEntries(
    COUNTER_NAMES.map((name) => [
      name,
      new Counter({
        name: `${PREFIX}${name}_total`,
        help: COUNTERS[name],
        labelNames: LABEL_NAMES,
        registers: [registry],
      }),
    ]),
  ) as Record<CounterName, Counter<(typeof LABEL_NAMES)[number]>>
  const duration = new Histogram({
    name: `${PREFIX}duration_seconds`,
    help: 'Keyed requests from arrival to answer, waiting and the provider included',
    labelNames: LABEL_NAMES,
    buckets: [...DURATION_BOUNDS],
    registers: [registry],
  })
  const unauthenticated = new Counter({
    name: 'onceover_operator_unauthenticated_total',
    help: 'Calls of the operator API by nobody that it knows, answered with 401',
    registers: [registry],
  })

  const numbers = unsavedNumbers()
  const replays = unsavedReplays()
  const flushing = startFlushing(store, numbers, replays)
  const met = new Set<string>()

  function keep(metric: string, { endpoint, tenantId }: Labels, bucket: string, value: number): void {
    const number = { metric, endpoint, tenantId, bucket, value, countedMs: performance.now() }
    numbers.add(nameOfNumber(number), number)
  }

  // A series that is born with its first event has no rate: each begins at zero when its tenant is first met.
  function meet({ endpoint, tenantId }: Labels): void {
    const name = `${tenantId} ${endpoint}`
    if (met.has(name)) return
    met.add(name)
    for (const counter of COUNTER_NAMES) counters[counter].inc({ endpoint, tenant: tenantId }, 0)
  }

  function count(name: CounterName, labels: Labels, value = 1): void {
    meet(labels)
    counters[name].inc({ endpoint: labels.endpoint, tenant: labels.tenantId }, value)
    keep(name, labels, '', value)
  }

  function move(moved: Moved): void {
    const { from, to, count: many = 1, unknownSeconds } = moved
    const flow = flowOf(from, to)
    if (flow) keep(MOVE, moved, flow, many)
    if (typeof unknownSeconds === 'number') keep('resolution', moved, bucketOf('resolution', unknownSeconds), 1)
    if (to === null) count('ttl_pruned', moved, many)
  }

  return {
    registry,
    observe(event) {
      if (event.kind === 'moved') return move(event)
      const name = counterOfEvent(event)
      if (name) count(name, event)
    },
    answered(labels, outcome, seconds) {
      meet(labels)
      const name = counterOfOutcome(outcome)
      if (name) count(name, labels)
      duration.observe({ endpoint: labels.endpoint, tenant: labels.tenantId }, seconds)
      keep('duration', labels, bucketOf('duration', seconds), 1)
      if (isAttempt(outcome)) keep('attempt', labels, bucketOf('attempt', seconds), 1)
      const replayOf = outcome.kind === 'answered' ? outcome.replayOf : undefined
      if (replayOf) replays.add(replayOf.id, { recordId: replayOf.id, count: 1, lastMs: performance.now() })
      // Who came for an answer that is not kept any more came for it all the same.
      const wanted = outcome.kind === 'expired' ? outcome.record : replayOf
      if (wanted) {
        const delaySeconds = Math.max(0, databaseNowMs() - wanted.createdAt.getTime()) / 1000
        keep('replay_delay', labels, bucketOf('replay_delay', delaySeconds), 1)
      }
    },
    storeFailed: (labels) => count('store_error', labels),
    operatorUnauthenticated: () => unauthenticated.inc(),
    flush: flushing.flush,
    close: flushing.close,
  }
}

function counterOfEvent(event: Exclude<BoundaryEvent, Moved>): CounterName | null {
  switch (event.kind) {
    case 'created':
      return 'reserve_created'
    case 'claimed':
      // A worker that takes up an accepted request for the first time retries nothing.
      return event.from === 'failed_retryable' ? 'reserve_failed_retry' : null
    case 'zombie':
      return 'zombie_key'
    case 'late_result':
    case 'reconcile_scheduled':
    case 'reconcile_resolved':
    case 'reconcile_failed':
      return event.kind
  }
}

/** The request ran an attempt itself, and did not only find what became of one. */
function isAttempt(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case 'answered':
      return !outcome.replayed
    case 'not_executed':
      return outcome.code !== 'not_claimed'
    case 'outcome_unknown':
      return true
    default:
      return false
  }
}

/** What the boundary's events do not say: they tell of records, this of the request. */
function counterOfOutcome(outcome: Outcome): CounterName | null {
  switch (outcome.kind) {
    case 'answered':
      return outcome.replayed ? 'reserve_replay' : null
    case 'accepted':
      return outcome.created ? null : 'reserve_in_progress'
    case 'in_progress':
      return 'reserve_in_progress'
    case 'unknown':
      return 'reserve_unknown'
    case 'misuse':
      return 'reserve_key_misuse'
    case 'outcome_unknown':
      // The store was lost after the call: nobody threw, but it could not be asked.
      return outcome.code === 'store_lost' ? 'store_error' : null
    case 'not_executed':
    case 'expired':
    case 'not_allowed':
      return null
  }
}
