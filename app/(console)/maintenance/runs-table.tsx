// Runs, newest first: what was previewed against what happened.
import clsx from 'clsx'
import { OctagonAlert, OctagonX } from 'lucide-react'
import Link from 'next/link'
import type { RunView } from '../../../lib/maintenance/run-view'
import { Table, Td, Th } from '../../_ui/table'
import { Instant } from '../../_ui/time'
import { count } from '../../_ui/words'
import { nameOfRun } from './daemon-words'
import { difference, happened, took } from './run-words'

// Under 720 px a row is three lines: what and how much, when and how long, why.
const cell = 'max-full:h-auto max-full:border-0 max-full:py-0 max-full:pr-0'

export function RunsTable({ runs, label }: { runs: readonly RunView[]; label: string }) {
  return (
    <Table aria-label={label} className="max-full:block">
      <thead className="max-full:sr-only">
        <tr>
          <Th>Started</Th>
          <Th>Run</Th>
          <Th>By</Th>
          <Th number>Previewed</Th>
          <Th number>Happened</Th>
          <Th>Difference</Th>
          <Th number>Took</Th>
          <Th>Reason</Th>
        </tr>
      </thead>
      <tbody className="max-full:block">
        {runs.map((run) => (
          <Row key={run.id} run={run} />
        ))}
      </tbody>
    </Table>
  )
}

function Row({ run }: { run: RunView }) {
  const by = run.by ?? <span className="text-text-2">schedule</span>
  return (
    <tr className="max-full:grid max-full:grid-cols-[minmax(0,1fr)_auto] max-full:gap-x-3 max-full:border-b max-full:border-line max-full:py-2">
      <Td className={`${cell} whitespace-nowrap max-full:order-3 max-full:text-text-2`}>
        <Instant at={run.startedAt} />
        <span className="full:hidden">, {by}</span>
      </Td>
      <Td className={`${cell} whitespace-nowrap max-full:order-1`}>
        {nameOfRun(run)}
        {run.dryRun && <span className="text-text-2">, dry run</span>}
      </Td>
      <Td className={`${cell} max-full:hidden`}>{by}</Td>
      <Td number className={clsx(cell, run.previewed ? 'max-full:order-5 max-full:text-left' : 'max-full:hidden')}>
        {run.previewed ? (
          <>
            <span className="text-text-2 full:hidden">previewed </span>
            <Link href={`/maintenance/runs/${run.previewed.id}`}>{count(run.previewed.done)}</Link>
          </>
        ) : (
          <span className="text-text-3">–</span>
        )}
      </Td>
      <Td number className={`${cell} max-full:order-2`}>
        <Link href={`/maintenance/runs/${run.id}`} className="inline-flex items-center gap-1.5">
          <Mark run={run} />
          {happened(run)}
        </Link>
      </Td>
      <Td className={clsx(cell, 'text-text-2', run.previewed ? 'max-full:order-6' : 'max-full:hidden')}>
        {difference(run)}
      </Td>
      <Td number className={`${cell} text-text-2 max-full:order-4`}>
        {took(run)}
      </Td>
      <Td className={`${cell} text-text-2 [overflow-wrap:anywhere] max-full:order-7 max-full:col-span-2`}>
        {run.reason}
      </Td>
    </tr>
  )
}

function Mark({ run }: { run: RunView }) {
  if (run.state === 'failed' || run.lost) return <OctagonAlert size={14} aria-hidden className="text-danger" />
  if (run.state === 'aborted') return <OctagonX size={14} aria-hidden className="text-text-2" />
  return null
}
