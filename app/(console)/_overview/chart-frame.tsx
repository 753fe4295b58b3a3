'use client'
// A chart as a figure with its title and its number, and the same as a table for whoever would rather read it.
import clsx from 'clsx'
import { ChartNoAxesColumn, Table2 } from 'lucide-react'
import Link from 'next/link'
import { type ReactNode, useState } from 'react'
import { Button } from '../../_ui/button'
import { Table, Td, Th } from '../../_ui/table'
import { useZone } from '../../_ui/zone'
import { stepWord } from './chart-scale'
import type { ChartsData, Point } from './charts-data'

interface Column {
  head: string
  value(point: Point): string
}

interface ChartFrameProps {
  title: string
  /** What it is called where there is more room than in a title. */
  name?: string
  data: ChartsData
  columns: readonly Column[]
  /** Where the rows of a step are. */
  hrefOf(point: Point): string
  /** Under the title: its number. */
  headline: ReactNode
  /** Of the drawing; the table scrolls within it. */
  height: number
  className?: string
  children: ReactNode
}

export function ChartFrame(props: ChartFrameProps) {
  const { title, name = title, headline, height, className, children } = props
  const [asTable, setAsTable] = useState(false)
  const Icon = asTable ? ChartNoAxesColumn : Table2
  return (
    <figure aria-label={name} className={clsx('min-w-0 bg-bg px-4 pt-3 pb-3', className)}>
      <div className="flex items-center justify-between">
        <h3 className="text-13 font-medium">{title}</h3>
        <Button
          kind="quiet"
          size="icon"
          className="-mr-2"
          aria-label={`${title} as a table`}
          title={asTable ? 'As a chart' : 'As a table'}
          aria-pressed={asTable}
          onClick={() => setAsTable(!asTable)}
        >
          <Icon size={14} aria-hidden />
        </Button>
      </div>
      <div className="mb-2 min-h-7">{headline}</div>
      {asTable ? <Numbers {...props} /> : <div style={{ height }}>{children}</div>}
    </figure>
  )
}

function Numbers({ title, data, columns, hrefOf, height }: ChartFrameProps) {
  const zone = useZone()
  const { window } = data.view
  return (
    <section
      className="relative overflow-auto"
      style={{ height }}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={`${title}, numbers`}
    >
      <Table aria-label={`${title}, ${zone}`}>
        <thead className="sticky top-0 bg-bg">
          <tr>
            <Th>Time</Th>
            {columns.map(({ head }) => (
              <Th key={head} number>
                {head}
              </Th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.points.map((point) => (
            <tr key={point.at}>
              <Td className="h-7 py-0.5 whitespace-nowrap">
                <Link href={hrefOf(point)}>{stepWord(point.at, window, zone)}</Link>
                {point.filling && <span className="text-text-2"> filling</span>}
              </Td>
              {columns.map(({ head, value }) => (
                <Td key={head} number className="h-7 py-0.5">
                  {value(point)}
                </Td>
              ))}
            </tr>
          ))}
        </tbody>
      </Table>
    </section>
  )
}

/** The number that a chart is about, and what it is usually. */
export const Headline = ({ value, href, children }: { value: string; href?: string; children?: ReactNode }) => (
  <p className="flex flex-wrap items-baseline gap-x-2">
    <span className="text-20 font-semibold tracking-[-0.01em]">{href ? <Link href={href}>{value}</Link> : value}</span>
    <span className="text-12 text-text-2">{children}</span>
  </p>
)
