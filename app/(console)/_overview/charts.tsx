'use client'
// The charts of a window in one grid with shared borders. Titles, numbers and tables are there at once; what draws them
// is loaded afterwards.
import clsx from 'clsx'
import dynamic from 'next/dynamic'
import Link from 'next/link'
import { count, duration } from '../../_ui/words'
import { ChartFrame, Headline } from './chart-frame'
import { type ChartsData, DECISIONS, type Decision, keysOfStep, misuseOfStep, type Point } from './charts-data'
import { DECISION_LOOKS } from './decision-looks'
import { isFiltered, WINDOW_WORDS } from './window'

const plot = <Name extends keyof typeof import('./plots')>(name: Name) =>
  dynamic(() => import('./plots').then((plots) => plots[name]), { ssr: false })

const DecisionsPlot = plot('DecisionsPlot')
const LatencyPlot = plot('LatencyPlot')
const MisusePlot = plot('MisusePlot')
const RatioPlot = plot('RatioPlot')
const LatePlot = plot('LatePlot')
const UnknownPlot = plot('UnknownPlot')

const seconds = (value: number | null): string => (value === null ? '–' : duration(value))
const percent = (value: number | null): string => (value === null ? '–' : `${(value * 100).toFixed(1)} %`)
const secondsColumn = (head: string, key: 'p50' | 'p95' | 'p99' | 'oldest' | 'resolution') => ({
  head,
  value: (point: Point) => seconds(point[key]),
})
const countColumn = (head: string, key: Decision | 'zombies' | 'late') => ({
  head,
  value: (point: Point) => count(point[key]),
})

const TALL = 256
const SMALL = 120

export function Charts({ data }: { data: ChartsData }) {
  const lately = `in the last ${WINDOW_WORDS[data.view.window]}`
  const keysOf = (point: Point) => keysOfStep(data, point)
  const frame = { data, hrefOf: keysOf }
  return (
    <div className="grid grid-cols-1 gap-px overflow-hidden rounded-2 border border-line bg-line wide:grid-cols-2 full:grid-cols-12">
      <ChartFrame
        {...frame}
        title="Decisions"
        className="wide:col-span-2 full:col-span-8"
        height={TALL}
        columns={DECISIONS.map((name) => countColumn(DECISION_LOOKS[name].word, name))}
        headline={<DecisionTotals data={data} />}
      >
        <DecisionsPlot data={data} height={TALL} />
      </ChartFrame>
      <ChartFrame
        {...frame}
        title="Latency"
        className="wide:col-span-2 full:col-span-4"
        height={TALL}
        columns={[secondsColumn('p50', 'p50'), secondsColumn('p95', 'p95'), secondsColumn('p99', 'p99')]}
        headline={
          <Headline value={seconds(data.p99)}>
            p99{data.view.endpoint ? ` of ${data.view.endpoint}` : ''}
            {data.usual.p99Seconds === null ? '' : `, usual ${duration(data.usual.p99Seconds)}`}
          </Headline>
        }
      >
        <LatencyPlot data={data} height={TALL} />
      </ChartFrame>
      <ChartFrame
        {...frame}
        title="Misuse"
        className="full:col-span-3"
        height={SMALL}
        hrefOf={(point) => misuseOfStep(data, point)}
        columns={[countColumn('Rejects', 'misuse')]}
        headline={
          <Headline value={count(data.totals.misuse)} href={data.links.misuse}>
            {lately}
            {data.usual.misuse === null ? '' : `, usual ${count(data.usual.misuse)}`}
          </Headline>
        }
      >
        <MisusePlot data={data} height={SMALL} />
      </ChartFrame>
      <ChartFrame
        {...frame}
        title="Replay ratio"
        className="full:col-span-3"
        height={SMALL}
        columns={[
          { head: 'Replays', value: ({ replay }) => count(replay) },
          { head: 'Of answered', value: ({ ratio }) => percent(ratio) },
        ]}
        headline={
          <Headline value={percent(data.replayRatio)}>
            {data.usual.replayRatio === null ? '' : `usual ${percent(data.usual.replayRatio)}`}
          </Headline>
        }
      >
        <RatioPlot data={data} height={SMALL} />
      </ChartFrame>
      <ChartFrame
        {...frame}
        title="Zombies and late results"
        className="full:col-span-3"
        height={SMALL}
        columns={[countColumn('Zombies', 'zombies'), countColumn('Late results', 'late')]}
        headline={
          <p className="flex flex-wrap items-baseline gap-x-2 text-12 text-text-2">
            <Swatch className="bg-(--ch-misuse)" />
            <span className="text-20 font-semibold text-text">{count(data.totals.zombies)}</span> zombies
            <Swatch className="bg-(--ch-created)" />
            <span className="text-20 font-semibold text-text">{count(data.totals.late)}</span> late results
          </p>
        }
      >
        <LatePlot data={data} height={SMALL} />
      </ChartFrame>
      <ChartFrame
        {...frame}
        title="Oldest unknown"
        name="Oldest unknown and time to resolution"
        className="full:col-span-3"
        height={SMALL}
        columns={[secondsColumn('Oldest', 'oldest'), secondsColumn('Time to resolution, p50', 'resolution')]}
        headline={
          data.oldestUnknownSeconds > 0 ? (
            <Headline value={duration(data.oldestUnknownSeconds)} href={data.links.unknown}>
              {isFiltered(data.view) ? 'of all keys together' : ''}
            </Headline>
          ) : (
            <Headline value="None">is unknown</Headline>
          )
        }
      >
        <UnknownPlot data={data} height={SMALL} />
      </ChartFrame>
    </div>
  )
}

const Swatch = ({ className }: { className: string }) => (
  <span aria-hidden className={clsx('inline-block size-2.5 shrink-0 self-center rounded-[2px]', className)} />
)

function DecisionTotals({ data: { totals, links } }: { data: ChartsData }) {
  return (
    <ul className="flex list-none flex-wrap gap-x-5 gap-y-1 text-12">
      {DECISIONS.map((name) => {
        const { word, swatch } = DECISION_LOOKS[name]
        const href = links[name]
        const total = count(totals[name])
        return (
          <li key={name} className="flex items-center gap-1.5 text-text-2">
            <Swatch className={swatch} />
            {word}
            <span className="font-semibold text-text">{href ? <Link href={href}>{total}</Link> : total}</span>
          </li>
        )
      })}
    </ul>
  )
}
