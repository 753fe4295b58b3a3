import type { Metadata } from 'next'
import Link from 'next/link'
import { Suspense } from 'react'
import { databaseNowMs } from '../../../lib/db/clock'
import { isId } from '../../../lib/db/id'
import { DAEMONS, type DaemonKind } from '../../../lib/maintenance/daemon'
import type { RunView } from '../../../lib/maintenance/run-view'
import type { DaemonStatus } from '../../../lib/maintenance/status'
import { isRefused } from '../../../lib/operators/refusal'
import { mayAct } from '../../../lib/operators/role'
import { Empty, Section } from '../../_ui/section'
import { Instant } from '../../_ui/time'
import { answer } from '../_shell/answer'
import { PageBody, PageHeader } from '../_shell/header'
import { Live } from '../_shell/live'
import { Unread } from '../_shell/unread'
import { Bars } from './bars'
import { Card } from './card'
import { DAEMON_WORDS } from './daemon-words'
import { RunPanel } from './run-panel'
import { hasEnded } from './run-words'
import { RunsTable } from './runs-table'
import { Times } from './times'

export const metadata: Metadata = { title: 'Maintenance' }

const SHOWN = 12
/** What one has just set going is found again on return, also when it has ended meanwhile. */
const JUST_ENDED_MS = 120_000
const WHY_NOT = 'why-not'

/** Under each daemon the run that the URL names; `none` where it was dismissed. */
type Shown = Partial<Record<DaemonKind, string | string[]>>

export default async function Maintenance({ searchParams }: { searchParams: Promise<Shown> }) {
  return (
    <>
      <PageHeader title="Maintenance">
        <Live at={new Date().toISOString()} />
      </PageHeader>
      <PageBody>
        <Suspense fallback={<div className="h-[372px]" />}>
          <Cards shown={await searchParams} />
        </Suspense>
        <Suspense>
          <History />
        </Suspense>
      </PageBody>
    </>
  )
}

async function Cards({ shown }: { shown: Shown }) {
  const seen = await answer(async ({ call, services }) => {
    const daemons = await services.seeDaemons(call, undefined)
    if (isRefused(daemons)) return daemons
    const runs = await Promise.all(
      DAEMONS.map(async (kind) => {
        const named = shown[kind]
        if (typeof named !== 'string' || !isId('run', named)) return null
        const run = await services.seeRun(call, { id: named })
        return isRefused(run) || run.kind !== kind ? null : run
      }),
    )
    const named = new Map(DAEMONS.map((kind, i) => [kind, runs[i] ?? null]))
    return { ...daemons, named, role: call.actor.role, me: call.actor.id }
  })
  if (!seen.ok)
    return (
      <div className="py-5">
        <Unread what="How the four stand" why={seen.message} />
      </div>
    )
  const { daemons, tombstoneHours, named, role, me } = seen.value
  const forbiddenBy = mayAct(role, 'operator') ? null : WHY_NOT
  return (
    <>
      {forbiddenBy && (
        <p id={WHY_NOT} className="border-b border-line py-3 text-text-2">
          You can look at everything here. Dry runs and runs take the role operator; yours is {role}.
        </p>
      )}
      {daemons.map((status) => (
        <DaemonCard
          key={status.kind}
          status={status}
          panel={panelOf(status, named.get(status.kind) ?? null, shown[status.kind], me)}
          tombstoneHours={tombstoneHours}
          forbiddenBy={forbiddenBy}
        />
      ))}
    </>
  )
}

/** What is under way is always shown, whoever asked for it: it decides what one can do. */
function panelOf(status: DaemonStatus, named: RunView | null, shown: Shown[DaemonKind], me: string): RunView | null {
  const running = status.running && !status.running.scheduled && !hasEnded(status.running) ? status.running : null
  if (named && !(running && hasEnded(named))) return named
  if (running || shown === 'none') return running
  const { last } = status
  const justEnded = last?.finishedAt && databaseNowMs() - last.finishedAt.getTime() < JUST_ENDED_MS
  return justEnded && last.requestedBy === me ? last : null
}

interface DaemonCardProps {
  status: DaemonStatus
  panel: RunView | null
  tombstoneHours: number
  forbiddenBy: string | null
}

function DaemonCard({ status, panel, tombstoneHours, forbiddenBy }: DaemonCardProps) {
  const { kind, bars, last, running, nextRunAt, intervalMs } = status
  const words = DAEMON_WORDS[kind]
  const busy = running !== null && !running.scheduled && !hasEnded(running)
  return (
    <Card
      kind={kind}
      does={words.does(tombstoneHours)}
      forbiddenBy={forbiddenBy}
      running={busy}
      primary={panel?.dryRun === true && panel.state === 'succeeded'}
      bars={<Bars bars={bars} charted={words.charted} />}
      times={<Times last={<Last run={last} />} next={intervalMs > 0 ? nextRunAt : 'off'} running={busy} />}
    >
      {panel && (
        <RunPanel
          run={panel}
          tombstoneHours={tombstoneHours}
          forbiddenBy={forbiddenBy}
          dismiss={`/maintenance?${kind}=none`}
        />
      )}
    </Card>
  )
}

function Last({ run }: { run: RunView | null }) {
  if (!run) return 'not yet'
  const words = DAEMON_WORDS[run.kind].many(run.done)
  return (
    <>
      <Instant at={run.startedAt} />,{' '}
      <Link href={`/maintenance/runs/${run.id}`}>{run.state === 'failed' ? `failed after ${words}` : words}</Link>
    </>
  )
}

/** The schedule runs all the time: beside its last ones, those that people asked for. */
async function History() {
  const runs = await answer(async ({ call, services }) => {
    const pages = await Promise.all(
      [true, false].map((asked) =>
        services.seeRuns(call, { filter: { dryRun: false, asked }, limit: SHOWN / 2, after: null }),
      ),
    )
    return pages.find(isRefused) ?? pages.flatMap((page) => (isRefused(page) ? [] : page.items)).sort(newestFirst)
  })
  return (
    <Section
      title="History"
      note="Previewed against what happened"
      aside={<Link href="/maintenance/runs">All runs</Link>}
    >
      {!runs.ok ? (
        <Unread what="The history" why={runs.message} />
      ) : runs.value.length === 0 ? (
        <Empty>No run has found anything to do yet.</Empty>
      ) : (
        <RunsTable runs={runs.value} label="History" />
      )}
    </Section>
  )
}

const newestFirst = (a: RunView, b: RunView) => b.startedAt.getTime() - a.startedAt.getTime()
