'use client'
// Watches a run that is under way: asks for the page again every second, and says so when it has ended well. What ended
// badly is said in its place, and stays.
import { useRouter } from 'next/navigation'
import { useEffect, useTransition } from 'react'
import { useToast } from '../../_ui/toast'
import type { Begun } from './actions'
import { nameOfRun } from './daemon-words'
import { dryRunWords, endWords } from './finish-words'

const EVERY_MS = 1000

/** Whose end is still to be told: begun or seen running on this page. One may have ended before it is shown. */
const awaited = new Set<string>()

export const awaitEnd = (id: string): void => void awaited.add(id)

type Watched = Pick<Begun, 'id' | 'kind' | 'action' | 'state' | 'done'> & { dryRun: boolean }

export function RunWatch({ run }: { run: Watched }) {
  const router = useRouter()
  const tell = useToast()
  const [looking, look] = useTransition()

  useEffect(() => {
    if (run.state !== 'running' || looking) return
    const timer = setTimeout(() => look(() => router.refresh()), EVERY_MS)
    return () => clearTimeout(timer)
  }, [run, looking, router])

  useEffect(() => {
    if (run.state === 'running') return awaitEnd(run.id)
    if (!awaited.delete(run.id) || run.state !== 'succeeded') return
    if (run.dryRun) tell('Dry run finished.', dryRunWords(run))
    else tell(`${nameOfRun(run)} finished.`, endWords(run))
  }, [run, tell])
  return null
}
