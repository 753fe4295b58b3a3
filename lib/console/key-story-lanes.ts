// The same story drawn: who had the key when, in lanes over one line of time. Positions are parts of that line, so that
// whoever draws it decides how long it is.
import type { State } from '../idempotency/states'
import type { KeyDetail } from './key-detail'
import { type Moment, type Source, secondsBetween } from './key-story'
import { type Scale, scaleOf, ticksOf } from './key-story-scale'

interface Span {
  from: number
  to: number
}

export interface StateSpan extends Span {
  state: State
  seconds: number
  /** It goes on behind the end of the line. */
  open: boolean
}

export interface ClientMark {
  at: number
  what: 'request' | 'answer' | 'misuse' | 'replays'
  /** Of an answer or misuse: the status; of a request: the attempt; of replays: how many. */
  number: number
}

interface OwnerSpan extends Span {
  attempt: number
  by: string
  /** Until when its lease went on after it was done with it; null where it gave it back. */
  leaseTo: number | null
}

export interface CallSpan extends Span {
  seconds: number
  /** An answer came. Waiting is hatched. */
  answered: boolean
}

export interface LookUpMark {
  at: number
  verdict: string
  number: number | null
  source: Source
}

export interface Lanes {
  scale: Scale
  /** The line ends now, and not with the last moment. */
  live: boolean
  startedAt: string
  ticks: { seconds: number; at: number }[]
  states: StateSpan[]
  client: ClientMark[]
  owners: OwnerSpan[]
  calls: CallSpan[]
  lookUps: LookUpMark[]
  people: { at: number; person: string; moment: Moment }[]
}

/** A key that rests is drawn until the last thing that happened to it: its rest has no end worth drawing. */
const RESTS: readonly State[] = ['completed', 'expired']
const AFTER_LAST = 1.08

interface Around {
  record: KeyDetail['record']
  now: string
  /** From the end of a lease until nothing that was sent can arrive any more. */
  settleMs: number
}

export function lanesOf(moments: readonly Moment[], { record, now, settleMs }: Around): Lanes | null {
  const first = moments[0]
  if (!first) return null
  const since = (at: string) => Math.max(0, secondsBetween(first.at, at))
  const live = !RESTS.includes(record.state)
  const times = moments.flatMap(timesOf).map(since)
  const end = live ? since(now) : Math.max(...times) * AFTER_LAST
  const leaseEnd = leaseEndOf(record, settleMs)
  const drawn = leaseEnd !== null && isLeft(moments) ? [...times, since(leaseEnd)] : times
  const scale = scaleOf(drawn, end)
  const at = (instant: string) => scale.at(since(instant))
  return {
    scale,
    live,
    startedAt: first.at,
    ticks: scale.stretches.flatMap(ticksOf),
    states: statesOf(moments, at, since, end, live),
    client: clientOf(moments, at),
    ...workOf(moments, { at, now, leaseEnd, live }),
    lookUps: lookUpsOf(moments, at),
    people: moments.flatMap((moment) =>
      moment.person === null ? [] : [{ at: at(moment.until), person: moment.person, moment }],
    ),
  }
}

const timesOf = (moment: Moment): string[] => ('times' in moment ? moment.times : [moment.at])

/** The lease itself is forgotten when it ends; until when a call could arrive is not. */
function leaseEndOf({ lockedUntil, settlesAt }: Around['record'], settleMs: number): string | null {
  if (lockedUntil) return lockedUntil
  return settlesAt && new Date(Date.parse(settlesAt) - settleMs).toISOString()
}

/** The last owner left its lease to run out. */
const isLeft = (moments: readonly Moment[]): boolean =>
  ['outcome_unknown', 'reserved', 'claimed'].includes(
    moments.findLast(({ what }) => what in ENDS || what in BEGINS)!.what,
  )

