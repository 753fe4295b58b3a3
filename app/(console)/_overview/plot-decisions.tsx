'use client'
// What was decided about each request, stacked; below it the same without the two that are nearly all of it.
import { useId } from 'react'
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { count } from '../../_ui/words'
import { countTicks, countWord } from './chart-scale'
import { type ChartsData, DECISIONS, type Decision, keysOfStep, type Point } from './charts-data'
import { DECISION_LOOKS } from './decision-looks'
import { Bucket, GRID, gapOf, type PlotProps, Tip, TOOLTIP, useOpen, useTimeAxis, valueAxis } from './plot-parts'

const FEW: readonly Decision[] = ['inProgress', 'retry', 'misuse', 'unknown']
const FILLS: Record<Exclude<Decision, 'retry'>, string> = {
  created: 'var(--ch-created)',
  replay: 'var(--ch-replay)',
  inProgress: 'var(--ch-progress)',
  misuse: 'var(--ch-misuse)',
  unknown: 'var(--ch-unknown)',
}
const NOTE_HEIGHT = 28

const highest = (points: readonly Point[], names: readonly Decision[]): number =>
  Math.max(0, ...points.map((point) => names.reduce((sum, name) => sum + point[name], 0)))

export function DecisionsPlot({ data, height }: PlotProps) {
  const all = countTicks(highest(data.points, DECISIONS), 3)
  const few = countTicks(highest(data.points, FEW), 3)
  const upper = Math.round((height - NOTE_HEIGHT) * 0.58)
  const times = Math.round(all.at(-1)! / few.at(-1)!)
  return (
    <>
      <Stack data={data} names={DECISIONS} ticks={all} height={upper} times={false} />
      <p className="flex h-7 items-end pb-1 text-11 text-text-2">
        The same without created and replay{times > 1 ? `, ${count(times)}× taller` : ''}
      </p>
      <Stack data={data} names={FEW} ticks={few} height={height - NOTE_HEIGHT - upper} times />
    </>
  )
}

interface StackProps {
  data: ChartsData
  names: readonly Decision[]
  ticks: readonly number[]
  height: number
  /** With the times along its foot. */
  times: boolean
}

function Stack({ data, names, ticks, height, times }: StackProps) {
  const hatch = useId()
  const axis = useTimeAxis(data, 4)
  const open = useOpen(data, (point) => keysOfStep(data, point))
  const lines = (point: Point) =>
    [...names].toReversed().map((name) => ({
      word: DECISION_LOOKS[name].word,
      value: count(point[name]),
      swatch: <span aria-hidden className={`size-2.5 rounded-[2px] ${DECISION_LOOKS[name].swatch}`} />,
    }))
  return (
    <ResponsiveContainer width="100%" height={height}>
      <BarChart
        data={data.points}
        barCategoryGap={gapOf(data)}
        margin={{ top: 6, right: 4, bottom: times ? 0 : 6, left: 0 }}
        onClick={open}
        className="cursor-pointer"
        aria-label={times ? 'Decisions without created and replay' : 'Decisions'}
      >
        <defs>
          <pattern id={hatch} width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="4" height="4" fill="var(--bg)" />
            <rect width="2" height="4" fill="var(--ch-retry)" />
          </pattern>
        </defs>
        <CartesianGrid {...GRID} />
        <XAxis {...axis} hide={!times} />
        <YAxis {...valueAxis(ticks, countWord)} />
        <Tooltip {...TOOLTIP} content={(shown) => <Tip {...shown} data={data} lines={lines} />} />
        {names.map((name) => (
          <Bar
            key={name}
            dataKey={name}
            stackId="all"
            fill={name === 'retry' ? `url(#${hatch})` : FILLS[name]}
            shape={Bucket}
            isAnimationActive={false}
          />
        ))}
      </BarChart>
    </ResponsiveContainer>
  )
}
