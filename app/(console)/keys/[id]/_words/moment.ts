// What happened, in words. Times in it are told apart from text, since whoever reads has a zone of their own.
import type { Moment } from '../../../../../lib/console/key-story'
import { count, plural } from '../../../../_ui/words'

/** Text, or an instant to be shown as a time of day. */
export type Part = string | { at: string }

export interface MomentWords {
  title: string
  rest: Part[]
}

interface About {
  /** What the key moves: a charge, a refund. */
  noun: string
  done: string
  async: boolean
}

export function wordsOf(moment: Moment, about: About): MomentWords {
  const { person, reason, by } = moment
  const told: Tell = (title, ...segments) => ({ title, rest: joined([...segments, reason && `“${reason}”`]) })
  switch (moment.what) {
    case 'accepted':
      return told('Accepted, to be run by a worker', 'answered 202')
    case 'reserved':
      return told('Reserved', attemptWords(moment, by))
    case 'claimed':
      return told(moment.attempt === 1 ? 'Taken up by a worker' : 'Claimed again', attemptWords(moment, by))
    case 'phase':
      return told(`Went on to ${moment.recoveryPoint ?? 'the next phase'}`)
    case 'outcome_unknown': {
      const ended = moment.code === 'timeout' ? 'Time limit reached' : 'No clear answer'
      const title = about.async ? ended : `${ended}, client got 504`
      return told(title, `${moment.code ?? 'no answer'}. The ${about.noun} may have gone through.`)
    }
    case 'lease_over':
      return moment.state === 'failed_retryable'
        ? told('Lease ran out', 'before anything was sent: proven not executed')
        : told('Lease ran out', `its owner never came back. The ${about.noun} may have gone through.`)
    case 'settled':
      return settledWords(moment, about, told)
    case 'released':
      return releasedWords(moment, about, told)
    case 'abandoned':
      return told('Abandoned, 408 stored', 'nobody ran it in time')
    case 'dead_lettered':
      return about.async && moment.state === 'failed_retryable'
        ? told('Dead letter', 'its creation plus its retention is past: no worker runs it again by itself')
        : told('Dead letter', 'no look-up comes by schedule any more')
    case 'run_again':
      return told(`Handed to a worker again${byPerson(person)}`)
    case 'resumed':
      return told(
        `Look-ups resumed${byPerson(person)}`,
        person ? null : 'the provider answers look-ups again, after it had answered none',
      )
    case 'summed_up':
      return told(
        summedUpTitle(moment),
        ['until ', { at: moment.until }],
        'summed up: the first and the last 50 are shown one by one',
      )
    case 'evidence':
      return told(`${SOURCES[moment.source]}: ${verdictWord(moment.verdict, about)}`, moment.ref, 'kept as evidence')
    case 'looked_up':
      return lookedUpWords(moment, told)
    case 'expired':
      return told(person ? `Expired by ${person}` : 'Expired', 'request and answer erased')
    case 'misuse': {
      const times = moment.times.length
      const title =
        times === 1 ? 'Misuse: same key, other request' : `Misuse, ${count(times)} times: same key, other request`
      const paths = moment.changedPaths
      return told(
        title,
        paths.length ? `422. ${paths.join(', ')} ${paths.length === 1 ? 'differs' : 'differ'}.` : '422.',
      )
    }
    case 'replays':
      return told(
        moment.count === 1 ? 'Replayed once, here' : `${plural(moment.count, 'replay')}, the last one here`,
        'each got the stored answer',
      )
    case 'act':
      return told(actWords(moment))
    case 'other':
      return told('Something happened', by)
  }
}

const byPerson = (person: string | null): string => (person ? ` by ${person}` : '')

const summedUpTitle = ({ attempts, lookUps }: Moment & { what: 'summed_up' }): string =>
  [attempts > 0 && plural(attempts, 'more attempt'), lookUps > 0 && plural(lookUps, 'more look-up')]
    .filter(Boolean)
    .join(' and ')

const attemptWords = (moment: Extract<Moment, { attempt: number }>, by: string | null): string =>
  [`attempt ${moment.attempt}`, by && `owner ${by}`, moment.recoveryPoint && `recovery point ${moment.recoveryPoint}`]
    .filter(Boolean)
    .join(', ')

type Segment = string | readonly Part[] | null

type Tell = (title: string, ...segments: Segment[]) => MomentWords

/** A sentence is followed by a space, anything else by a comma. */
function joined(segments: readonly Segment[]): Part[] {
  const parts: Part[] = []
  for (const segment of segments) {
    if (!segment?.length) continue
    const last = parts.at(-1)
    if (last) parts.push(typeof last === 'string' && last.endsWith('.') ? ' ' : ', ')
    parts.push(...(typeof segment === 'string' ? [segment] : segment))
  }
  return parts
}

