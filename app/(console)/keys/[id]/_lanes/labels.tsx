// Words beside the marks of a lane, where there was room for them.
import type { ReactNode } from 'react'
import type { Label, Wish } from '../../../../../lib/console/key-story-labels'
import { percent } from './geometry'

const MARK_PX = 7
const ROOM_PX = 4

export function Labels({ labels, y }: { labels: readonly Label[]; y: number }) {
  return labels.map((label) => (
    <At key={`${label.at} ${label.text}`} x={label.at}>
      <text
        x={offsetOf(label)}
        y={label.place === 'above' ? y - 12 : y + 4}
        textAnchor={label.anchor}
        className={label.strong ? 'fill-text font-semibold' : 'fill-text'}
        style={{ paintOrder: 'stroke', stroke: 'var(--bg)', strokeWidth: 3 }}
      >
        {label.text}
      </text>
    </At>
  ))
}

function offsetOf({ place, anchor, halfPx = MARK_PX }: Label): number {
  if (place !== 'above') return place === 'right' ? halfPx + ROOM_PX : -halfPx - ROOM_PX
  return { start: -ROOM_PX, middle: 0, end: ROOM_PX }[anchor]
}

/** What is drawn in pixels, at a part of the line. */
export const At = ({ x, y = 0, children }: { x: number; y?: number; children: ReactNode }) => (
  <svg x={percent(x)} y={y} overflow="visible" aria-hidden="true">
    {children}
  </svg>
)

/** Where marks are in the way of words. */
export const taken = (marks: readonly { at: number }[]) => marks.map(({ at }) => [at, at] as const)

/** What is said of many marks is said once. */
export const onlyFirst = (wishes: readonly Wish[]): Wish[] =>
  wishes.filter((wish, i) => wishes.findIndex(({ text }) => text === wish.text) === i)
