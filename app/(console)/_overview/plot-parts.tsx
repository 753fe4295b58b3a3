'use client'
// What the plots have in common: how their axes look, what is under the pointer, and where a click leads.
import { useRouter } from 'next/navigation'
import type { Key, ReactNode } from 'react'
import type { MouseHandlerDataParam, TooltipContentProps } from 'recharts'
import { useZone } from '../../_ui/zone'
import { stepWord, timeTicks, timeWord } from './chart-scale'
import type { ChartsData, Point } from './charts-data'

export interface PlotProps {
  data: ChartsData
  height: number
}

const TICK = { fontSize: 11, fill: 'var(--text-2)' } as const
export const GRID = { vertical: false, stroke: 'var(--ch-grid)' } as const

/** Along the foot: a few times, and now. */
export function useTimeAxis({ points, view }: ChartsData, count: number) {
  const zone = useZone()
  const last = points.at(-1)?.at
  return {
    dataKey: 'at',
    ticks: timeTicks(points, count),
    tickFormatter: (at: string) => (at === last ? 'now' : timeWord(at, view.window, zone)),
    tick: TICK,
    tickLine: false,
    axisLine: { stroke: 'var(--line-strong)' },
    interval: 0,
    height: 20,
  } as const
}

export const valueAxis = (ticks: readonly number[], word: (value: number) => string, width = 36) =>
  ({
    ticks: [...ticks],
    domain: [0, ticks.at(-1) ?? 1],
    tickFormatter: word,
    tick: TICK,
    tickLine: false,
    axisLine: false,
    width,
    interval: 0,
    allowDataOverflow: true,
  }) as const

/** Between two bars; where there are many, the bars need all the room. */
export const gapOf = ({ points }: ChartsData): number => (points.length > 60 ? 0 : 1)

/** Opens the keys of the step that was clicked. */
export function useOpen({ points }: ChartsData, hrefOf: (point: Point) => string) {
  const router = useRouter()
  return ({ activeTooltipIndex }: MouseHandlerDataParam) => {
    const point = points[Number(activeTooltipIndex)]
    if (activeTooltipIndex !== undefined && activeTooltipIndex !== null && point) router.push(hrefOf(point))
  }
}

interface TipLine {
  word: string
  value: string
  swatch?: ReactNode
}

interface TipProps extends Partial<Pick<TooltipContentProps, 'active' | 'payload'>> {
  data: ChartsData
  lines(point: Point): TipLine[]
}

interface DotAt {
  key?: Key | null
  cx?: number
  cy?: number
  index?: number
}

/** A point between two gaps, which no line would show. Where nothing was measured there is a gap, and no guess. */
export const lonePoint =
  <Name extends string>(points: readonly Partial<Record<Name, number | null>>[], key: Name, colour: string) =>
  ({ key: name, cx, cy, index = 0 }: DotAt) =>
    points[index]?.[key] != null && points[index - 1]?.[key] == null && points[index + 1]?.[key] == null ? (
      <circle key={name} cx={cx} cy={cy} r={1.75} fill={colour} />
    ) : (
      <g key={name} />
    )

/** What is under the pointer, exactly. */
export function Tip({ active, payload, data, lines }: TipProps) {
  const zone = useZone()
  const point = payload?.[0]?.payload as Point | undefined
  if (!active || !point) return null
  return (
    <div className="min-w-36 rounded-3 border border-line-strong bg-raised px-3 py-2 text-12 shadow-2">
      <p className="mb-1 font-medium">
        {stepWord(point.at, data.view.window, zone)} {zone === 'UTC' ? 'UTC' : ''}
        {point.filling && <span className="font-normal text-text-2"> still filling</span>}
      </p>
      {lines(point).map(({ word, value, swatch }) => (
        <p key={word} className="flex items-center gap-2 text-text-2">
          {swatch}
          {word}
          <span className="ml-auto pl-4 font-medium text-text">{value}</span>
        </p>
      ))}
    </div>
  )
}

export const TOOLTIP = {
  isAnimationActive: false,
  cursor: { fill: 'var(--bg-hover)', stroke: 'var(--line-control)', strokeWidth: 0 },
  wrapperStyle: { zIndex: 20, outline: 'none' },
} as const

export const LINE_TOOLTIP = { ...TOOLTIP, cursor: { stroke: 'var(--line-control)' } } as const

interface BarBox {
  x?: number | string
  y?: number | string
  width?: number | string
  height?: number | string
  fill?: string
  payload?: Point
}

/** A bar; dashed and pale while its step is filling. */
export function Bucket({ x, y, width, height, fill, payload }: BarBox) {
  const [left, top, w, h] = [Number(x), Number(y), Number(width), Number(height)]
  if (!(h > 0) || !(w > 0)) return null
  if (!payload?.filling) return <rect x={left} y={top} width={w} height={h} fill={fill} />
  const inset = Math.min(0.5, h / 2)
  return (
    <>
      <rect x={left} y={top} width={w} height={h} fill={fill} opacity={0.25} />
      <rect
        x={left + 0.5}
        y={top + inset}
        width={Math.max(0, w - 1)}
        height={Math.max(0, h - 2 * inset)}
        fill="none"
        stroke="var(--text-2)"
        strokeDasharray="2 2"
      />
    </>
  )
}
