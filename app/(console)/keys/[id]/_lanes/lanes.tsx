// The story drawn in lanes, to scale, with at most one cut. It says nothing that the list does not: readers get that.
// Which words fit is worked out for the narrowest width that each drawing is shown at.
import type { Lanes as LanesOf } from '../../../../../lib/console/key-story-lanes'
import { wholeDuration } from '../_words/whole-duration'
import { ClockText } from '../exact-instant'
import { OwnerLane, StateLane } from './bars'
import { BOTTOM, cutOf, FOOT_PX, HEAD_PX, LANE_PX, LANES, middle, NAMES_PX, percent } from './geometry'
import { ClientLane, OperatorLane } from './marks'
import { ProviderLane } from './provider-lane'

export function Lanes({ lanes }: { lanes: LanesOf }) {
  return (
    <figure aria-label="Timeline, drawn to scale" className="@container">
      <div className="mb-6 hidden @min-[720px]:block @min-[1060px]:hidden">
        <Drawing lanes={lanes} widthPx={720 - NAMES_PX} />
      </div>
      <div className="mb-6 hidden @min-[1060px]:block">
        <Drawing lanes={lanes} widthPx={1060 - NAMES_PX} />
      </div>
    </figure>
  )
}

function Drawing({ lanes, widthPx }: { lanes: LanesOf; widthPx: number }) {
  const cut = cutOf(lanes.scale.stretches)
  return (
    <div aria-hidden className="grid text-12" style={{ gridTemplateColumns: `${NAMES_PX}px minmax(0, 1fr)` }}>
      <div style={{ paddingTop: HEAD_PX }}>
        {LANES.map((lane) => (
          <div key={lane} className="flex items-center text-text-2" style={{ height: LANE_PX }}>
            {lane}
          </div>
        ))}
      </div>
      <svg width="100%" height={BOTTOM + FOOT_PX} overflow="visible" aria-hidden="true">
        <Grid lanes={lanes} />
        <StateLane lanes={lanes} widthPx={widthPx} />
        <ClientLane lanes={lanes} widthPx={widthPx} />
        <OwnerLane lanes={lanes} widthPx={widthPx} />
        <ProviderLane lanes={lanes} widthPx={widthPx} />
        <OperatorLane lanes={lanes} widthPx={widthPx} />
        {cut && <Cut at={(cut[0] + cut[1]) / 2} />}
      </svg>
    </div>
  )
}

function Grid({ lanes }: { lanes: LanesOf }) {
  return (
    <>
      <text x="0" y="12" className="fill-text-2 text-11">
        <ClockText at={lanes.startedAt} />
      </text>
      {lanes.ticks.map(({ seconds, at }) => (
        <g key={seconds}>
          <text x={percent(at)} y="12" textAnchor="middle" className="fill-text-2 text-11">
            +{tickWords(seconds)}
          </text>
          <line x1={percent(at)} x2={percent(at)} y1={HEAD_PX - 8} y2={BOTTOM} stroke="var(--ch-grid)" />
        </g>
      ))}
      {LANES.map((lane) => {
        const y = middle(lane) + LANE_PX / 2
        return <line key={lane} x1="0" x2="100%" y1={y} y2={y} stroke="var(--ch-grid)" />
      })}
      {lanes.live && (
        <>
          <text x="100%" y="12" textAnchor="end" className="fill-text text-11 font-semibold">
            now
          </text>
          <line x1="100%" x2="100%" y1={HEAD_PX - 12} y2={BOTTOM} stroke="var(--text)" strokeWidth="1.5" />
        </>
      )}
    </>
  )
}

/** Exact: an axis does not round. */
function tickWords(seconds: number): string {
  if (seconds >= 60) return wholeDuration(seconds)
  return seconds < 1 ? `${+(seconds * 1000).toFixed(3)} ms` : `${+seconds.toFixed(3)} s`
}

function Cut({ at }: { at: number }) {
  const top = HEAD_PX - 12
  const slope = `l-3 ${BOTTOM - HEAD_PX + 16}`
  return (
    <svg x={percent(at)} overflow="visible" aria-hidden="true">
      <path d={`M-5 ${top}h8${slope}h-8z`} fill="var(--bg)" />
      <path d={`M-4 ${top}${slope}M3 ${top}${slope}`} stroke="var(--flow)" />
      <text y={BOTTOM + 18} textAnchor="middle" className="fill-text-2 text-11">
        scale changes
      </text>
    </svg>
  )
}
