'use client'
// How far the sample traffic is, while it is on its way. The page around it is asked for again all the while: it fills
// as one watches.
import { Square } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useEffect, useRef, useState, useTransition } from 'react'
import { Button } from '../../_ui/button'
import { useToast } from '../../_ui/toast'
import { count, plural } from '../../_ui/words'
import { stopTraffic } from './actions'

export interface TrafficRun {
  id: string
  state: 'running' | 'succeeded' | 'failed' | 'aborted'
  done: number
  total: number | null
  error: string | null
  stopping: boolean
}

const EVERY_MS = 1500

export function TrafficProgress({ run, mayStop }: { run: TrafficRun; mayStop: boolean }) {
  const router = useRouter()
  const [looking, look] = useTransition()
  const [failure, setFailure] = useState<string | null>(null)
  const running = run.state === 'running'
  useEnd(run)

  useEffect(() => {
    if (!running || looking) return
    const timer = setTimeout(() => look(() => router.refresh()), EVERY_MS)
    return () => clearTimeout(timer)
  }, [running, looking, router])

  async function stop() {
    const result = await stopTraffic(run.id)
    setFailure(result.ok || result.code === 'already_ended' ? null : result.message)
    router.refresh()
  }

  if (run.state === 'failed')
    return (
      <p role="alert" className="border-b border-line py-3 text-danger">
        The sample traffic ended early, after {plural(run.done, 'request')}: {run.error}.
      </p>
    )
  if (!running) return null
  const total = Math.max(run.total ?? 0, run.done, 1)
  return (
    <section
      aria-label="Sample traffic"
      className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line py-3"
    >
      <span className="font-medium">Sample traffic is on its way</span>
      <div
        role="progressbar"
        aria-label="Sample traffic"
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={run.done}
        className="h-2 min-w-32 flex-1 overflow-hidden rounded-1 bg-line"
      >
        <div className="h-full bg-ink" style={{ width: `${(100 * run.done) / total}%` }} />
      </div>
      <span className="text-text-2">
        {count(run.done)} of {plural(total, 'request')}
      </span>
      {failure && (
        <span role="alert" className="text-danger">
          {failure}
        </span>
      )}
      {mayStop && (
        <Button onClick={stop} disabled={run.stopping}>
          <Square size={12} aria-hidden />
          {run.stopping ? 'Stopping' : 'Stop'}
        </Button>
      )}
    </section>
  )
}

/** Said once, where one has seen it run. */
function useEnd({ state, done }: TrafficRun): void {
  const tell = useToast()
  const before = useRef(state)
  useEffect(() => {
    const wasRunning = before.current === 'running'
    before.current = state
    if (wasRunning && state === 'succeeded')
      tell('Sample traffic sent.', `${plural(done, 'request')}, every kind of key.`)
    if (wasRunning && state === 'aborted') tell('Sample traffic stopped.', `${plural(done, 'request')} were sent.`)
  }, [state, done, tell])
}
