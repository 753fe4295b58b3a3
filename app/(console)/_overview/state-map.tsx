// The state machine as a picture with live counts on the states and rates on the arrows: where keys pile up, at a
// glance. Emphasis is the count against what is usual, never the raw count. Every number leads to its rows.
import type { StateMapView } from '../../../lib/console/state-map'
import { FLOW_NAMES } from '../../../lib/idempotency/flows'
import { STATES } from '../../../lib/idempotency/states'
import { Arrow } from './state-map-arrow'
import { Callout, type CalloutLine } from './state-map-callout'
import { type MapLayout, NARROW, WIDE } from './state-map-layout'
import { Node } from './state-map-node'

interface StateMapProps {
  view: StateMapView
  /** No key has ever been there: it says what each state means instead. */
  empty?: boolean
  /** What is worth knowing of a state that piles up. */
  callout?: readonly CalloutLine[]
}

export function StateMap(props: StateMapProps) {
  return (
    <figure aria-label="State map" className="@container">
      <div className="hidden @min-[1000px]:block">
        <Drawing layout={WIDE} {...props} />
      </div>
      <div className="mx-auto max-w-[400px] @min-[1000px]:hidden">
        <Drawing layout={NARROW} {...props} />
      </div>
    </figure>
  )
}

function Drawing({ layout, view, empty = false, callout = [] }: StateMapProps & { layout: MapLayout }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a group of links in a drawing is no fieldset
    <svg
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      className="block h-auto w-full"
      style={{ maxWidth: layout.width }}
      role="group"
      aria-label="States and the moves between them"
    >
      <path d={layout.api.line} stroke="var(--flow)" strokeWidth="3" />
      <text x={layout.api.label.x} y={layout.api.label.y} className="fill-text-2 text-12">
        Client API
      </text>
      {FLOW_NAMES.map((flow) => (
        <Arrow key={flow} flow={flow} layout={layout} view={view} empty={empty} />
      ))}
      {STATES.map((state) => (
        <Node key={state} state={state} layout={layout} view={view} empty={empty} />
      ))}
      {layout.callout && view.piling && <Callout at={layout.callout} view={view} lines={callout} />}
    </svg>
  )
}

/** What the strokes mean. */
export function StateMapLegend() {
  return (
    <span className="hidden items-center gap-4 text-12 text-text-2 full:flex">
      <span className="flex items-center gap-2">
        <svg aria-hidden="true" width="20" height="8">
          <path d="M0 4H20" stroke="var(--text-3)" strokeDasharray="1 3" />
        </svg>
        usual
      </span>
      <span className="flex items-center gap-2">
        <span aria-hidden className="h-2 w-3.5 bg-text-2" />
        above usual
      </span>
      <span className="flex items-center gap-2">
        <svg aria-hidden="true" width="62" height="8">
          <path d="M0 4H18" stroke="var(--flow)" />
          <path d="M22 4H40" stroke="var(--flow)" strokeWidth="2.5" />
          <path d="M44 4H62" stroke="var(--flow)" strokeWidth="4.5" />
        </svg>
        wider = more keys
      </span>
    </span>
  )
}