const BEGINS = { reserved: true, claimed: true }
/** How an owner's work ends, and whether with an answer of the provider. */
const ENDS: Partial<Record<Moment['what'], boolean>> = {
  settled: true,
  released: true,
  outcome_unknown: false,
  lease_over: false,
}

function statesOf(
  moments: readonly Moment[],
  at: (instant: string) => number,
  since: (instant: string) => number,
  end: number,
  live: boolean,
): StateSpan[] {
  const moves = moments.filter(({ state }, i) => i === 0 || moments[i - 1]!.state !== state)
  return moves.map((move, i) => {
    const next = moves[i + 1]
    const seconds = (next ? since(next.at) : end) - since(move.at)
    return { from: at(move.at), to: next ? at(next.at) : 1, state: move.state, seconds, open: !next && !live }
  })
}

function clientOf(moments: readonly Moment[], at: (instant: string) => number): ClientMark[] {
  return moments.flatMap((moment): ClientMark[] => {
    switch (moment.what) {
      case 'accepted':
        return [{ at: at(moment.at), what: 'request', number: 1 }]
      case 'reserved':
      case 'claimed':
        // a worker takes up what was accepted: no client is there
        return moments[0]?.what === 'accepted' ? [] : [{ at: at(moment.at), what: 'request', number: moment.attempt }]
      case 'settled':
        return moment.source === 'owner' && moment.status ? [answered(at(moment.at), moment.status)] : []
      case 'released':
        return moment.source === 'owner' && moments[0]?.what !== 'accepted' ? [answered(at(moment.at), 503)] : []
      case 'outcome_unknown':
        return moments[0]?.what === 'accepted' ? [] : [answered(at(moment.at), 504)]
      case 'misuse':
        return moment.times.map((time) => ({ at: at(time), what: 'misuse', number: 422 }))
      case 'replays':
        return [{ at: at(moment.at), what: 'replays', number: moment.count }]
      default:
        return []
    }
  })
}

const answered = (at: number, status: number): ClientMark => ({ at, what: 'answer', number: status })

function workOf(
  moments: readonly Moment[],
  { at, now, leaseEnd, live }: { at: (instant: string) => number; now: string; leaseEnd: string | null; live: boolean },
): Pick<Lanes, 'owners' | 'calls'> {
  const owners: OwnerSpan[] = []
  const calls: CallSpan[] = []
  moments.forEach((moment, i) => {
    if (moment.what !== 'reserved' && moment.what !== 'claimed') return
    const later = moments.slice(i + 1)
    const end = later.find(({ what }) => what in ENDS)
    const isLast = !later.some(({ what }) => what in BEGINS)
    const until = end?.at ?? (live ? now : moment.at)
    const left =
      isLast &&
      leaseEnd &&
      Date.parse(leaseEnd) > Date.parse(until) &&
      end?.what !== 'settled' &&
      end?.what !== 'released'
    const span = { from: at(moment.at), to: at(until) }
    owners.push({ ...span, attempt: moment.attempt, by: moment.by ?? '', leaseTo: left ? at(leaseEnd) : null })
    const answered = end ? (ENDS[end.what] ?? false) : false
    calls.push({ ...span, seconds: secondsBetween(moment.at, until), answered })
  })
  return { owners, calls }
}

function lookUpsOf(moments: readonly Moment[], at: (instant: string) => number): LookUpMark[] {
  return moments.flatMap((moment): LookUpMark[] => {
    switch (moment.what) {
      case 'looked_up':
        return moment.times.map((time, i) => ({
          at: at(time),
          verdict: moment.verdict,
          number: moment.numbers[i] ?? null,
          source: 'look_up',
        }))
      case 'settled':
      case 'released':
      case 'evidence': {
        if (moment.source === 'owner' || moment.source === 'operator') return []
        const verdict = moment.what === 'released' ? 'not_found' : (moment.verdict ?? '')
        return [{ at: at(moment.at), verdict, number: null, source: moment.source }]
      }
      default:
        return []
    }
  })
}
