// What needs attention, in words: what is, then what follows. In the order in which to look; what is quiet says so too.
// Pure.
import type { Attention } from '../../../lib/console/attention'
import type { Background } from '../../../lib/console/overview'
import type { Pace } from '../../../lib/console/overview-use-cases'
import { count, duration, plural } from '../../_ui/words'

export type Concern = Attention['concern']

export interface AttentionRow {
  concern: Concern
  /** Of the rows of one concern: which. */
  id: string
  title: string
  detail: string
  /** How long it has been so, or since when. */
  when: { words: string; at?: string } | null
  link: { words: string; href: string } | null
  /** As the page's one sentence. */
  verdict: string
}

export interface QuietCheck {
  concern: Concern
  word: string
  value: string
}

export interface Checked {
  rows: AttentionRow[]
  quiet: QuietCheck[]
}

const NAMES: Record<Concern, string> = {
  dead_letters: 'Dead letters',
  oldest_unknown: 'Oldest unknown',
  expired_leases: 'Expired leases',
  misuse_spikes: 'Misuse by tenant',
  replay_storms: 'Replay storms',
  open_discrepancies: 'Open discrepancies',
  store_errors: 'Store errors',
}

const LISTS = { keys: '/keys', misuse: '/misuse', discrepancies: '/reconciliation' } as const

interface Told {
  background: Background
  pace: Pace
  nowMs: number
}

export function checked(attention: readonly Attention[], told: Told): Checked {
  const rows: AttentionRow[] = []
  const quiet: QuietCheck[] = []
  for (const concern of attention) {
    const found = isLoud(concern, told) ? WORDS[concern.concern](concern, told) : []
    if (found.length > 0) rows.push(...found)
    else quiet.push({ concern: concern.concern, word: NAMES[concern.concern], value: quietValue(concern) })
  }
  return { rows, quiet }
}

/** An outcome that is unknown for as long as finding out takes needs nobody. */
const isLoud = ({ concern, count: n, oldestSeconds = 0 }: Attention, { pace }: Told): boolean =>
  concern === 'oldest_unknown' ? n > 0 && oldestSeconds > pace.settlesWithinSeconds : n > 0

const quietValue = ({ concern, oldestSeconds = 0, count: n }: Attention): string =>
  concern === 'oldest_unknown' && n > 0 ? `${duration(oldestSeconds)}, found out by itself` : 'none'

const hrefOf = ({ list, query }: NonNullable<Attention['rows']>): string =>
  list === 'discrepancies' ? `${LISTS[list]}?discrepancies=open` : `${LISTS[list]}?${query}`

const linkTo = (words: string, { rows }: Pick<Attention, 'rows'>): AttentionRow['link'] =>
  rows && { words, href: hrefOf(rows) }

