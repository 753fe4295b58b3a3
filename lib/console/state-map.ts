// What the state map shows: how many keys are in each state now and were before, what is usual at this hour, and how
// many move along each arrow. Counts over time are kept of all keys together only.
import sql from 'sql-template-tag'
import { databaseNowMs } from '../db/clock'
import type { Store } from '../db/store'
import { FLOW_NAMES, FLOWS, type Flow } from '../idempotency/flows'
import { STATES, type State } from '../idempotency/states'
import { MOVE } from '../metrics/names'
import { readSamples, usualCounts } from '../metrics/state-samples'
import { emphasisOf, type Weighed } from './emphasis'
import { bucketsOf, readMeasured, type Scope } from './measured'
import { countStates } from './state-counts'
import type { Window } from './window'

export interface StateView extends Weighed {
  estimated: boolean
}

export interface StateMapView {
  window: Window
  states: Record<State, StateView>
  /** A minute, over the window. */
  flows: Record<Flow, number>
  /** Where its keys are listed, as far as they can be told apart. */
  flowLinks: Partial<Record<Flow, string>>
  stateLinks: Record<State, string>
  /** The state that needs a look most, if any does. */
  piling: { state: State; grown: number; inPerMinute: number; outPerMinute: number } | null
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const WINDOW_MS: Record<Window, number> = {
  '1h': HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
}
/** As many as a node of the map can show. */
const POINTS = 60

export async function readStateMap(
  store: Pick<Store, 'query'>,
  { window, ...scope }: { window: Window } & Scope,
): Promise<StateMapView> {
  const windowMs = WINDOW_MS[window]
  const isAll = scope.tenant === undefined && scope.endpoint === undefined
  const [counts, usual, history, flows] = await Promise.all([
    countStates(store, scope),
    isAll ? usualCounts(store) : null,
    isAll ? readSamples(store, { windowMs, stepMs: windowMs / POINTS }) : [],
    readFlows(store, scope, windowMs),
  ])
  const viewOf = (state: State): StateView => ({
    ...counts[state],
    usual: usual?.[state] ?? null,
    history: history.slice(-POINTS).flatMap((point) => point.counts[state] ?? []),
  })
  const states = Object.fromEntries(STATES.map((state) => [state, viewOf(state)])) as Record<State, StateView>
  return { window, states, flows, ...linksOf(scope), piling: pilingOf(states, flows) }
}

/** Whether there has ever been a key: orders outlive theirs. */
export async function hasHadKeys(store: Pick<Store, 'query'>): Promise<boolean> {
  const [row] = await store.query<{ any: boolean }>(sql`
    SELECT EXISTS (SELECT FROM idempotency_records) OR EXISTS (SELECT FROM orders) AS any`)
  return row!.any
}

async function readFlows(store: Pick<Store, 'query'>, scope: Scope, windowMs: number): Promise<Record<Flow, number>> {
  const nowMs = databaseNowMs()
  // All that was counted in the window, and the part of the first minute or hour that is out of it with it.
  const from = windowMs <= WINDOW_MS['24h'] ? 'minutes' : 'hours'
  const stretch = { fromMs: nowMs - windowMs, stepMs: windowMs, from } as const
  const moves = bucketsOf(await readMeasured(store, [MOVE], stretch, scope, nowMs), MOVE)
  const minutes = windowMs / MINUTE_MS
  return Object.fromEntries(FLOW_NAMES.map((flow) => [flow, (moves[flow] ?? 0) / minutes])) as Record<Flow, number>
}

/** In the order in which to look. What is finished may grow as it likes. */
const WATCHED: readonly State[] = ['unknown', 'in_progress', 'pending', 'failed_retryable']

function pilingOf(states: Record<State, StateView>, flows: Record<Flow, number>): StateMapView['piling'] {
  const state = WATCHED.find((one) => emphasisOf(states[one]) === 'piling')
  if (!state) return null
  const sum = (end: 'from' | 'to') =>
    FLOW_NAMES.filter((flow) => FLOWS[flow][end] === state).reduce((all, flow) => all + flows[flow], 0)
  const { count, history } = states[state]
  return { state, grown: Math.round(count - history[0]!), inPerMinute: sum('to'), outPerMinute: sum('from') }
}

function linksOf({ tenant, endpoint }: Scope): Pick<StateMapView, 'flowLinks' | 'stateLinks'> {
  const linkTo = (state: State) => {
    const query = new URLSearchParams({ state })
    if (tenant !== undefined) query.set('tenant', tenant)
    if (endpoint !== undefined) query.set('endpoint', endpoint)
    return `/keys?${query}`
  }
  const arriving = FLOW_NAMES.flatMap((flow) => {
    const { to } = FLOWS[flow]
    return to === null ? [] : [[flow, linkTo(to)] as const]
  })
  return {
    stateLinks: Object.fromEntries(STATES.map((state) => [state, linkTo(state)])) as Record<State, string>,
    flowLinks: Object.fromEntries(arriving),
  }
}
