'use client'
// The last look before a run: how many it will touch, counted a moment ago, and why. Cancel has the focus. What was
// typed stays until it has begun.
import { useEffect, useEffectEvent, useState, useTransition } from 'react'
import type { DaemonKind } from '../../../lib/maintenance/daemon'
import { Button } from '../../_ui/button'
import { Dialog } from '../../_ui/dialog'
import { ReasonField } from '../../_ui/reason-field'
import { Failure } from '../../_ui/section'
import { Age } from '../../_ui/time'
import { count } from '../../_ui/words'
import { type Begun, preview, runNow, watchRun } from './actions'
import { countWord, DAEMON_WORDS } from './daemon-words'

const WATCH_MS = 1000

interface RunNowProps {
  kind: DaemonKind
  open: boolean
  onOpenChange(open: boolean): void
  onBegun(id: string): void
}

export function RunNow({ kind, open, onOpenChange, onBegun }: RunNowProps) {
  const words = DAEMON_WORDS[kind]
  const [reason, setReason] = useState('')
  const [failure, setFailure] = useState<string | null>(null)
  const [beginning, begin] = useTransition()
  const counted = useCount(kind, open)

  function run() {
    setFailure(null)
    begin(async () => {
      const result = await runNow({ kind, reason: reason.trim() })
      if (!result.ok) return setFailure(result.issues?.reason ? `Reason: ${result.issues.reason}.` : result.message)
      setReason('')
      onOpenChange(false)
      onBegun(result.value.id)
    })
  }

  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title={`Run ${words.the} now`}
      about={<Counted counted={counted} kind={kind} />}
      note={beginning ? 'It begins.' : 'It can be stopped after each batch.'}
      buttons={
        <>
          <Button autoFocus data-autofocus onClick={() => onOpenChange(false)}>
            Cancel
          </Button>
          <Button kind="primary" disabled={counted.state === 'counting' || beginning} onClick={run}>
            Run now
          </Button>
        </>
      }
    >
      <div className="grid gap-4 px-5 py-4">
        {counted.state === 'counted' && <Consequences run={counted.run} />}
        {counted.state === 'failed' && <Failure>The dry run failed, so there is no count. {counted.why}</Failure>}
        <ReasonField value={reason} onChange={setReason} />
        {failure && <Failure>It was not begun. {failure}</Failure>}
      </div>
    </Dialog>
  )
}

type Count = { state: 'counting' } | { state: 'counted'; run: Begun } | { state: 'failed'; why: string }

/** A fresh count each time the dialog opens. */
function useCount(kind: DaemonKind, open: boolean): Count {
  const [counted, setCounted] = useState<Count>({ state: 'counting' })
  const look = useEffectEvent(async (isOpen: () => boolean) => {
    setCounted({ state: 'counting' })
    for (let result = await preview(kind); isOpen(); result = await watchRun(result.value.id)) {
      if (!result.ok) return setCounted({ state: 'failed', why: result.message })
      if (result.value.state === 'succeeded') return setCounted({ state: 'counted', run: result.value })
      if (result.value.state !== 'running')
        return setCounted({ state: 'failed', why: result.value.error ?? 'It was stopped.' })
      await new Promise((resolve) => setTimeout(resolve, WATCH_MS))
    }
  })
  useEffect(() => {
    if (!open) return
    let current = true
    void look(() => current)
    return () => {
      current = false
    }
  }, [open])
  return counted
}

function Counted({ counted, kind }: { counted: Count; kind: DaemonKind }) {
  if (counted.state === 'counting') return <span role="status">Counting what it will touch…</span>
  if (counted.state === 'failed') return <span role="status">How many it will touch is not known.</span>
  return (
    <span role="status">
      {DAEMON_WORDS[kind].would(counted.run.done)}
      {counted.run.finishedAt && (
        <>
          {' '}
          Counted <Age since={counted.run.finishedAt} ago />.
        </>
      )}
    </span>
  )
}

function Consequences({ run }: { run: Begun }) {
  const lines = Object.entries(run.counts).filter(([, n]) => n > 0)
  if (lines.length === 0) return <p>The dry run found nothing to do.</p>
  return (
    <dl className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 rounded-2 border border-line bg-sunken px-4 py-2">
      {lines.map(([name, n]) => (
        <div key={name} className="col-span-2 grid grid-cols-subgrid border-b border-line py-1.5 last:border-b-0">
          <dt>{countWord(name)}</dt>
          <dd className="text-right font-medium">{count(n)}</dd>
        </div>
      ))}
    </dl>
  )
}
