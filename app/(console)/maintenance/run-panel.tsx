// What a run found, is doing or did, on the well under its daemon and on its own page.
import Link from 'next/link'
import type { ReactNode } from 'react'
import { databaseNowMs } from '../../../lib/db/clock'
import type { RunView } from '../../../lib/maintenance/run-view'
import { Button } from '../../_ui/button'
import { Instant } from '../../_ui/time'
import { count } from '../../_ui/words'
import { DAEMON_WORDS } from './daemon-words'
import { DryResult } from './dry-result'
import { Outcome } from './outcome'
import { Progress } from './progress'
import { RunWatch } from './run-watch'
import { hasEnded, took, totalOf } from './run-words'
import { StopButton } from './stop-button'

interface RunPanelProps {
  run: RunView
  tombstoneHours: number
  /** The id of the sentence that says why it can't be stopped by this reader; null where it can. */
  forbiddenBy: string | null
  /** Where the page is without it. */
  dismiss?: string
  /** On the run's own page its keys are below already. */
  withKeys?: boolean
}

export function RunPanel({ run, tombstoneHours, forbiddenBy, dismiss, withKeys = true }: RunPanelProps) {
  const ended = hasEnded(run)
  // On the run's own page it stands right below the title of the page.
  const Heading = withKeys ? 'h3' : 'h2'
  return (
    <div className="mt-4 rounded-2 border border-line bg-sunken px-4 py-4">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <div className="min-w-0 flex-1 basis-60">
          <Heading className="text-13 font-semibold">{titleOf(run)}</Heading>
          <p className="mt-0.5 text-text-2">
            <About run={run} />
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          {ended && dismiss && (
            <Button kind="quiet" asChild>
              <Link href={dismiss} scroll={false}>
                Dismiss
              </Link>
            </Button>
          )}
          {withKeys && run.sample.length > 0 && (
            <Button asChild>
              <Link href={`/maintenance/runs/${run.id}#keys`}>{openWords(run)}</Link>
            </Button>
          )}
          {!ended && run.kind !== 'restore' && (
            <StopButton id={run.id} stopping={run.stopping} forbiddenBy={forbiddenBy} />
          )}
        </div>
      </div>
      <Inside run={run} ended={ended} tombstoneHours={tombstoneHours} />
      <RunWatch
        key={run.id}
        run={{ id: run.id, kind: run.kind, action: run.action, dryRun: run.dryRun, state: run.state, done: run.done }}
      />
    </div>
  )
}

function Inside({ run, ended, tombstoneHours }: { run: RunView; ended: boolean; tombstoneHours: number }): ReactNode {
  if (run.dryRun) return ended && run.state !== 'failed' && <DryResult run={run} tombstoneHours={tombstoneHours} />
  return ended ? <Outcome run={run} /> : <Progress run={run} />
}

function titleOf(run: RunView): string {
  const many = DAEMON_WORDS[run.kind].many(run.done)
  if (run.lost) return `Its node stopped after ${many}`
  if (run.dryRun)
    return {
      running: 'Dry run: counting',
      succeeded: `Dry run: ${many}`,
      failed: 'The dry run failed',
      aborted: `Dry run stopped: ${many} so far`,
    }[run.state]
  const total = totalOf(run)
  return {
    running: total === null ? `Running: ${many} so far` : `Running: ${count(run.done)} of ${count(total)}`,
    succeeded: `Finished: ${many}`,
    failed: `Failed after ${many}`,
    aborted:
      total && total > run.done ? `Stopped after ${count(run.done)} of ${count(total)}` : `Stopped after ${many}`,
  }[run.state]
}

function About({ run }: { run: RunView }) {
  const who = run.by ? ` by ${run.by}` : ' by the schedule'
  const why = run.reason ? `: “${run.reason}”` : ''
  if (!hasEnded(run)) {
    return (
      <>
        Started <Instant at={run.startedAt} />
        {who}
        {why}
        {/[.!?]”$/.test(why) ? '' : '.'} {leftWords(run)}
        {run.stopping && ' It stops after this batch.'}
      </>
    )
  }
  return (
    <>
      <Instant at={run.startedAt} />
      {who}
      {why}
      {run.finishedAt ? `, took ${took(run)}` : ''}.{run.dryRun && ' Nothing was changed.'}
      {run.error && ` ${sentence(run.error)}`}
    </>
  )
}

const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

/** By its own pace so far; nothing where that tells nothing. */
function leftWords(run: RunView): string {
  const total = totalOf(run)
  const seconds = (databaseNowMs() - run.startedAt.getTime()) / 1000
  if (total === null || run.done === 0 || run.done >= total) return ''
  const left = (seconds / run.done) * (total - run.done)
  return left < 90 ? `About ${Math.max(1, Math.round(left))} s left.` : `About ${Math.round(left / 60)} min left.`
}

function openWords({ sample, done }: RunView): string {
  if (sample.length < done) return `Open ${count(sample.length)} of them`
  return sample.length === 1 ? 'Open it' : `Open all ${count(sample.length)}`
}
