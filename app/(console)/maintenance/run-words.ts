// What a run came to, in words and in parts.
import { databaseNowMs } from '../../../lib/db/clock'
import type { Counts } from '../../../lib/maintenance/daemon'
import type { RunView } from '../../../lib/maintenance/run-view'
import { count, duration } from '../../_ui/words'
import { DAEMON_WORDS } from './daemon-words'

export const hasEnded = ({ state, lost }: Pick<RunView, 'state' | 'lost'>): boolean => state !== 'running' || lost

/** 112 so far; 68,987; 2 findings; 12, then failed. */
export function happened(run: RunView): string {
  const n = run.kind === 'ledger' ? DAEMON_WORDS.ledger.many(run.done) : count(run.done)
  if (run.lost) return `${n}, then its node stopped`
  return { running: `${n} so far`, succeeded: n, failed: `${n}, then failed`, aborted: `${n}, then stopped` }[run.state]
}

/** 3 fewer; none; nothing where there was no preview to differ from. */
export function difference({ previewed, done, state }: RunView): string {
  if (!previewed || state === 'running') return ''
  const more = done - previewed.done
  return more === 0 ? 'none' : `${count(Math.abs(more))} ${more < 0 ? 'fewer' : 'more'}`
}

export const secondsTaken = ({ startedAt, finishedAt }: Pick<RunView, 'startedAt' | 'finishedAt'>): number =>
  ((finishedAt?.getTime() ?? databaseNowMs()) - startedAt.getTime()) / 1000

export const took = (run: RunView): string => duration(secondsTaken(run))

/** Of how many, as far as anybody knows: a run that was stopped has counted no further than it came. */
export function totalOf({ total, previewed, done, state }: RunView): number | null {
  if (total !== null && state !== 'aborted') return total
  return previewed ? Math.max(previewed.done, done) : total
}

export interface Part {
  /** Where it left its keys: a state's colour, or ink on neutral. */
  state: 'completed' | 'failed_retryable' | 'unknown' | 'expired' | null
  word: string
  n: number
  /** They were there before. */
  stays?: boolean
  note?: string
}

const at = (counts: Counts, name: string): number => counts[name] ?? 0

/** Disjoint, and together all that is done. */
export function partsOf({ kind, action, counts, done }: Pick<RunView, 'kind' | 'action' | 'counts' | 'done'>): Part[] {
  switch (kind) {
    case 'sweeper':
      return [
        { state: 'unknown', word: 'Unknown', n: at(counts, 'unknown'), note: 'The provider may have been called' },
        { state: 'failed_retryable', word: 'Failed, retryable', n: at(counts, 'failedRetryable'), note: 'Released' },
        {
          state: 'completed',
          word: 'Completed',
          n: at(counts, 'settledByEvidence') + at(counts, 'abandoned'),
          note: `By evidence ${count(at(counts, 'settledByEvidence'))}, with a stored 408 ${count(at(counts, 'abandoned'))}`,
        },
        { state: null, word: 'Given to a worker', n: at(counts, 'requeued') },
      ]
    case 'reaper':
      return [
        { state: 'expired', word: 'Expired', n: at(counts, 'expired'), note: 'Past their retention' },
        { state: null, word: 'Deleted', n: at(counts, 'deleted'), note: 'Tombstones that stood long enough' },
      ]
    case 'reconciler':
      return lookUpParts(kind, counts, done)
    case 'bulk':
      return action === null || action === 'reconcile' ? lookUpParts(kind, counts, done) : decidedParts(counts)
    case 'ledger':
    case 'restore':
    case 'traffic':
      return []
  }
}

const decidedParts = (counts: Counts): Part[] => [
  { state: 'expired', word: 'Expired', n: at(counts, 'expired') },
  { state: 'failed_retryable', word: 'Handed to a worker', n: at(counts, 'runAgain') },
  { state: 'unknown', word: 'Looked up again', n: at(counts, 'resumed') },
  { state: null, word: 'No change', n: at(counts, 'errors'), note: 'Not in a state for it, or gone' },
]

function lookUpParts(kind: 'reconciler' | 'bulk', counts: Counts, done: number): Part[] {
  const settled = at(counts, 'settled')
  const completed = Math.min(settled, at(counts, 'succeeded') + at(counts, 'declined'))
  const stays = Math.max(0, at(counts, 'lookUps') - settled)
  const errors = Math.max(0, done - at(counts, 'lookUps'))
  return [
    {
      state: 'completed',
      word: 'Completed',
      n: completed,
      note: `Charged ${count(at(counts, 'succeeded'))}, declined ${count(at(counts, 'declined'))}`,
    },
    { state: 'failed_retryable', word: 'Failed, retryable', n: settled - completed, note: 'Proven not executed' },
    {
      ...(kind === 'reconciler'
        ? { state: 'unknown', word: 'Unknown', stays: true }
        : { state: null, word: 'No change' }),
      n: stays,
      note: `No proof: ${count(Math.max(0, at(counts, 'not_found') - (settled - completed)))} not found yet, ${count(at(counts, 'unreachable'))} without an answer`,
    },
    ...(errors > 0 ? [{ state: null, word: 'Not asked', n: errors, note: 'Nothing to ask about, or gone' }] : []),
  ]
}
