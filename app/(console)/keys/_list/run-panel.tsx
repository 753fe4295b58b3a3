'use client'
// A bulk run while it goes on, and what became of each of its keys. It is in the address: a colleague sees the same.
import { Square } from 'lucide-react'
import Link from 'next/link'
import { useCallback, useEffect, useState, useTransition } from 'react'
import type { RunKey } from '../../../../lib/maintenance/run-keys'
import type { RunView } from '../../../../lib/maintenance/run-view'
import { Button } from '../../../_ui/button'
import { Failure } from '../../../_ui/section'
import { StateMark } from '../../../_ui/state-mark'
import { count, plural } from '../../../_ui/words'
import { Progress } from '../../maintenance/progress'
import { stopRun, watchRun } from './actions'
import { BULK_WORDS } from './bulk-words'
import { useList } from './list-state'
import { outcomeWords } from './outcome-words'
import { hrefOf, type View } from './view'

const EVERY_MS = 1000
const SHOWN = 100

interface Seen {
  run: RunView
  items: RunKey[]
  next: number | null
}

export function RunPanel({ id, view, forbidden }: { id: string; view: View; forbidden: string | null }) {
  const { seen, failure, look } = useRun(id)
  const [stopping, stop] = useTransition()
  const [refusal, setRefusal] = useState<string | null>(null)
  const { refresh } = useList()
  const running = seen?.run.state === 'running'

  function abort() {
    if (forbidden) return
    stop(async () => {
      const result = await stopRun(id).catch(() => null)
      // It ended by itself meanwhile: the next look says how.
      setRefusal(!result || (!result.ok && result.code !== 'already_ended') ? 'It could not be stopped.' : null)
      await look()
    })
  }

  return (
    <section aria-label="Bulk run" className="mx-(--gutter) my-3 rounded-2 border border-line bg-sunken px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h2 className="min-w-0 flex-1 text-13 font-semibold" aria-live="polite">
          {seen ? titleOf(seen.run) : 'The run is being read'}
        </h2>
        {running ? (
          <Button
            onClick={abort}
            disabled={stopping}
            aria-disabled={forbidden || seen.run.stopping ? true : undefined}
            title={forbidden ?? undefined}
          >
            <Square size={12} aria-hidden />
            {seen.run.stopping ? 'Stopping' : 'Stop'}
          </Button>
        ) : (
          <Button onClick={refresh}>Show the rows as they are now</Button>
        )}
        <Button kind="quiet" asChild>
          <Link href={hrefOf({ ...view, run: null })} scroll={false}>
            Close
          </Link>
        </Button>
      </div>
      {failure && <Failure>How far it is can’t be told now. {failure}</Failure>}
      {refusal && <Failure>{refusal}</Failure>}
      {seen && (
        <>
          <Progress run={seen.run} />
          <Results seen={seen} />
        </>
      )}
    </section>
  )
}

function useRun(id: string) {
  const [seen, setSeen] = useState<Seen | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const look = useCallback(async () => {
    const answer = await watchRun({ id, after: 0, limit: SHOWN }).catch(() => null)
    if (answer?.ok) setSeen(answer.value)
    setFailure(answer?.ok ? null : (answer?.message ?? 'The server does not answer.'))
    return !answer?.ok || answer.value.run.state === 'running'
  }, [id])

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let current = true
    const again = async () => {
      const goesOn = await look()
      if (current && goesOn) timer = setTimeout(again, EVERY_MS)
    }
    void again()
    return () => {
      current = false
      clearTimeout(timer)
    }
  }, [look])
  return { seen, failure, look }
}

function titleOf({ action, state, done, total, error }: RunView): string {
  const words = BULK_WORDS[action ?? 'reconcile']
  const of = `${count(done)} of ${plural(total ?? done, 'key')}`
  if (state === 'running') return `${words.running}: ${of} done`
  if (state === 'aborted') return `Stopped after ${of}`
  if (state === 'failed') return `Failed after ${of}. ${error ?? ''}`
  return words.succeeded(plural(done, 'key'))
}

/** What became of each key, as far as they are shown here. */
function Results({ seen: { run, items, next } }: { seen: Seen }) {
  return (
    <details open className="mt-3">
      <summary className="cursor-pointer text-text-2 hover:text-text">What became of each key</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it */}
      <ul aria-label="Results" tabIndex={0} className="mt-2 max-h-60 list-none overflow-y-auto border-t border-line">
        {items.map(({ recordId, record, outcome }) => (
          <li key={recordId} className="flex flex-wrap items-center gap-x-4 gap-y-0.5 border-b border-line py-1.5">
            <Link
              href={`/keys/${recordId}`}
              prefetch={false}
              className="min-w-0 flex-1 basis-60 truncate font-mono text-12"
            >
              {record?.key ?? recordId}
            </Link>
            <span className="text-text-2">{outcomeWords(outcome)}</span>
            {record && <StateMark state={record.state} className="w-36" />}
          </li>
        ))}
      </ul>
      {next !== null && (
        <p className="pt-2 text-12 text-text-2">
          These are the first {count(items.length)}. <Link href={`/maintenance/runs/${run.id}`}>All of them</Link>
        </p>
      )}
    </details>
  )
}
