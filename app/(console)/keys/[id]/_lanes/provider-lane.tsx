// The provider's lane: calls, hatched where no answer came, and every time it was asked afterwards.
import { useId } from 'react'
import { placeLabels, type Wish } from '../../../../../lib/console/key-story-labels'
import type { CallSpan, LookUpMark } from '../../../../../lib/console/key-story-lanes'
import { duration } from '../../../../_ui/words'
import { signOf } from '../look-up-box'
import { Bar, type LaneProps } from './bars'
import { BAR_PX, cutOf, middle } from './geometry'
import { At, Labels, onlyFirst, taken } from './labels'

export function ProviderLane({ lanes, widthPx }: LaneProps) {
  const hatch = useId()
  const y = middle('Provider')
  const { calls, lookUps, scale } = lanes
  const obstacles = [...taken(lookUps), ...calls.map(({ from, to }) => [from, to] as const)]
  const labels = placeLabels(onlyFirst(wishesOf(calls, lookUps)), obstacles, widthPx, cutOf(scale.stretches))
  return (
    <g>
      <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="6" height="6" fill="var(--bg)" />
        <rect width="2.5" height="6" fill="var(--text)" />
      </pattern>
      {calls.map((call) => (
        <Bar
          key={call.from}
          span={call}
          stretches={scale.stretches}
          y={y - BAR_PX / 2}
          px={BAR_PX}
          fill={call.answered ? 'var(--text)' : `url(#${hatch})`}
          stroke="var(--text)"
        />
      ))}
      {lookUps.map((mark) => (
        <At key={`${mark.at} ${mark.number}`} x={mark.at} y={y}>
          <LookUpShape mark={mark} />
        </At>
      ))}
      <Labels labels={labels} y={y} />
    </g>
  )
}

/** What decided it first; of the others the first and the last. */
function wishesOf(calls: readonly CallSpan[], lookUps: readonly LookUpMark[]): Wish[] {
  const decisive = lookUps.filter(({ number }) => number === null)
  const counted = lookUps.filter(({ number }) => number !== null)
  return [
    ...decisive.map((mark) => ({ at: mark.at, text: lookUpWords(mark), strong: true })),
    ...calls.map(({ to, seconds, answered }) => ({
      at: to,
      text: answered ? `answered in ${duration(seconds)}` : `no answer for ${duration(seconds)}`,
      halfPx: 2,
    })),
    ...[...counted.slice(0, 1), ...counted.slice(-1)].map((mark) => ({ at: mark.at, text: lookUpWords(mark) })),
  ]
}

const SAID_BY: Record<LookUpMark['source'], string> = {
  look_up: 'look-up',
  webhook: 'webhook',
  late_owner: 'late owner',
  owner: 'owner',
  operator: 'operator',
}

const lookUpWords = ({ number, verdict, source }: LookUpMark): string =>
  number === null ? `${SAID_BY[source]}, ${signOf(verdict).word}` : `${SAID_BY[source]} ${number}`

function LookUpShape({ mark }: { mark: LookUpMark }) {
  const { sign, strong } = signOf(mark.verdict)
  return (
    <>
      <rect
        x="-8"
        y="-8"
        width="16"
        height="16"
        rx="3"
        fill={strong ? 'var(--ink)' : 'var(--bg)'}
        stroke={strong ? 'var(--ink)' : 'var(--line-control)'}
      />
      <text y="4" textAnchor="middle" className={strong ? 'fill-on-ink text-11' : 'fill-text text-11'}>
        {sign}
      </text>
    </>
  )
}
