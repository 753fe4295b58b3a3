// The story drawn in lanes, to scale, with at most one cut. It says nothing that the list does not: readers get that.
// Positions are parts of the width, so the drawing is fluid and its letters never shrink; which words fit is worked out
// for the narrowest width that each drawing is shown at.
import type { ReactNode } from 'react'
import { type Label, placeLabels, type Wish } from '../../../../lib/console/key-story-labels'
import type { ClientMark, Lanes as LanesOf, LookUpMark, StateSpan } from '../../../../lib/console/key-story-lanes'
import type { Stretch } from '../../../../lib/console/key-story-scale'
import { LOOKS } from '../../../_ui/state'
import { duration, plural } from '../../../_ui/words'
import { wordsOf } from './_words/moment'
import { ClockText } from './exact-instant'
import { signOf } from './look-up-box'

const LANES = ['State', 'Client', 'Owner', 'Provider', 'Operators'] as const
const LANE_PX = 42
const HEAD_PX = 30
const FOOT_PX = 24
const BOTTOM = HEAD_PX + LANES.length * LANE_PX
const NAMES_PX = 104

const middle = (lane: (typeof LANES)[number]): number => HEAD_PX + (LANES.indexOf(lane) + 0.5) * LANE_PX
const percent = (part: number): string => `${(part * 100).toFixed(3)}%`

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
  const hatch = `hatch-${widthPx}`
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
        <defs>
          <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="6" height="6" fill="var(--bg)" />
            <rect width="2.5" height="6" fill="var(--text)" />
          </pattern>
        </defs>
        <Grid lanes={lanes} />
        {lanes.states.flatMap((span) => (
          <StateBar key={span.from} span={span} stretches={lanes.scale.stretches} widthPx={widthPx} />
        ))}
        <Client marks={lanes.client} cut={cut} widthPx={widthPx} />
        <Owners lanes={lanes} widthPx={widthPx} />
        <Provider lanes={lanes} cut={cut} widthPx={widthPx} hatch={hatch} />
        <People lanes={lanes} cut={cut} widthPx={widthPx} />
        {cut && <Cut at={(cut[0] + cut[1]) / 2} />}
      </svg>
    </div>
  )
}

type CutRange = readonly [number, number] | null
const cutOf = ([first, second]: readonly Stretch[]): CutRange => (first && second ? [first.right, second.left] : null)

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
  if (seconds >= 60) return duration(seconds).replace(/ 00? (s|min|h)$/, '')
  return seconds < 1 ? `${+(seconds * 1000).toFixed(3)} ms` : `${+seconds.toFixed(3)} s`
}

function Cut({ at }: { at: number }) {
  return (
    <svg x={percent(at)} overflow="visible" aria-hidden="true">
      <path d={`M-5 ${HEAD_PX - 12}l8 0l-3 ${BOTTOM - HEAD_PX + 16}h-8z`} fill="var(--bg)" />
      <path
        d={`M-4 ${HEAD_PX - 12}l-3 ${BOTTOM - HEAD_PX + 16}M3 ${HEAD_PX - 12}l-3 ${BOTTOM - HEAD_PX + 16}`}
        stroke="var(--flow)"
      />
      <text y={BOTTOM + 18} textAnchor="middle" className="fill-text-2 text-11">
        scale changes
      </text>
    </svg>
  )
}

/** The parts of a span on either side of the cut. */
const partsOf = (span: { from: number; to: number }, stretches: readonly Stretch[]) =>
  stretches
    .map(({ left, right }) => ({ from: Math.max(left, span.from), to: Math.min(right, span.to) }))
    .filter(({ from, to }) => to > from)

const STATE_PX = 20
const ICON_PX = 14

