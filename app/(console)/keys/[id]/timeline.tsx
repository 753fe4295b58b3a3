// The story as a list, with the time between its moments drawn: one sees where it hung.
import clsx from 'clsx'
import type { ReactNode } from 'react'
import type { KeyDetail } from '../../../../lib/console/key-detail'
import { gapOf, type Moment, secondsBetween } from '../../../../lib/console/key-story'
import type { State } from '../../../../lib/idempotency/states'
import { LOOKS } from '../../../_ui/state'
import { duration } from '../../../_ui/words'
import { endingOf } from './_words/ending'
import { wordsOf } from './_words/moment'
import { deedOf } from './_words/verdict'
import { ExactInstant } from './exact-instant'
import { Sentence } from './sentence'

interface TimelineProps {
  record: KeyDetail['record']
  moments: readonly Moment[]
  now: string
}

/** Not worth a label of its own. */
const SHORTEST_SAID_SECONDS = 1

export function Timeline({ record, moments, now }: TimelineProps) {
  const about = { ...deedOf({ record }), async: record.async }
  const first = moments[0]
  if (!first) return <p className="text-text-2">Nothing was written down of this key.</p>
  return (
    <ol aria-label="Timeline" className="list-none">
      {moments.map((moment, i) => {
        const next = moments[i + 1]
        const { title, rest } = wordsOf(moment, about)
        return (
          <Row
            key={`${moment.at} ${moment.what}`}
            at={<ExactInstant at={moment.at} />}
            since={sinceWords(first.at, moment.at)}
            state={moment.state}
            gap={gapAfter(moment, next, now)}
          >
            <strong className="font-semibold">{title}</strong>{' '}
            <span className="text-text-2">
              <Sentence parts={rest} />
            </span>
          </Row>
        )
      })}
      <Row at={<ExactInstant at={now} ms={false} />} since="now" state={record.state}>
        <span className="text-text-2">
          <Sentence parts={endingOf(record)} />
        </span>
      </Row>
    </ol>
  )
}

const sinceWords = (first: string, at: string): string => {
  const seconds = secondsBetween(first, at)
  return seconds <= 0 ? '+0' : `+${duration(seconds)}`
}

interface RowProps {
  at: ReactNode
  since: string
  state: State
  gap?: Gap
  children: ReactNode
}

function Row({ at, since, state, gap, children }: RowProps) {
  return (
    <li className="grid grid-cols-[64px_14px_minmax(0,1fr)] gap-x-2.5 wide:grid-cols-[92px_92px_14px_minmax(0,1fr)] wide:gap-x-3">
      <span className="text-text-2 max-wide:text-12 max-wide:leading-5">{at}</span>
      <span className="text-right text-text-2 max-wide:hidden">{since}</span>
      <span aria-hidden className="row-span-2 flex flex-col items-center pt-[5px]">
        <svg aria-hidden="true" width="11" height="11" viewBox="0 0 11 11" className="shrink-0">
          <circle cx="5.5" cy="5.5" r="4.5" fill="var(--bg)" stroke={LOOKS[state].colour} strokeWidth="1.75" />
        </svg>
        {gap && (
          <span
            className={clsx('-mb-[5px] w-0 flex-1 border-l-2', gap.shortened && 'border-dashed')}
            style={{ borderColor: LOOKS[state].colour }}
          />
        )}
      </span>
      <p className="[overflow-wrap:anywhere]">{children}</p>
      {gap && (
        <span
          className="col-start-3 flex items-center text-12 text-text-2 wide:col-start-4"
          style={{ minHeight: gap.px }}
        >
          {gap.words}
        </span>
      )}
    </li>
  )
}

interface Gap {
  px: number
  shortened: boolean
  words: string | null
}

/** As high as the time was long, by its root: four minutes look longer than four seconds, and both fit. */
function gapAfter(moment: Moment, next: Moment | undefined, now: string): Gap {
  const seconds = Math.max(0, secondsBetween(moment.until, next?.at ?? now))
  const drawn = gapOf(seconds)
  const words = seconds < SHORTEST_SAID_SECONDS ? null : gapWords(seconds, moment, next, drawn.shortened)
  return { ...drawn, words }
}

const LONG_WAIT_SECONDS = 300

function gapWords(seconds: number, from: Moment, to: Moment | undefined, shortened: boolean): string {
  const long = duration(seconds)
  const drawn = shortened ? ', drawn shorter' : ''
  if (to?.what === 'outcome_unknown' || to?.what === 'lease_over') return `${long}, no answer${drawn}`
  if (from.state === 'unknown' && to?.what === 'looked_up' && seconds >= LONG_WAIT_SECONDS)
    return `${long} without a look-up${drawn}`
  return `${long}${drawn}`
}
