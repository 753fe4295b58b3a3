// How far a run is, by where it left its keys: the only colours are those of the states.
import { ArrowRight } from 'lucide-react'
import Link from 'next/link'
import type { RunView } from '../../../lib/maintenance/run-view'
import { LOOKS } from '../../_ui/state'
import { count } from '../../_ui/words'
import { countWord } from './daemon-words'
import { type Part, partsOf, secondsTaken, totalOf } from './run-words'

const FILL: Record<NonNullable<Part['state']> | 'none', string> = {
  completed: 'bg-completed',
  failed_retryable: 'bg-failed_retryable',
  unknown: 'bg-unknown',
  expired: 'bg-expired',
  none: 'bg-text',
}

export function Progress({ run }: { run: RunView }) {
  const total = totalOf(run)
  const parts = partsOf(run).filter(({ n }) => n > 0)
  return (
    <>
      {total !== null && total > 0 && <Bar run={run} parts={parts} total={total} />}
      <dl className="mt-3 grid grid-cols-[repeat(auto-fill,minmax(200px,1fr))] items-start gap-x-8 gap-y-3">
        {parts.map((part) => (
          <PartEntry key={part.word} part={part} runId={run.id} />
        ))}
        {parts.length === 0 &&
          Object.entries(run.counts).map(([name, n]) => (
            <div key={name} className="flex gap-2">
              <dt>{countWord(name)}</dt>
              <dd className="font-semibold">{count(n)}</dd>
            </div>
          ))}
        {total !== null && total > run.done && (
          <div className="flex flex-wrap items-center gap-x-2">
            <dt>To do</dt>
            <dd className="font-semibold">{count(total - run.done)}</dd>
            <Pace run={run} />
          </div>
        )}
      </dl>
    </>
  )
}

function Bar({ run, parts, total }: { run: RunView; parts: readonly Part[]; total: number }) {
  return (
    <div
      role="progressbar"
      aria-label="Progress"
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={run.done}
      className="mt-3 flex h-2 gap-px overflow-hidden rounded-1 bg-line"
    >
      {parts.map(({ word, state, n }) => (
        <span key={word} className={FILL[state ?? 'none']} style={{ width: `${(n / total) * 100}%` }} />
      ))}
    </div>
  )
}

export function PartEntry({ part, runId }: { part: Part; runId: string }) {
  const look = part.state && LOOKS[part.state]
  return (
    <div className="flex flex-wrap items-center gap-x-2">
      <dt className="inline-flex items-center gap-1.5">
        {look && !part.stays && <ArrowRight size={14} aria-hidden className="text-text-2" />}
        {look && <look.icon size={14} aria-hidden className={look.text} />}
        {part.word}
        {part.stays && <span className="text-text-2">stays</span>}
      </dt>
      <dd className="font-semibold">
        <Link href={`/maintenance/runs/${runId}#keys`}>{count(part.n)}</Link>
      </dd>
      {part.note && <dd className="basis-full text-12 text-text-2">{part.note}</dd>}
    </div>
  )
}

function Pace({ run }: { run: RunView }) {
  if (run.done === 0) return null
  const pace = run.done / Math.max(1, secondsTaken(run))
  return <dd className="basis-full text-12 text-text-2">{pace < 10 ? pace.toFixed(1) : count(pace)} a second</dd>
}
