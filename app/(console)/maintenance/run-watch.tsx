'use client'
// Watches a run that is under way: asks for the page again every second, and says so when it has ended well. What ended
// badly is said in its place, and stays.
import { useRouter } from 'next/navigation'
import { useEffect, useRef, useTransition } from 'react'
import { useToast } from '../../_ui/toast'
import type { Begun } from './actions'
import { DAEMON_WORDS } from './daemon-words'
import { dryRunWords, endWords } from './finish-words'

const EVERY_MS = 1000

export function RunWatch({ run }: { run: Pick<Begun, 'id' | 'kind' | 'state' | 'done'> & { dryRun: boolean } }) {
  const router = useRouter()
  const tell = useToast()
  const before = useRef(run.state)
  const [looking, look] = useTransition()

  useEffect(() => {
    if (run.state !== 'running' || looking) return
    const timer = setTimeout(() => look(() => router.refresh()), EVERY_MS)
    return () => clearTimeout(timer)
  }, [run, looking, router])

  useEffect(() => {
    const wasRunning = before.current === 'running'
    before.current = run.state
    if (!wasRunning || run.state !== 'succeeded') return
    if (run.dryRun) tell('Dry run finished.', dryRunWords(run))
    else tell(`${DAEMON_WORDS[run.kind].name} finished.`, endWords(run))
  }, [run, tell])
  return null
}
