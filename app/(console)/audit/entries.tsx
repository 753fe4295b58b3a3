// The log as a table. Each line opens to what was changed, and by which request.
import { ShieldX } from 'lucide-react'
import Link from 'next/link'
import type { AuditEntry } from '../../../lib/audit/read'
import { Table, Td, Th } from '../../_ui/table'
import { Instant } from '../../_ui/time'
import { count } from '../../_ui/words'
import { hrefOf } from '../_shell/query'
import { EntryRow } from './entry-row'
import { type Change, changesOf, isDryRun, targetHref } from './entry-words'

const COLUMNS = 6
const cell = 'max-wide:h-auto max-wide:border-0 max-wide:py-0 max-wide:pr-0'

export function Entries({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <Table aria-label="Audit log" className="max-wide:block">
      <thead className="max-wide:sr-only">
        <tr>
          <Th>
            <span className="sr-only">Open</span>
          </Th>
          <Th>When</Th>
          <Th>Who</Th>
          <Th>What</Th>
          <Th>To what</Th>
          <Th>Reason</Th>
        </tr>
      </thead>
      {entries.map((entry) => (
        <EntryRow
          key={entry.seq}
          label={`Entry ${entry.seq}, ${entry.action} by ${entry.actorName}`}
          columns={COLUMNS}
          line={<Line entry={entry} />}
        >
          <Detail entry={entry} />
        </EntryRow>
      ))}
    </Table>
  )
}

function Line({ entry }: { entry: AuditEntry }) {
  return (
    <>
      <Td className={`${cell} whitespace-nowrap max-wide:order-2 max-wide:text-text-2`}>
        <Instant at={entry.at} />
      </Td>
      <Td className={`${cell} max-wide:order-3 max-wide:col-span-2`}>
        <Link href={hrefOf('/audit', { actor: entry.actorId })}>{entry.actorName}</Link>
      </Td>
      <Td className={`${cell} whitespace-nowrap max-wide:order-1 max-wide:whitespace-normal`}>
        <Link href={hrefOf('/audit', { action: entry.action })} className="font-mono text-12">
          {entry.action}
        </Link>
        {isDryRun(entry) && <span className="text-text-2">, dry run</span>}
        {entry.outcome === 'forbidden' && (
          <span className="ml-3 inline-flex items-center gap-1.5 font-medium">
            <ShieldX size={14} aria-hidden />
            forbidden
            {entry.count > 1 && ` × ${count(entry.count)}`}
          </span>
        )}
      </Td>
      <Td className={`${cell} max-wide:order-4 max-wide:col-span-2`}>
        <Target entry={entry} />
      </Td>
      <Td className={`${cell} [overflow-wrap:anywhere] text-text-2 max-wide:order-5 max-wide:col-span-2`}>
        {entry.reason}
      </Td>
    </>
  )
}

function Target({ entry }: { entry: AuditEntry }) {
  if (!entry.target) return <span className="text-text-3">–</span>
  const href = targetHref(entry)
  return href ? (
    <Link href={href} className="font-mono text-12 [overflow-wrap:anywhere]">
      {entry.target}
    </Link>
  ) : (
    <span className="font-mono text-12 [overflow-wrap:anywhere]">{entry.target}</span>
  )
}

function Detail({ entry }: { entry: AuditEntry }) {
  const changes = entry.outcome === 'forbidden' ? [] : changesOf(entry)
  return (
    <div className="grid gap-3">
      {changes.length > 0 ? (
        <dl className="grid gap-x-6 gap-y-1 wide:grid-cols-[max-content_minmax(0,1fr)]" aria-label="What changed">
          {changes.map((change) => (
            <ChangeLine key={change.member} change={change} />
          ))}
        </dl>
      ) : (
        <p>{entry.outcome === 'forbidden' ? refusedWords(entry) : 'Nothing of ours was changed.'}</p>
      )}
      <dl className="flex flex-wrap gap-x-6 gap-y-1 text-12 text-text-2">
        <Fact label="Entry">{String(entry.seq)}</Fact>
        <Fact label="Request">{entry.requestId}</Fact>
        <Fact label="Actor">{entry.actorId}</Fact>
        <Fact label="Hash">{entry.hash}</Fact>
      </dl>
      {entry.target && (
        <p className="text-12">
          <Link href={hrefOf('/audit', { target: entry.target })}>All that was done to it</Link>
        </p>
      )}
    </div>
  )
}

const refusedWords = ({ count: times }: AuditEntry): string =>
  times > 1
    ? `It was refused ${count(times)} times in that minute, so nothing was changed. To what, and the request, are those of the first time.`
    : 'It was refused, so nothing was changed.'

function ChangeLine({ change: { member, before, after } }: { change: Change }) {
  return (
    <>
      <dt className="font-mono text-12 text-text-2">{member}</dt>
      <dd className="font-mono text-12 [overflow-wrap:anywhere] max-wide:pb-1">
        {before !== undefined && (
          <del className="text-text-2 decoration-line-control">
            <span className="sr-only">before: </span>
            {before}
          </del>
        )}
        {before !== undefined && after !== undefined && <span aria-hidden> → </span>}
        {after !== undefined && (
          <ins className="font-semibold no-underline">
            <span className="sr-only">after: </span>
            {after}
          </ins>
        )}
      </dd>
    </>
  )
}

const Fact = ({ label, children }: { label: string; children: string }) => (
  <div className="min-w-0">
    <dt className="inline">{label} </dt>
    <dd className="inline font-mono [overflow-wrap:anywhere] text-text">{children}</dd>
  </div>
)