const SOURCES = {
  owner: 'Its owner',
  look_up: 'Look-up',
  webhook: 'Webhook',
  late_owner: 'Its late owner',
  operator: 'An operator',
} as const

const verdictWord = (verdict: string | null, { done }: About): string =>
  ({ succeeded: done, declined: 'declined', not_found: 'nothing there', not_executed: 'not executed' })[
    verdict ?? ''
  ] ?? 'an answer'

function settledWords(moment: Moment & { what: 'settled' }, about: About, told: Tell): MomentWords {
  const { source, person, status, ref, verdict } = moment
  const stored = status === null ? null : `${status} stored`
  const what = verdictWord(verdict, about)
  if (source === 'owner') return told(`Answered ${status ?? ''}`.trim(), 'stored, to be replayed')
  if (source === 'operator') return told(`Resolved as ${what} by ${person ?? 'an operator'}`, ref, stored)
  if (source === 'look_up')
    return told(`${person ? `${person} asked the provider` : 'Look-up found it'}: ${what}`, ref, stored)
  return told(`${SOURCES[source]} settled it: ${what}`, ref, stored)
}

const CODES: Record<string, string> = {
  look_up_unfinished: 'the look-up before the call is not finished: the next attempt continues it',
}

function releasedWords(moment: Moment & { what: 'released' }, about: About, told: Tell): MomentWords {
  const { source, person, code } = moment
  if (source === 'operator')
    return told(`Resolved as not executed by ${person ?? 'an operator'}`, 'it may be run again')
  if (source === 'owner')
    return told(about.async ? 'Not executed' : 'Not executed, client got 503', CODES[code ?? ''] ?? code)
  const who = person ? `${person} asked the provider` : 'Look-up'
  return told(`${who}: nothing there`, 'proven not executed, it may be run again')
}

/** More look-ups in a row than these are shown by the first and the last time. */
const MOST_TIMES = 6

const NO_PROOF: Record<string, string> = {
  too_early: 'too early to be proof: the call may still arrive',
  unfinished: 'the provider’s list is not read to its end: the next look-up continues it',
}

const LOOK_UPS: Record<string, string> = {
  unreachable: 'unreachable',
  pending: 'not decided yet',
  too_early: 'nothing yet',
  unfinished: 'nothing so far',
}

function lookedUpWords(moment: Moment & { what: 'looked_up' }, told: Tell): MomentWords {
  const { numbers, times, verdict, person } = moment
  const first = numbers[0]
  const last = numbers.at(-1)
  const which =
    first === undefined
      ? times.length === 1
        ? 'Look-up'
        : `${times.length} look-ups`
      : first === last
        ? `Look-up ${first}`
        : `Look-ups ${first} ${numbers.length === 2 ? 'and' : 'to'} ${last}`
  const asked = person ? ` by ${person}` : ''
  const when: Part[] =
    times.length === 1
      ? []
      : times.length > MOST_TIMES
        ? [{ at: times[0]! }, ' to ', { at: times.at(-1)! }]
        : times.flatMap((at, i) => (i === 0 ? [{ at }] : [', ', { at }]))
  return told(`${which}${asked}: ${LOOK_UPS[verdict] ?? verdict}`, when, NO_PROOF[verdict] ?? null)
}

const ACTS: Record<string, [did: string, tried: string]> = {
  'key.unmask': ['unmasked the request', 'unmask the request'],
  'key.reconcile': ['asked the provider', 'ask the provider'],
  'key.resolve': ['resolved it', 'resolve it'],
  'key.expire': ['expired it', 'expire it'],
  'key.run_again': ['had it run again', 'have it run again'],
  'key.resume': ['resumed its look-ups', 'resume its look-ups'],
}

const actWords = (moment: Moment & { what: 'act' }): string => `${moment.person} ${didWords(moment)}`

/** What a person did, in as few words as a drawing has room for. */
export function didWords(moment: Moment): string {
  switch (moment.what) {
    case 'act': {
      const [did, tried] = ACTS[moment.action] ?? [`did ${moment.action}`, `do ${moment.action}`]
      return moment.forbidden ? `tried to ${tried}, and may not` : did
    }
    case 'settled':
    case 'released':
      return moment.source === 'operator' ? 'resolved it' : 'asked the provider'
    case 'expired':
      return 'expired it'
    case 'run_again':
      return 'had it run again'
    case 'resumed':
      return 'resumed its look-ups'
    default:
      return 'asked the provider'
  }
}
