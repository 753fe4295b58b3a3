'use client'
// The four small ones.
import { Bar, BarChart, CartesianGrid, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { count, duration } from '../../_ui/words'
import { countTicks, countWord, niceTicks, secondTicks, secondWord } from './chart-scale'
import { type ChartsData, keysOfStep, misuseOfStep, type Point } from './charts-data'
import {
  Bucket,
  GRID,
  gapOf,
  LINE_TOOLTIP,
  lonePoint,
  type PlotProps,
  Tip,
  TOOLTIP,
  useOpen,
  useTimeAxis,
  valueAxis,
} from './plot-parts'

const MARGIN = { top: 6, right: 14, bottom: 0, left: 0 } as const

interface Series {
  key: 'misuse' | 'zombies' | 'late' | 'ratio' | 'oldest' | 'resolution'
  word: string
  colour: string
}

export const MisusePlot = ({ data, height }: PlotProps) => (
  <Bars
    data={data}
    height={height}
    title="Misuse"
    series={[{ key: 'misuse', word: 'Rejects', colour: 'var(--ch-misuse)' }]}
    hrefOf={(point) => misuseOfStep(data, point)}
  />
)

export const LatePlot = ({ data, height }: PlotProps) => (
  <Bars
    data={data}
    height={height}
    title="Zombies and late results"
    series={[
      { key: 'late', word: 'Late results', colour: 'var(--ch-created)' },
      { key: 'zombies', word: 'Zombies', colour: 'var(--ch-misuse)' },
    ]}
    hrefOf={(point) => keysOfStep(data, point)}
  />
)

export function RatioPlot({ data, height }: PlotProps) {
  const ticks = niceTicks(Math.min(1, Math.max(0.01, ...data.points.map(({ ratio }) => ratio ?? 0))) * 100, 3)
  return (
    <Lines
      data={data}
      height={height}
      title="Replay ratio"
      series={{ key: 'ratio', word: 'Replays', colour: 'var(--ch-replay)' }}
      ticks={ticks.map((tick) => tick / 100)}
      word={(value) => `${count(value * 100)} %`}
      exact={(value) => `${(value * 100).toFixed(1)} %`}
    />
  )
}

/** Two of half the height: an age and a duration have nothing in common but their unit. */
export function UnknownPlot({ data, height }: PlotProps) {
  const upper = { key: 'oldest', word: 'Oldest', colour: 'var(--ch-unknown)' } as const
  const lower = { key: 'resolution', word: 'Half were found out in', colour: 'var(--ch-p95)' } as const
  const half = Math.round(height * 0.42)
  return (
    <>
      <Ages data={data} height={half} series={upper} title="Oldest unknown" times={false} />
      <p className="h-4 text-right text-11 text-text-2">time to resolution, p50</p>
      <Ages data={data} height={height - half - 16} series={lower} title="Time to resolution" times />
    </>
  )
}

function Ages({ data, series, ...rest }: PlotProps & { series: Series; title: string; times: boolean }) {
  const ticks = secondTicks(Math.max(1, ...data.points.map((point) => point[series.key] ?? 0)), 1)
  const most = ticks.at(-1)!
  return (
    <Lines
      data={data}
      series={series}
      ticks={ticks}
      word={(value) => secondWord(value, most)}
      exact={(value) => duration(value)}
      {...rest}
    />
  )
}

interface BarsProps extends PlotProps {
  title: string
  series: readonly Series[]
  hrefOf(point: Point): string
}

function Bars({ data, height, title, series, hrefOf }: BarsProps) {
  const axis = useTimeAxis(data, 3)
  const open = useOpen(data, hrefOf)
  const highest = Math.max(...data.points.map((point) => series.reduce((sum, { key }) => sum + (point[key] ?? 0), 0)))
  const lines = (point: Point) => series.map(({ key, word }) => ({ word, value: count(point[key] ?? 0) }))
  return (
    <ResponsiveContainer width="100%" height={height}>
      <BarChart
        data={data.points}
        barCategoryGap={gapOf(data)}
        margin={MARGIN}
        onClick={open}
        className="cursor-pointer"
        aria-label={title}
      >
        <CartesianGrid {...GRID} />
        <XAxis {...axis} />
        <YAxis {...valueAxis(countTicks(highest, 3), countWord, 34)} />
        <Tooltip {...TOOLTIP} content={(shown) => <Tip {...shown} data={data} lines={lines} />} />
        {series.map(({ key, colour }) => (
          <Bar key={key} dataKey={key} stackId="all" fill={colour} shape={Bucket} isAnimationActive={false} />
        ))}
      </BarChart>
    </ResponsiveContainer>
  )
}

interface LinesProps extends PlotProps {
  title: string
  series: Series
  ticks: readonly number[]
  word(value: number): string
  exact(value: number): string
  times?: boolean
}

function Lines({
  data,
  height,
  title,
  series: { key, word: name, colour },
  ticks,
  word,
  exact,
  times = true,
}: LinesProps) {
  const axis = useTimeAxis(data, 3)
  const open = useOpen(data, (point) => keysOfStep(data, point))
  const drawn = settledOnly(data, key)
  const lines = (point: Point) => [{ word: name, value: point[key] === null ? '–' : exact(point[key]) }]
  return (
    <ResponsiveContainer width="100%" height={height}>
      <LineChart
        data={drawn}
        margin={{ ...MARGIN, bottom: times ? 0 : 6 }}
        onClick={open}
        className="cursor-pointer"
        aria-label={title}
      >
        <CartesianGrid {...GRID} />
        <XAxis {...axis} hide={!times} />
        <YAxis {...valueAxis(ticks, word, 46)} />
        <Tooltip {...LINE_TOOLTIP} content={(shown) => <Tip {...shown} data={data} lines={lines} />} />
        <Line
          dataKey={key}
          stroke={colour}
          strokeWidth={1.5}
          dot={lonePoint(drawn, key, colour)}
          activeDot={{ r: 3 }}
          isAnimationActive={false}
        />
        <Line
          dataKey="still"
          stroke={colour}
          strokeWidth={1.5}
          strokeDasharray="2 3"
          dot={false}
          activeDot={false}
          isAnimationActive={false}
        />
      </LineChart>
    </ResponsiveContainer>
  )
}

/** The stretch to the step that is still filling is a line of its own, which is dashed. */
function settledOnly({ points }: ChartsData, key: Series['key']) {
  return points.map((point, i) => ({
    ...point,
    [key]: point.filling ? null : point[key],
    still: point.filling || points[i + 1]?.filling ? point[key] : null,
  }))
}