function StateBar({ span, stretches, widthPx }: { span: StateSpan; stretches: readonly Stretch[]; widthPx: number }) {
  const { colour, word, icon: Icon } = LOOKS[span.state]
  const y = middle('State') - STATE_PX / 2
  const parts = partsOf(span, stretches)
  const widest = parts.toSorted((a, b) => b.to - b.from - (a.to - a.from))[0]
  const room = widest ? (widest.to - widest.from) * widthPx - ICON_PX - 14 : 0
  const long = `${word}${span.open ? '' : ` for ${duration(span.seconds)}`}`
  const text = [long, duration(span.seconds)].find(
    (words) => words.length * 6.4 < room && !(span.open && words !== long),
  )
  return (
    <g>
      {parts.map(({ from, to }) => (
        <rect
          key={from}
          x={percent(from)}
          width={percent(Math.max(to - from, 0.002))}
          y={y}
          height={STATE_PX}
          rx="2"
          fill={`${colour.slice(0, -1)}-tint)`}
          stroke={colour}
        />
      ))}
      {widest && room > 0 && (
        <svg x={percent(widest.from)} y={y} overflow="visible" aria-hidden="true">
          <Icon x={6} y={3} size={ICON_PX} color={colour} />
          {text && (
            <text x={ICON_PX + 11} y="14" className="fill-text">
              {text}
            </text>
          )}
        </svg>
      )}
    </g>
  )
}

function Labels({ labels, y }: { labels: readonly Label[]; y: number }) {
  return labels.map(({ at, text, strong, place, anchor, halfPx = 7 }) => (
    <svg key={`${at} ${text}`} x={percent(at)} overflow="visible" aria-hidden="true">
      <text
        x={
          place === 'right'
            ? halfPx + 4
            : place === 'left'
              ? -halfPx - 4
              : anchor === 'middle'
                ? 0
                : anchor === 'start'
                  ? -4
                  : 4
        }
        y={place === 'above' ? y - 12 : y + 4}
        textAnchor={anchor}
        className={strong ? 'fill-text font-semibold' : 'fill-text'}
        style={{ paintOrder: 'stroke', stroke: 'var(--bg)', strokeWidth: 3 }}
      >
        {text}
      </text>
    </svg>
  ))
}

const at = (x: number, y: number, mark: ReactNode, key: string) => (
  <svg key={key} x={percent(x)} y={y} overflow="visible" aria-hidden="true">
    {mark}
  </svg>
)

function Client({ marks, cut, widthPx }: { marks: ClientMark[]; cut: CutRange; widthPx: number }) {
  const y = middle('Client')
  const wishes = marks
    .toSorted((a, b) => IMPORTANCE.indexOf(a.what) - IMPORTANCE.indexOf(b.what))
    .map((mark): Wish => ({ at: mark.at, text: clientWords(mark), strong: mark.what === 'misuse' }))
  const labels = placeLabels(onlyFirst(wishes), taken(marks), widthPx, cut)
  return (
    <g>
      {marks.map((mark, i) => at(mark.at, y, <ClientShape what={mark.what} />, `${i}`))}
      <Labels labels={labels} y={y} />
    </g>
  )
}

const IMPORTANCE: ClientMark['what'][] = ['answer', 'request', 'replays', 'misuse']

const taken = (marks: readonly { at: number }[]) => marks.map((mark) => [mark.at, mark.at] as const)

/** What is said of many marks is said once. */
const onlyFirst = (wishes: readonly Wish[]): Wish[] =>
  wishes.filter((wish, i) => wishes.findIndex(({ text }) => text === wish.text) === i)

function clientWords({ what, number }: ClientMark): string {
  switch (what) {
    case 'request':
      return number > 1 ? `POST, attempt ${number}` : 'POST'
    case 'answer':
      return String(number)
    case 'misuse':
      return '422 misuse'
    case 'replays':
      return plural(number, 'replay')
  }
}

function ClientShape({ what }: { what: ClientMark['what'] }) {
  switch (what) {
    case 'request':
      return <circle r="4.5" fill="var(--text)" />
    case 'misuse':
      return <path d="M0 -6.5L6.5 0L0 6.5L-6.5 0z" fill="var(--text)" />
    case 'answer':
    case 'replays':
      return <circle r="4" fill="var(--bg)" stroke="var(--text)" strokeWidth="1.5" />
  }
}

const BAR_PX = 14

