// One move on the map: as wide as it is busy, with its verb and how many go along it a minute.
import Link from 'next/link'
import { emphasisOf } from '../../../lib/console/emphasis'
import type { StateMapView } from '../../../lib/console/state-map'
import { FLOWS, type Flow } from '../../../lib/idempotency/flows'
import { LOOKS } from '../../_ui/state'
import { rate as rateWord, spokenRate } from './rate'
import type { MapLayout } from './state-map-layout'

interface ArrowProps {
  flow: Flow
  layout: MapLayout
  view: StateMapView
  empty: boolean
}

/** A move that is hardly ever seen is not drawn before it is: it would only cross the others. */
const RARE: readonly Flow[] = ['recharged']

const TIPS = {
  right: (x: number, y: number) => `M${x} ${y}l-8-4.5v9z`,
  left: (x: number, y: number) => `M${x} ${y}l8-4.5v9z`,
  up: (x: number, y: number) => `M${x} ${y}l-4.5 8h9z`,
  down: (x: number, y: number) => `M${x} ${y}l-4.5-8h9z`,
} as const

const widthOf = (perMinute: number): number => 1 + 1.25 * Math.log10(1 + perMinute)

export function Arrow({ flow, layout, view, empty }: ArrowProps) {
  const { path, tip, label } = layout.arrows[flow]
  const { word, to } = FLOWS[flow]
  const perMinute = view.flows[flow]
  const idle = perMinute === 0
  if (idle && (RARE.includes(flow) || (layout.dropsIdle && !empty))) return null
  const piling = to !== null && !idle && emphasisOf(view.states[to]) === 'piling'
  const colour = piling ? LOOKS[to].colour : idle && !empty ? 'var(--flow-rare)' : 'var(--flow)'
  const drawing = (
    <>
      <path
        d={path}
        fill="none"
        stroke={colour}
        strokeWidth={idle ? 1 : widthOf(perMinute)}
        strokeDasharray={idle ? '2 3' : undefined}
      />
      <path d={TIPS[tip.to](tip.x, tip.y)} fill={colour} />
      <Words flow={flow} layout={layout} perMinute={perMinute} empty={empty} />
    </>
  )
  const href = view.flowLinks[flow]
  if (idle || !href) return <g>{drawing}</g>
  return (
    <Link
      href={href}
      // What is written is its name, unless there was no room for the verb.
      aria-label={label.rateOnly && `${word}, ${spokenRate(perMinute)}`}
      className="group/flow no-underline"
    >
      {/* The strokes are thin: what can be clicked is not. */}
      <path d={path} fill="none" stroke="transparent" strokeWidth="16" />
      {drawing}
    </Link>
  )
}

function Words({ flow, layout, perMinute, empty }: Omit<ArrowProps, 'view'> & { perMinute: number }) {
  const { label } = layout.arrows[flow]
  const anchor = label.anchor ?? 'start'
  const idle = perMinute === 0
  const rate = label.rateOnly ? rateWord(perMinute).replace('/min', '') : rateWord(perMinute)
  const at = label.rateOnly ? label : label.rate
  return (
    <>
      {!label.rateOnly && (
        <text x={label.x} y={label.y} textAnchor={anchor} className="fill-text-2 text-12">
          {label.word ?? FLOWS[flow].word}
        </text>
      )}
      {at && !(empty && idle) && (
        <text
          key={rate}
          x={at.x}
          y={at.y}
          textAnchor={anchor}
          className={
            idle
              ? 'fill-text-2 text-12'
              : 'animate-count fill-text text-12 font-semibold group-hover/flow:underline group-focus-visible/flow:underline'
          }
        >
          {rate}
        </text>
      )}
    </>
  )
}
