// One key's story: what its own timeline says, who misused it, how often it was replayed and what people did to it, as
// one list in the order of time. Pure: what is told here was written down by whoever did it.

import type { AuditEntry } from '../audit/read'
import type { State } from '../idempotency/states'
import { instant } from './instant'
import type { KeyDetail } from './key-detail'

/** What a person did, from the audit log. */
export type Act = Pick<AuditEntry, 'at' | 'actorId' | 'actorName' | 'action' | 'outcome' | 'reason' | 'requestId'>

export type Source = 'owner' | 'look_up' | 'webhook' | 'late_owner' | 'operator'

interface Told {
  at: string
  /** Of several that are told as one: the last of them. */
  until: string
  /** What the key is from then on. */
  state: State
  /** A node, a daemon, a run, or a person's id; null where nobody is to be named. */
  by: string | null
  /** The name that the person had then, and the reason they gave. */
  person: string | null
  reason: string | null
}

export type Moment = Told &
  (
    | {
        what: 'accepted' | 'lease_over' | 'abandoned' | 'dead_lettered' | 'run_again' | 'resumed' | 'expired' | 'other'
      }
    | { what: 'summed_up'; attempts: number; lookUps: number }
    | { what: 'reserved' | 'claimed'; attempt: number; recoveryPoint: string | null }
    | { what: 'phase'; recoveryPoint: string | null }
    | { what: 'outcome_unknown'; code: string | null }
    | { what: 'settled'; status: number | null; verdict: string | null; source: Source; ref: string | null }
    | { what: 'released'; code: string | null; source: Source }
    | { what: 'evidence'; source: Source; verdict: string | null; ref: string | null }
    | { what: 'looked_up'; verdict: string; times: string[]; numbers: number[] }
    | { what: 'misuse'; times: string[]; changedPaths: string[] }
    | { what: 'replays'; count: number }
    | { what: 'act'; action: string; forbidden: boolean }
  )

type MomentKind = Moment['what']

type Event = KeyDetail['timeline'][number]

const OPERATOR = 'operator:'

export function storyOf(
  detail: Pick<KeyDetail, 'record' | 'timeline' | 'evidence' | 'misuse'>,
  acts: readonly Act[] = [],
): Moment[] {
  const told = new Set<Act>()
  const moments = [
    ...ofTimeline(detail, acts, told),
    ...detail.misuse.map(ofMisuse),
    ...ofReplays(detail.record),
    ...acts.filter((act) => !told.has(act)).map(ofAct),
  ]
  moments.sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
  return grouped(withStates(moments, detail.record.state))
}

const UNTOLD = { by: null, person: null, reason: null, state: 'pending' as State }

/** An act that left an event of its own is told there, with the person's name; it is then in `told`. */
function ofTimeline(
  { timeline, evidence }: Pick<KeyDetail, 'timeline' | 'evidence'>,
  acts: readonly Act[],
  told: Set<Act>,
): Moment[] {
  let lookUps = 0
  return timeline.map((event) => {
    const act = actOf(event, acts)
    if (act) told.add(act)
    if (event.event === 'claimed' || event.event === 'resumed') lookUps = 0
    if (event.event === 'summed_up') lookUps = Number(event.attempts) > 0 ? 0 : lookUps + Number(event.lookUps)
    const counts = event.event === 'looked_up' && event.verdict !== 'too_early' && event.verdict !== 'unfinished'
    if (counts) lookUps += 1
    const base = {
      at: event.at,
      until: typeof event.until === 'string' ? instant(event.until) : event.at,
      state: 'pending' as State,
      by: event.by,
      person: act?.actorName ?? nameOf(event.by, acts),
      reason: act?.reason ?? null,
    }
    return { ...base, ...meaningOf(event, evidence, counts ? lookUps : null) }
  })
}

/** By the request that both were written in; a bulk run is named as whoever moved the key. */
function actOf({ requestId, by }: Event, acts: readonly Act[]): Act | undefined {
  const mine = acts.filter(({ outcome }) => outcome === 'done')
  if (!by.startsWith(OPERATOR)) return mine.find((act) => act.requestId === by)
  return mine.find((act) => act.requestId === requestId && act.actorId === by.slice(OPERATOR.length))
}

const nameOf = (by: string, acts: readonly Act[]): string | null =>
  by.startsWith(OPERATOR)
    ? (acts.find(({ actorId }) => actorId === by.slice(OPERATOR.length))?.actorName ?? by.slice(OPERATOR.length))
    : null

type Meaning = Moment extends infer M ? (M extends Moment ? Omit<M, keyof Told> : never) : never

