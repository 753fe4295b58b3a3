// What lasts: the states, and the leases of whoever owned the key.
import { placeLabels, type Wish } from '../../../../../lib/console/key-story-labels'
import type { Lanes, StateSpan } from '../../../../../lib/console/key-story-lanes'
import type { Stretch } from '../../../../../lib/console/key-story-scale'
import { LOOKS } from '../../../../_ui/state'
import { duration } from '../../../../_ui/words'
import { atLeast, BAR_PX, cutOf, middle, partsOf, percent } from './geometry'
import { At, Labels } from './labels'

export interface LaneProps {
  lanes: Lanes
  /** What the words have to fit into. */
  widthPx: number
}

interface BarProps {
  span: { from: number; to: number }
  stretches: readonly Stretch[]
  y: number
  px: number
  fill: string
  stroke?: string
}

/** A bar that the cut goes through is drawn on both sides of it. */
export const Bar = ({ span, stretches, y, px, ...paint }: BarProps) =>
  partsOf(atLeast(span), stretches).map(({ from, to }) => (
    <rect key={from} x={percent(from)} width={percent(to - from)} y={y} height={px} rx="2" {...paint} />
  ))

export const StateLane = ({ lanes, widthPx }: LaneProps) =>
  lanes.states.map((span) => (
    <StateBar key={span.from} span={span} stretches={lanes.scale.stretches} widthPx={widthPx} />
  ))

const STATE_PX = 20
const ICON_PX = 14
const PX_PER_CHARACTER = 6.4

function StateBar({ span, stretches, widthPx }: { span: StateSpan; stretches: readonly Stretch[]; widthPx: number }) {
  const { colour, icon: Icon } = LOOKS[span.state]
  const y = middle('State') - STATE_PX / 2
  const widest = partsOf(span, stretches).toSorted((a, b) => b.to - b.from - (a.to - a.from))[0]
  const room = widest ? (widest.to - widest.from) * widthPx - ICON_PX - 14 : 0
  const text = stateWords(span).find((words) => words.length * PX_PER_CHARACTER < room)
  return (
    <g>
      <Bar
        span={span}
        stretches={stretches}
        y={y}
        px={STATE_PX}
        fill={`${colour.slice(0, -1)}-tint)`}
        stroke={colour}
      />
      {widest && room > 0 && (
        <At x={widest.from} y={y}>
          <Icon x={6} y={3} size={ICON_PX} color={colour} />
          {text && (
            <text x={ICON_PX + 11} y="14" className="fill-text">
              {text}
            </text>
          )}
        </At>
      )}
    </g>
  )
}

/** The longest first. How long a state lasts that goes on behind the end is not drawn, and not said. */
function stateWords({ state, seconds, open }: StateSpan): string[] {
  const { word } = LOOKS[state]
  return open ? [word] : [`${word} for ${duration(seconds)}`, duration(seconds)]
}

export function OwnerLane({ lanes, widthPx }: LaneProps) {
  const y = middle('Owner') - BAR_PX / 2
  const { stretches } = lanes.scale
  const wishes = lanes.owners.map(
    ({ to, leaseTo, attempt, by }): Wish => ({
      at: leaseTo ?? to,
      text: `${leaseTo === null ? '' : 'lease of '}${by}, attempt ${attempt}`,
      halfPx: 2,
    }),
  )
  const bars = lanes.owners.map(({ from, to, leaseTo }) => [from, leaseTo ?? to] as const)
  return (
    <g>
      {lanes.owners.map(({ attempt, from, to, leaseTo }) => (
        <g key={attempt}>
          {leaseTo !== null && (
            <Bar
              span={{ from, to: leaseTo }}
              stretches={stretches}
              y={y}
              px={BAR_PX}
              fill="var(--bg)"
              stroke="var(--flow)"
            />
          )}
          <Bar span={{ from, to }} stretches={stretches} y={y} px={BAR_PX} fill="var(--flow)" />
        </g>
      ))}
      <Labels labels={placeLabels(wishes, bars, widthPx, cutOf(stretches))} y={middle('Owner')} />
    </g>
  )
}
