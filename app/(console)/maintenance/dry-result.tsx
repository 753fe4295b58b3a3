// What a run would do, rule by rule: from which state to which, by what predicate, whose keys, how many.
import { ArrowRight } from 'lucide-react'
import Link from 'next/link'
import type { RunGroup, RunView } from '../../../lib/maintenance/run-view'
import { StateMark } from '../../_ui/state-mark'
import { Table, Td, Th } from '../../_ui/table'
import { count } from '../../_ui/words'
import { countWord } from './daemon-words'
import { ruleOf } from './rules'

/** Of the ledger comparison: what was looked at is no finding. */
const LOOKED_AT = ['listed', 'booked', 'leftOut', 'unconfirmed']

export function DryResult({ run, tombstoneHours }: { run: RunView; tombstoneHours: number }) {
  const groups = run.groups.length > 0 ? run.groups : groupsOfCounts(run)
  const looked = LOOKED_AT.filter((name) => run.counts[name])
  const byTenant = groups.some(({ tenants }) => tenants.length > 0)
  return (
    <>
      {groups.length === 0 ? (
        <p className="mt-3">Nothing to do.</p>
      ) : (
        <Table className="mt-3 max-wide:block" aria-label="What would happen">
          <thead className="max-wide:sr-only">
            <tr>
              <Th>Would</Th>
              <Th>Rule</Th>
              {byTenant && <Th>Mostly</Th>}
              <Th number>{run.kind === 'ledger' ? 'Findings' : 'Keys'}</Th>
            </tr>
          </thead>
          <tbody className="max-wide:block">
            {groups.map((group) => (
              <GroupRow
                key={`${group.rule} ${group.from} ${group.to}`}
                group={group}
                runId={run.id}
                byTenant={byTenant}
                tombstoneHours={tombstoneHours}
              />
            ))}
          </tbody>
        </Table>
      )}
      {looked.length > 0 && (
        <p className="mt-3 text-text-2">
          {looked.map((name) => `${countWord(name)}: ${count(run.counts[name]!)}.`).join(' ')}
        </p>
      )}
    </>
  )
}

const cell = 'max-wide:block max-wide:h-auto max-wide:border-0 max-wide:py-0.5 max-wide:pr-0'

interface GroupRowProps {
  group: RunGroup
  runId: string
  byTenant: boolean
  tombstoneHours: number
}

function GroupRow({ group, runId, byTenant, tombstoneHours }: GroupRowProps) {
  const { from, to, rule } = group
  const { code, text, stays } = ruleOf(group, tombstoneHours)
  return (
    <tr className="max-wide:relative max-wide:block max-wide:border-b max-wide:border-line max-wide:py-2 last:[&>td]:border-b-0">
      <Td className={`${cell} whitespace-nowrap`}>
        {from ? (
          <span className="inline-flex flex-wrap items-center gap-2">
            <StateMark state={from} />
            {to ? (
              <>
                <ArrowRight size={14} aria-label="to" className="text-text-2" />
                {to === 'deleted' ? 'deleted' : <StateMark state={to} />}
              </>
            ) : (
              <span className="text-text-2">{stays}</span>
            )}
          </span>
        ) : (
          countWord(rule)
        )}
      </Td>
      <Td className={`${cell} text-text-2`}>
        {code && <code className="whitespace-normal!">{code}</code>}
        {code && text && <span className="max-wide:block">. </span>}
        {text}
      </Td>
      {byTenant && (
        <Td className={`${cell} text-text-2`}>
          {group.tenants.map(({ id, name, count: n }, i) => (
            <span key={id}>
              {i > 0 && ', '}
              <Link href={`/tenants/${id}`} className="text-text-2">
                {name}
              </Link>{' '}
              {count(n)}
            </span>
          ))}
        </Td>
      )}
      <Td number className={`${cell} max-wide:absolute max-wide:top-2 max-wide:right-0`}>
        <Link href={`/maintenance/runs/${runId}#keys`}>{count(group.count)}</Link>
      </Td>
    </tr>
  )
}

const groupsOfCounts = ({ counts }: RunView): RunGroup[] =>
  Object.entries(counts)
    .filter(([name, n]) => n > 0 && !LOOKED_AT.includes(name))
    .map(([rule, n]) => ({ rule, from: null, to: null, count: n, tenants: [] }))