function Owners({ lanes, widthPx }: { lanes: LanesOf; widthPx: number }) {
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
  const labels = placeLabels(wishes, bars, widthPx, cutOf(stretches))
  return (
    <g>
      {lanes.owners.map((owner) => (
        <g key={owner.attempt}>
          {owner.leaseTo !== null &&
            partsOf({ from: owner.from, to: owner.leaseTo }, stretches).map(({ from, to }) => (
              <rect
                key={from}
                x={percent(from)}
                width={percent(to - from)}
                y={y}
                height={BAR_PX}
                rx="2"
                fill="var(--bg)"
                stroke="var(--flow)"
              />
            ))}
          {partsOf(atLeast(owner), stretches).map(({ from, to }) => (
            <rect
              key={from}
              x={percent(from)}
              width={percent(to - from)}
              y={y}
              height={BAR_PX}
              rx="2"
              fill="var(--flow)"
            />
          ))}
        </g>
      ))}
      <Labels labels={labels} y={middle('Owner')} />
    </g>
  )
}

/** Wide enough to be seen. */
const atLeast = ({ from, to }: { from: number; to: number }) => ({ from, to: Math.min(1, Math.max(to, from + 0.003)) })

function Provider({ lanes, cut, widthPx, hatch }: { lanes: LanesOf; cut: CutRange; widthPx: number; hatch: string }) {
  const y = middle('Provider')
  const { calls, lookUps, scale } = lanes
  const counted = lookUps.filter(({ number }) => number !== null)
  const wishes: Wish[] = [
    ...lookUps
      .filter(({ number }) => number === null)
      .map((mark) => ({ at: mark.at, text: lookUpWords(mark), strong: true })),
    ...calls.map(({ to, seconds, answered }) => ({
      at: to,
      text: answered ? `answered in ${duration(seconds)}` : `no answer for ${duration(seconds)}`,
      halfPx: 2,
    })),
    ...[counted[0], counted.at(-1)].flatMap((mark) => (mark ? [{ at: mark.at, text: lookUpWords(mark) }] : [])),
  ]
  const obstacles = [...taken(lookUps), ...calls.map(({ from, to }) => [from, to] as const)]
  const labels = placeLabels(onlyFirst(wishes), obstacles, widthPx, cut)
  return (
    <g>
      {calls.map((call) =>
        partsOf(atLeast(call), scale.stretches).map(({ from, to }) => (
          <rect
            key={from}
            x={percent(from)}
            width={percent(to - from)}
            y={y - BAR_PX / 2}
            height={BAR_PX}
            rx="2"
            fill={call.answered ? 'var(--text)' : `url(#${hatch})`}
            stroke="var(--text)"
          />
        )),
      )}
      {lookUps.map((mark, i) => at(mark.at, y, <LookUpShape mark={mark} />, `${i}`))}
      <Labels labels={labels} y={y} />
    </g>
  )
}

const SAID_BY = {
  look_up: 'look-up',
  webhook: 'webhook',
  late_owner: 'late owner',
  owner: 'owner',
  operator: 'operator',
}

const lookUpWords = ({ number, verdict, source }: LookUpMark): string =>
  number === null ? `${SAID_BY[source]}, ${signOf(verdict).word}` : `${SAID_BY[source]} ${number}`

function LookUpShape({ mark }: { mark: LookUpMark }) {
  const { sign, strong } = { strong: false, ...signOf(mark.verdict) }
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

const NO_MONEY = { noun: 'charge', done: 'charged', async: false }

function People({ lanes, cut, widthPx }: { lanes: LanesOf; cut: CutRange; widthPx: number }) {
  const y = middle('Operators')
  const wishes = lanes.people
    .toReversed()
    .map(({ at: where, moment }): Wish => ({ at: where, text: wordsOf(moment, NO_MONEY).title }))
  const labels = placeLabels(wishes, taken(lanes.people), widthPx, cut)
  return (
    <g>
      {lanes.people.map(({ at: where }, i) => at(where, y, <circle r="4.5" fill="var(--text)" />, `${i}`))}
      <Labels labels={labels} y={y} />
    </g>
  )
}
