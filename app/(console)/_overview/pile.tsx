// A state's count over time, small: what is usual as a dotted line on a grey ground, and only what is above it filled.
// A pile looks like a pile.
import type { StateView } from '../../../lib/console/state-map'

interface PileProps {
  x: number
  y: number
  w: number
  h: number
  of: StateView
  /** Of what is above the usual; null where that is nothing to look at. */
  colour: string | null
}

/** The usual count stands at this height. What is above it goes up, what is below it goes into the ground. */
const GROUND = 0.5
/** Noise is not a pile: the scale goes at least so far above the usual. */
const LEAST_SCALE = 1.5

export function Pile({ x, y, w, h, of: { history, usual, count }, colour }: PileProps) {
  const points = [...history, count]
  if (points.length < 2) return null
  const base = usual ?? median(points)
  const most = Math.max(...points, base * LEAST_SCALE, base + 1)
  const ground = colour ? Math.min(h * GROUND, 14) : h * GROUND
  const usualY = y + h - ground
  const yOf = (value: number) =>
    value <= base
      ? usualY + (ground * 0.5 * (base - value)) / Math.max(base, 1)
      : usualY - ((h - ground) * (value - base)) / (most - base)
  const step = w / (points.length - 1)
  const at = (i: number, value: number) => `${(x + i * step).toFixed(1)} ${value.toFixed(1)}`
  const line = points.map((value, i) => at(i, yOf(value))).join('L')
  const above = points.map((value, i) => at(i, Math.min(usualY, yOf(value)))).join('L')
  return (
    <g>
      <rect x={x} y={usualY} width={w} height={ground} fill="var(--ch-area)" />
      {colour && <path d={`M${x} ${usualY}L${above}L${x + w} ${usualY}z`} fill={colour} />}
      <path d={`M${line}`} fill="none" stroke={colour ?? 'var(--flow)'} strokeWidth="1" />
      {usual !== null && <path d={`M${x} ${usualY}H${x + w}`} stroke="var(--text-3)" strokeDasharray="1 3" />}
    </g>
  )
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
