'use client'
// How long keyed requests took, from the middle to the slowest hundredth, and the gateway's own limit where it is near.
import { CartesianGrid, Line, LineChart, ReferenceLine, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { duration } from '../../_ui/words'
import { secondTicks, secondWord } from './chart-scale'
import { keysOfStep, type Point } from './charts-data'
import { lineEnds } from './line-ends'
import { GRID, LINE_TOOLTIP, lonePoint, type PlotProps, Tip, useOpen, useTimeAxis, valueAxis } from './plot-parts'

const LINES = [
  { key: 'p50', colour: 'var(--ch-p50)' },
  { key: 'p95', colour: 'var(--ch-p95)' },
  { key: 'p99', colour: 'var(--ch-p99)' },
] as const

const TOP = 8
const FOOT = 20
/** A limit that is so many times higher than anything measured would only press the lines to the ground. */
const NEAR = 4

export function LatencyPlot({ data, height }: PlotProps) {
  const { points, gatewayTimeLimitSeconds: limit } = data
  const measured = Math.max(0, ...points.map(({ p99 }) => p99 ?? 0))
  const near = measured * NEAR >= limit
  const ticks = secondTicks(near ? Math.max(measured, limit * 1.1) : measured, 4)
  const most = ticks.at(-1)!
  const word = (value: number) => secondWord(value, most)
  const ends = lineEnds(
    points,
    LINES.map(({ key }) => key),
    { most, height: height - TOP - FOOT },
  )
  const axis = useTimeAxis(data, 3)
  const open = useOpen(data, (point) => keysOfStep(data, point))
  const lines = (point: Point) =>
    LINES.toReversed().map(({ key }) => ({ word: key, value: point[key] === null ? '–' : duration(point[key]) }))
  return (
    <ResponsiveContainer width="100%" height={height}>
      <LineChart
        data={points}
        margin={{ top: TOP, right: 30, bottom: 0, left: 0 }}
        onClick={open}
        className="cursor-pointer"
        aria-label="Latency"
      >
        <CartesianGrid {...GRID} />
        <XAxis {...axis} />
        <YAxis {...valueAxis(ticks, word, 44)} />
        <Tooltip {...LINE_TOOLTIP} content={(shown) => <Tip {...shown} data={data} lines={lines} />} />
        {near && (
          <ReferenceLine
            y={limit}
            stroke="var(--text-3)"
            strokeDasharray="1 3"
            label={{
              value: `gateway time limit ${duration(limit)}`,
              position: 'insideBottomLeft',
              fontSize: 11,
              fill: 'var(--text-2)',
            }}
          />
        )}
        {LINES.map(({ key, colour }) => (
          <Line
            key={key}
            dataKey={key}
            stroke={colour}
            strokeWidth={1.5}
            dot={lonePoint(points, key, colour)}
            activeDot={{ r: 3 }}
            isAnimationActive={false}
            label={({ x, index }: { x?: number | string; index?: number }) =>
              index === ends[key]?.index ? (
                <text key={key} x={Number(x) + 6} y={TOP + ends[key]!.y + 4} className="fill-text text-11 font-medium">
                  {key}
                </text>
              ) : (
                <g key={`${key} ${index}`} />
              )
            }
          />
        ))}
      </LineChart>
    </ResponsiveContainer>
  )
}