const WORDS: Record<Concern, (concern: Attention, told: Told) => AttentionRow[]> = {
  dead_letters(concern, { background: { deadLetters } }) {
    const { count: n } = concern
    const each = n === 1 ? '' : ' each'
    const lookUps = deadLetters ? `${plural(deadLetters.mostLookUps, 'look-up')}${each} and no answer. ` : ''
    return [
      {
        concern: 'dead_letters',
        id: 'dead_letters',
        title: plural(n, 'dead letter'),
        detail: `${lookUps}Only a person moves ${n === 1 ? 'it' : 'these'} on.`,
        when: deadLetters && { words: 'oldest', at: deadLetters.oldestAt },
        link: linkTo(plural(n, 'key'), concern),
        verdict: `${plural(n, 'dead letter')} ${n === 1 ? 'waits' : 'wait'} for a person.`,
      },
    ]
  },

  oldest_unknown(concern, { background: { unknownMostly }, pace, nowMs }) {
    const { count: n, oldestSeconds = 0 } = concern
    const mostly =
      unknownMostly && unknownMostly.count > 1 ? ` ${shareOf(unknownMostly, n)} ${groupWords(unknownMostly)}.` : ''
    return [
      {
        concern: 'oldest_unknown',
        id: 'oldest_unknown',
        title: `Oldest unknown is ${duration(oldestSeconds)}`,
        detail: `When the provider answers, it takes ${duration(pace.settlesWithinSeconds)} at most.${mostly}`,
        when: { words: 'since', at: new Date(nowMs - oldestSeconds * 1000).toISOString() },
        link: linkTo(plural(n, 'key'), concern),
        verdict: `An outcome has been unknown for ${duration(oldestSeconds)}.`,
      },
    ]
  },

  expired_leases(concern, { background: { expiredLeases, nextSweepAt }, nowMs }) {
    const { count: n } = concern
    const { beforeCall, afterCall, oldestAt } = expiredLeases
    const inSeconds = nextSweepAt ? (Date.parse(nextSweepAt) - nowMs) / 1000 : null
    const next =
      inSeconds === null
        ? 'No sweeper is scheduled'
        : inSeconds > 0
          ? `The sweeper takes ${n === 1 ? 'it' : 'them'} in ${duration(inSeconds)}`
          : 'The sweeper is due'
    return [
      {
        concern: 'expired_leases',
        id: 'expired_leases',
        title: `${plural(n, 'lease')} ran out`,
        detail: `${next}: ${count(beforeCall)} before the charge, ${count(afterCall)} after it.`,
        when: oldestAt ? { words: 'since', at: oldestAt } : null,
        link: linkTo(plural(n, 'key'), concern),
        verdict: `${plural(n, 'lease')} ran out, and nobody has taken ${n === 1 ? 'it' : 'them'} up.`,
      },
    ]
  },

  misuse_spikes: ({ tenants = [] }, { background: { misusePaths } }) =>
    tenants.map(({ id, name, count: n, usual, rows }) => {
      const path = misusePaths[id]
      const often = path && path.share > 0.8 ? 'Almost always' : 'Mostly'
      const times = usual >= 1 ? `${timesWord(n / usual)} its last day` : `new: ${count(n)} in an hour`
      return {
        concern: 'misuse_spikes',
        id,
        title: `Misuse at ${name ?? id} is ${times}`,
        detail:
          `${count(n)} in the last hour, usually ${count(usual)}.` +
          (path ? ` ${often} ${pathWord(path.path)} differs.` : ''),
        when: null,
        link: { words: plural(n, 'reject'), href: hrefOf(rows) },
        verdict: `${name ?? id} sends other requests with used keys: ${count(n)} in the last hour.`,
      }
    }),

  replay_storms(concern) {
    const { keys = [], count: n } = concern
    const replays = keys.reduce((sum, { replayCount }) => sum + replayCount, 0)
    const [first] = keys
      .map(({ lastReplayedAt }) => lastReplayedAt)
      .toSorted()
      .toReversed()
    return [
      {
        concern: 'replay_storms',
        id: 'replay_storms',
        title: `${plural(n, 'key')} ${n === 1 ? 'is' : 'are'} asked for again and again`,
        detail: `${plural(replays, 'replay')}. Whoever asks ignores what it was told: the answer will not change.`,
        when: first ? { words: 'last', at: first } : null,
        link: linkTo(plural(n, 'key'), concern),
        verdict: `A client ignores Retry-After: ${plural(replays, 'replay')} of ${plural(n, 'key')}.`,
      },
    ]
  },

  open_discrepancies(concern, { background: { discrepancies } }) {
    const { count: n } = concern
    const [oldest] = discrepancies.map(({ oldestAt }) => oldestAt).toSorted()
    const kinds = discrepancies.map(({ kind, count: many }) =>
      discrepancies.length > 1 ? `${count(many)} ${kindWord(kind)}` : kindWord(kind),
    )
    return [
      {
        concern: 'open_discrepancies',
        id: 'open_discrepancies',
        title: plural(n, 'open discrepancy', 'open discrepancies'),
        detail:
          kinds.length > 0 ? `${sentence(kinds.join(', '))}.` : 'What we booked and what the provider has differ.',
        when: oldest ? { words: 'since', at: oldest } : null,
        link: linkTo(plural(n, 'finding'), concern),
        verdict: `${plural(n, 'discrepancy is', 'discrepancies are')} open.`,
      },
    ]
  },

  store_errors({ count: n }, { background: { storeErrorsAt } }) {
    return [
      {
        concern: 'store_errors',
        id: 'store_errors',
        title: plural(n, 'store error'),
        detail: 'In the last hour the database could not be asked. Clients got 503, and nothing was charged.',
        when: storeErrorsAt ? { words: 'since', at: storeErrorsAt } : null,
        link: null,
        verdict: `The database could not be asked ${plural(n, 'time')} in the last hour.`,
      },
    ]
  },
}

const shareOf = ({ count: n }: { count: number }, all: number): string => `${count(n)} of ${count(all)}`

/** "are northwind, timeout" */
export const groupWords = ({ tenant, errorCode }: NonNullable<Background['unknownMostly']>): string =>
  `are ${tenant}${errorCode ? `, ${errorCode.replaceAll('_', ' ')}` : ''}`

const timesWord = (times: number): string => `${times < 10 ? times.toFixed(1).replace(/\.0$/, '') : count(times)}×`

/** As in JSON Pointer: /items/0/quantity. */
const pathWord = (path: string): string =>
  path
    .replace(/^\$/, '')
    .replace(/\[(\d+)\]/g, '/$1')
    .replaceAll('.', '/')

const KINDS: Record<string, string> = {
  contradicting_evidence: 'evidence contradicts the answer',
  unbookable_evidence: 'evidence that can’t be booked',
  charge_without_order: 'charged, and our ledger has no row',
  paid_without_charge: 'paid, and the provider has no charge',
  amount_differs: 'amounts differ',
  restored_differs: 'another request before a restore',
  currency_differs: 'currencies differ',
  duplicate_charge: 'charged twice',
}
const kindWord = (kind: string): string => KINDS[kind] ?? kind.replaceAll('_', ' ')

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
