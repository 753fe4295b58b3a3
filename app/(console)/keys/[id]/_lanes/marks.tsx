// What happens in a moment: what the client sent and got, and what people did.
import { placeLabels, type Wish } from '../../../../../lib/console/key-story-labels'
import type { ClientMark } from '../../../../../lib/console/key-story-lanes'
import { plural } from '../../../../_ui/words'
import { didWords } from '../_words/moment'
import type { LaneProps } from './bars'
import { cutOf, middle } from './geometry'
import { At, Labels, onlyFirst, taken } from './labels'

const IMPORTANCE: ClientMark['what'][] = ['answer', 'request', 'replays', 'misuse']

export function ClientLane({ lanes, widthPx }: LaneProps) {
  const y = middle('Client')
  const wishes = lanes.client
    .toSorted((a, b) => IMPORTANCE.indexOf(a.what) - IMPORTANCE.indexOf(b.what))
    .map((mark): Wish => ({ at: mark.at, text: clientWords(mark), strong: mark.what === 'misuse' }))
  const labels = placeLabels(onlyFirst(wishes), taken(lanes.client), widthPx, cutOf(lanes.scale.stretches))
  return (
    <g>
      {lanes.client.map(({ at, what, number }) => (
        <At key={`${at} ${what} ${number}`} x={at} y={y}>
          <ClientShape what={what} />
        </At>
      ))}
      <Labels labels={labels} y={y} />
    </g>
  )
}

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

export function OperatorLane({ lanes, widthPx }: LaneProps) {
  const y = middle('Operators')
  const wishes = lanes.people
    .toReversed()
    .map(({ at, person, moment }): Wish => ({ at, text: `${person} ${didWords(moment)}` }))
  const labels = placeLabels(wishes, taken(lanes.people), widthPx, cutOf(lanes.scale.stretches))
  return (
    <g>
      {lanes.people.map(({ at, moment }) => (
        <At key={`${at} ${moment.at} ${moment.what}`} x={at} y={y}>
          <circle r="4.5" fill="var(--text)" />
        </At>
      ))}
      <Labels labels={labels} y={y} />
    </g>
  )
}
