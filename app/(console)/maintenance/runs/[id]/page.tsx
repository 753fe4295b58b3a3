import type { Metadata } from 'next'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import { z } from 'zod'
import { isId } from '../../../../../lib/db/id'
import type { RunKey } from '../../../../../lib/maintenance/run-keys'
import type { RunView } from '../../../../../lib/maintenance/run-view'
import { isRefused } from '../../../../../lib/operators/refusal'
import { mayAct } from '../../../../../lib/operators/role'
import { Pages } from '../../../../_ui/pages'
import { Empty, Section } from '../../../../_ui/section'
import { plural } from '../../../../_ui/words'
import { answer } from '../../../_shell/answer'
import { PageBody, PageHeader } from '../../../_shell/header'
import { hrefOf, queryOf, type SearchParams } from '../../../_shell/query'
import { Trail } from '../../../_shell/trail'
import { Unread } from '../../../_shell/unread'
import { nameOfRun } from '../../daemon-words'
import { RunPanel } from '../../run-panel'
import { KeysTable } from './keys-table'

export const metadata: Metadata = { title: 'Run' }

const ROWS = 100
const WHY_NOT = 'why-not'
const ABOVE = [
  { href: '/maintenance', label: 'Maintenance' },
  { href: '/maintenance/runs', label: 'Runs' },
]

interface Props {
  params: Promise<{ id: string }>
  searchParams: SearchParams
}

export default async function RunPage({ params, searchParams }: Props) {
  const { id } = await params
  if (!isId('run', id)) notFound()
  const { after = 0 } = await queryOf({ after: z.coerce.number().int().min(0).max(1_000_000) }, searchParams)
  const seen = await answer(async ({ call, services }) => {
    const [run, daemons, keys] = await Promise.all([
      services.seeRun(call, { id }),
      services.seeDaemons(call, undefined),
      services.seeRunKeys(call, { runId: id, limit: ROWS, after }),
    ])
    if (isRefused(run) || isRefused(daemons) || isRefused(keys)) return [run, daemons, keys].find(isRefused)!
    return { run, keys, tombstoneHours: daemons.tombstoneHours, role: call.actor.role }
  })
  if (!seen.ok && seen.code === 'not_found') notFound()
  if (!seen.ok)
    return (
      <>
        <PageHeader title="Run" />
        <PageBody>
          <div className="py-5">
            <Unread what="The run" why={seen.message} />
          </div>
        </PageBody>
      </>
    )
  const { run, keys, tombstoneHours, role } = seen.value
  const forbiddenBy = mayAct(role, 'operator') ? null : WHY_NOT
  return (
    <>
      <PageHeader
        trail={
          <Trail above={ABOVE}>
            {nameOfRun(run)}
            {run.dryRun && ', dry run'}
          </Trail>
        }
      >
        <Link href={`/audit?target=${id}`}>In the audit log</Link>
      </PageHeader>
      <PageBody>
        {forbiddenBy && run.state === 'running' && (
          <p id={WHY_NOT} className="pt-3 text-text-2">
            To stop a run takes the role operator; yours is {role}.
          </p>
        )}
        <RunPanel run={run} tombstoneHours={tombstoneHours} forbiddenBy={forbiddenBy} withKeys={false} />
        <Keys run={run} keys={keys} after={after} />
      </PageBody>
    </>
  )
}

interface KeysProps {
  run: RunView
  keys: { items: RunKey[]; next: number | null }
  after: number
}

function Keys({ run, keys: { items, next }, after }: KeysProps) {
  const path = `/maintenance/runs/${run.id}`
  const bulk = run.kind === 'bulk'
  return (
    <div id="keys" className="scroll-mt-4">
      <Section title="Keys" note={keysNote(bulk, items.length, run.done)}>
        {items.length === 0 ? (
          <Empty>{run.done === 0 ? 'It touched no key.' : 'No key of it was written down.'}</Empty>
        ) : (
          <KeysTable keys={items} outcomes={bulk} dryRun={run.dryRun} />
        )}
        {bulk && (
          <Pages
            older={next === null ? null : hrefOf(path, { after: String(next) })}
            newest={after > 0 ? path : null}
            words={{ older: 'Next', newest: 'First' }}
          >
            {plural(run.total ?? items.length, 'key')} in all, in the order in which they are asked about.
          </Pages>
        )}
      </Section>
    </div>
  )
}

function keysNote(bulk: boolean, shown: number, done: number): string {
  if (bulk) return 'What became of each'
  return shown < done ? `A sample of ${shown}, as they are now` : 'As they are now'
}
