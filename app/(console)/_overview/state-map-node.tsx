// One state on the map: how many keys are in it, what is usual, and how it came to that.
import Link from 'next/link'
import { emphasisOf, timesUsual } from '../../../lib/console/emphasis'
import type { StateMapView } from '../../../lib/console/state-map'
import type { State } from '../../../lib/idempotency/states'
import { LOOKS } from '../../_ui/state'
import { stateCount } from '../../_ui/words'
import { Pile } from './pile'
import type { Box, MapLayout } from './state-map-layout'

interface NodeProps {
  state: State
  layout: MapLayout
  view: StateMapView
  empty: boolean
}

const MEANINGS: Record<State, [string, string]> = {
  pending: ['accepted, no worker', 'has it yet'],
  in_progress: ['one owner holds', 'a lease'],
  completed: ['the answer is stored', 'and replayed'],
  failed_retryable: ['proven: nothing', 'was charged'],
  unknown: ['may have charged: only a look-up,', 'a webhook or a person settles it'],
  expired: ['a tombstone: 410,', 'no replay'],
}

const TINTS: Record<State, string> = {
  pending: 'var(--st-pending-tint)',
  in_progress: 'var(--st-in_progress-tint)',
  completed: 'var(--st-completed-tint)',
  failed_retryable: 'var(--st-failed-tint)',
  unknown: 'var(--st-unknown-tint)',
  expired: 'var(--st-expired-tint)',
}

const PADDING = 12

export function Node({ state, layout, view, empty }: NodeProps) {
  const { icon: Icon, word, colour } = LOOKS[state]
  const of = view.states[state]
  const emphasis = emphasisOf(of)
  const loud = emphasis === 'piling'
  const large = loud && !layout.dropsIdle
  const box = { ...layout.boxes[state], ...(loud && layout.grown[state] ? { h: layout.grown[state] } : {}) }
  const counted = stateCount(of)
  return (
    <Link href={view.stateLinks[state]} className="group/node no-underline">
      <rect
        x={box.x + (loud ? 1 : 0.5)}
        y={box.y + (loud ? 1 : 0.5)}
        width={box.w - (loud ? 2 : 1)}
        height={box.h - (loud ? 2 : 1)}
        rx="5"
        fill={loud ? TINTS[state] : 'var(--bg)'}
        stroke={emphasis === 'calm' ? 'var(--line-strong)' : colour}
        strokeWidth={loud ? 2 : 1}
        className={
          emphasis === 'calm'
            ? 'group-hover/node:stroke-(--line-control) group-focus-visible/node:stroke-(--ink)'
            : 'group-focus-visible/node:stroke-(--ink)'
        }
      />
      <g color={colour}>
        <Icon x={box.x + PADDING} y={box.y + 11} size={14} aria-hidden />
      </g>
      <text x={box.x + PADDING + 20} y={box.y + 22.5} className="fill-text text-13 font-medium">
        {word}
      </text>
      <text
        key={counted}
        x={box.x + PADDING}
        y={box.y + (large ? 66 : 54)}
        className={`animate-count fill-text font-semibold tracking-[-0.01em] ${large ? 'text-36' : 'text-24'}`}
      >
        {counted}
      </text>
      {empty ? (
        <Meaning box={box} state={state} narrow={layout.dropsIdle} />
      ) : (
        <Usual {...{ box, state, view, layout }} />
      )}
    </Link>
  )
}

function Meaning({ box, state, narrow }: { box: Box; state: State; narrow: boolean }) {
  if (narrow) return null
  return MEANINGS[state].map((line, i) => (
    <text key={line} x={box.x + PADDING} y={box.y + 74 + 15 * i} className="fill-text-2 text-12">
      {line}
    </text>
  ))
}

function Usual({ box, state, view, layout }: { box: Box } & Omit<NodeProps, 'empty'>) {
  const of = view.states[state]
  const emphasis = emphasisOf(of)
  const large = emphasis === 'piling' && !layout.dropsIdle
  const calm = emphasis === 'calm'
  const top = box.y + (large ? 78 : 64)
  // The usual count of a state that is counted by estimate is one, too: its ≈ stands at the count.
  const words =
    of.usual === null
      ? null
      : calm
        ? `usual ${stateCount({ count: of.usual, estimated: of.estimated }).replace('≈ ', '')}`
        : `${timesWord(timesUsual(of)!)} usual`
  return (
    <>
      {words && fits(box, stateCount(of), words, large) && (
        <text
          x={box.x + box.w - PADDING}
          y={box.y + (large ? 64 : 54)}
          textAnchor="end"
          fill={calm ? 'var(--text-2)' : LOOKS[state].colour}
          className={calm ? 'text-12' : 'text-12 font-semibold'}
        >
          {words}
        </text>
      )}
      {box.y + box.h - top >= (layout.dropsIdle ? 12 : 20) && (
        <Pile
          x={box.x + PADDING}
          y={top}
          w={box.w - 2 * PADDING}
          h={box.y + box.h - PADDING - top}
          of={of}
          colour={calm ? null : LOOKS[state].colour}
        />
      )}
    </>
  )
}

/** Letters of the count and of the words beside it, about. */
const fits = (box: Box, counted: string, words: string, large: boolean): boolean =>
  counted.length * (large ? 19 : 12.2) + words.length * 6.3 + 8 <= box.w - 2 * PADDING

const timesWord = (times: number): string =>
  times < 10 ? `${times.toFixed(1).replace(/\.0$/, '')}×` : `${Math.round(times).toLocaleString('en')}×`
