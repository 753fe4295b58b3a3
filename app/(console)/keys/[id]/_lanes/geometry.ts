// Where things are in the drawing. Along the line positions are parts of its width, so that it is fluid and its letters
// never shrink; up and down they are pixels.
import type { Stretch } from '../../../../../lib/console/key-story-scale'

export const LANES = ['State', 'Client', 'Owner', 'Provider', 'Operators'] as const
export const LANE_PX = 42
export const HEAD_PX = 30
export const FOOT_PX = 24
export const BOTTOM = HEAD_PX + LANES.length * LANE_PX
export const NAMES_PX = 104
export const BAR_PX = 14

export const middle = (lane: (typeof LANES)[number]): number => HEAD_PX + (LANES.indexOf(lane) + 0.5) * LANE_PX

export const percent = (part: number): string => `${(part * 100).toFixed(3)}%`

export type CutRange = readonly [number, number] | null

export const cutOf = ([first, second]: readonly Stretch[]): CutRange =>
  first && second ? [first.right, second.left] : null

interface Span {
  from: number
  to: number
}

/** Wide enough to be seen. */
const LEAST = 0.003

/** The parts of a span on either side of the cut. */
export const partsOf = (span: Span, stretches: readonly Stretch[]): Span[] =>
  stretches
    .map(({ left, right }) => ({ from: Math.max(left, span.from), to: Math.min(right, span.to) }))
    .filter(({ from, to }) => to > from)

export const atLeast = ({ from, to }: Span): Span => ({ from, to: Math.min(1, Math.max(to, from + LEAST)) })
