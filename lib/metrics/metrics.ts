// Every number of the contract, counted once where its cause is known, in two places: in this process for Prometheus,
// and in the store, over all nodes, for the console. Counting touches memory only; nothing here can fail a request.
import { Counter, Registry } from 'prom-client'
import { databaseNowMs } from '../db/clock'
import type { Db } from '../db/store'
import type { BoundaryEvent, Moved } from '../idempotency/boundary'
import { flowOf } from '../idempotency/flows'
import type { Outcome } from '../idempotency/run'
import { startFlushing } from './flush'
import { BUCKETS, bucketOf, type CounterName, type Labels, MOVE } from './names'
import { openSeries, type Series } from './series'
import { unsavedNumbers, unsavedReplays } from './unsaved'

export interface Metrics {
  /** This process's counters and its histogram. */
  registry: Registry
  /** For the boundary and the daemons. */
  observe(event: BoundaryEvent): void
  /** A keyed request came to this end. */
  answered(labels: Labels, outcome: Outcome, seconds: number): void
  /** A keyed request got a stored answer again. @param startedMs by the monotonic clock */
  replayed(replay: Labels & Replayed, startedMs: number): void
  storeFailed(labels: Labels): void
  /** A request was answered with a problem. @param code of ours, never a client's word */
  refused(labels: Labels, code: string): void
  /** Somebody who is no operator asked for what is the operators'. */
  operatorUnauthenticated(): void
  flush(): Promise<void>
  close(): Promise<void>
}

/** The record whose answer was given again. */
interface Replayed {
  recordId: string
  createdAt: Date
}

export function openMetrics(store: Db): Metrics {
  const registry = new Registry()
  const numbers = unsavedNumbers()
  const replays = unsavedReplays()
  const series = openSeries()
  const flushing = startFlushing(store, { numbers, replays, collect: () => series.collect(numbers) })
  for (const metric of series.metrics) registry.registerMetric(metric)
  const unauthenticated = new Counter({
    name: 'onceover_operator_unauthenticated_total',
    help: 'Calls of the operator API by nobody that it knows, answered with 401',
    registers: [registry],
  })

  const refused = new Counter({
    name: 'onceover_requests_refused_total',
    help: 'Requests answered with a problem, by its code; a replayed problem is not counted again',
    labelNames: ['endpoint', 'tenant', 'code'],
    registers: [registry],
  })

  function move(moved: Moved): void {
    const { from, to, count = 1, unknownSeconds } = moved
    const counted = series.of(moved)
    const flow = flowOf(from, to)
    if (flow) counted.keep(MOVE, BUCKETS[MOVE].indexOf(flow), count)
    if (typeof unknownSeconds === 'number') counted.keep('resolution', bucketOf('resolution', unknownSeconds))
    if (to === null) counted.count('ttl_pruned', count)
  }

  function gaveAgain(counted: Series, { recordId, createdAt }: Replayed, nowMs: number): void {
    replays.add(recordId, { recordId, count: 1, lastMs: nowMs })
    wanted(counted, createdAt, nowMs)
  }

  function wanted(counted: Series, createdAt: Date, nowMs: number): void {
    const delaySeconds = Math.max(0, databaseNowMs(nowMs) - createdAt.getTime()) / 1000
    counted.keep('replay_delay', bucketOf('replay_delay', delaySeconds))
  }

  return {
    registry,
    observe(event) {
      if (event.kind === 'moved') return move(event)
      const name = counterOfEvent(event)
      if (name) series.of(event).count(name)
    },
    answered(labels, outcome, seconds) {
      const counted = series.of(labels)
      const name = counterOfOutcome(outcome)
      if (name) counted.count(name)
      counted.took(seconds)
      if (isAttempt(outcome)) counted.keep('attempt', bucketOf('attempt', seconds))
      if (outcome.kind === 'answered' && outcome.replayed) {
        const { id: recordId, createdAt } = outcome.source
        gaveAgain(counted, { recordId, createdAt }, performance.now())
      }
      // Who came for an answer that is not kept any more came for it all the same.
      if (outcome.kind === 'expired') wanted(counted, outcome.record.createdAt, performance.now())
    },
    replayed(replay, startedMs) {
      const nowMs = performance.now()
      const counted = series.of(replay)
      counted.count('reserve_replay')
      counted.took((nowMs - startedMs) / 1000)
      gaveAgain(counted, replay, nowMs)
    },
    storeFailed: (labels) => series.of(labels).count('store_error'),
    refused: ({ endpoint, tenantId: tenant }, code) => refused.inc({ endpoint, tenant, code }),
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
    case 'restoring':
      return null
  }
}