function meaningOf(event: Event, evidence: KeyDetail['evidence'], lookUp: number | null): Meaning {
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  const verdict = text(event.verdict)
  const source = sourceOf(event)
  switch (event.event) {
    case 'accepted':
    case 'lease_over':
    case 'abandoned':
    case 'dead_lettered':
    case 'run_again':
    case 'resumed':
    case 'expired':
      return { what: event.event }
    case 'reserved':
    case 'claimed': {
      const attempt = typeof event.attempt === 'number' ? event.attempt : 1
      return { what: event.event, attempt, recoveryPoint: text(event.recoveryPoint) }
    }
    case 'phase':
      return { what: 'phase', recoveryPoint: text(event.recoveryPoint) }
    case 'outcome_unknown':
      return { what: 'outcome_unknown', code: text(event.code) }
    case 'settled': {
      const status = typeof event.status === 'number' ? event.status : null
      return { what: 'settled', status, verdict, source, ref: refOf(evidence, source, event.at) }
    }
    case 'released':
      return { what: 'released', code: text(event.code), source }
    case 'evidence':
      return { what: 'evidence', source, verdict, ref: refOf(evidence, source, event.at) }
    case 'looked_up':
      return { what: 'looked_up', verdict: verdict ?? '', times: [event.at], numbers: lookUp === null ? [] : [lookUp] }
    case 'summed_up':
      return { what: 'summed_up', attempts: Number(event.attempts), lookUps: Number(event.lookUps) }
    default:
      return { what: 'other' }
  }
}

function sourceOf({ event, source, by, verdict }: Event): Source {
  for (const known of ['operator', 'webhook', 'late_owner', 'look_up'] as const)
    if (source === known || by === known) return known
  // An owner settles with its own answer; whoever asked the provider says what that said.
  return event !== 'evidence' && verdict === undefined ? 'owner' : 'look_up'
}

/** The reference in the evidence of this source that was learned last by then: it commits with the event. */
function refOf(evidence: KeyDetail['evidence'], source: Source, at: string): string | null {
  const until = Date.parse(at) + 1000
  return evidence.findLast((one) => one.source === source && Date.parse(one.createdAt) <= until)?.ref ?? null
}

const ofMisuse = ({ at, changedPaths }: KeyDetail['misuse'][number]): Moment => ({
  ...UNTOLD,
  what: 'misuse',
  at,
  until: at,
  times: [at],
  changedPaths,
})

function ofReplays({ replayCount: count, lastReplayedAt: at }: KeyDetail['record']): Moment[] {
  return count > 0 && at ? [{ ...UNTOLD, what: 'replays', at, until: at, count }] : []
}

const ofAct = ({ at, actorId, actorName, action, outcome, reason }: Act): Moment => ({
  what: 'act',
  at,
  until: at,
  state: 'pending',
  by: actorId,
  person: actorName,
  reason,
  action,
  forbidden: outcome === 'forbidden',
})

/** The last moment ends in what the record is; a lease that ran out is told apart by what came next. */
function withStates(moments: Moment[], now: State): Moment[] {
  let state: State = moments[0]?.what === 'accepted' ? 'pending' : 'in_progress'
  const told = moments.map((moment, i) => {
    state = stateAfter(moment, moments.slice(i + 1), now) ?? state
    return { ...moment, state }
  })
  const lastMove = told.findLastIndex(({ what }) => what in MOVED_TO || what === 'lease_over')
  return told.map((moment, i) => (i >= lastMove ? { ...moment, state: now } : moment))
}

const MOVED_TO: Partial<Record<MomentKind, State>> = {
  accepted: 'pending',
  reserved: 'in_progress',
  claimed: 'in_progress',
  settled: 'completed',
  abandoned: 'completed',
  released: 'failed_retryable',
  outcome_unknown: 'unknown',
  expired: 'expired',
}

function stateAfter(moment: Moment, later: readonly Moment[], now: State): State | null {
  if (moment.what !== 'lease_over') return MOVED_TO[moment.what] ?? null
  const next = later.find(({ what }) => what in MOVED_TO || what === 'looked_up')
  if (!next) return now
  return next.what === 'claimed' || next.what === 'expired' ? 'failed_retryable' : 'unknown'
}

/** Look-ups in a row that said the same, and misuse in a row that differed in the same way, are told once. */
function grouped(moments: readonly Moment[]): Moment[] {
  const groups: Moment[] = []
  for (const moment of moments) {
    const last = groups.at(-1)
    if (last?.what === 'looked_up' && moment.what === 'looked_up' && isSame(last, moment))
      groups[groups.length - 1] = {
        ...last,
        until: moment.until,
        times: [...last.times, ...moment.times],
        numbers: [...last.numbers, ...moment.numbers],
      }
    else if (last?.what === 'misuse' && moment.what === 'misuse' && `${last.changedPaths}` === `${moment.changedPaths}`)
      groups[groups.length - 1] = { ...last, until: moment.until, times: [...last.times, ...moment.times] }
    else groups.push(moment)
  }
  return groups
}

const isSame = (a: Moment & { what: 'looked_up' }, b: Moment & { what: 'looked_up' }): boolean =>
  a.verdict === b.verdict && a.person === b.person

const GAP_PX = 12
const PX_PER_ROOT_SECOND = 2.3
/** Ten hours as much as one: what is longer than this is cut, and says so. */
const LONGEST_PX = 150

/** How much room the time between two moments takes on the list: enough to see where it hung. */
export function gapOf(seconds: number): { px: number; shortened: boolean } {
  const px = GAP_PX + PX_PER_ROOT_SECOND * Math.sqrt(Math.max(0, seconds))
  return { px: Math.min(Math.round(px), LONGEST_PX), shortened: px > LONGEST_PX }
}

export const secondsBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1000
