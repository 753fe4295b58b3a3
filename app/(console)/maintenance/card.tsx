'use client'
// One daemon: what it does, how it stands, and the two things that a person can ask of it.
import { useRouter } from 'next/navigation'
import { type ReactNode, useState, useTransition } from 'react'
import type { DaemonKind } from '../../../lib/maintenance/daemon'
import { Button } from '../../_ui/button'
import { Failure } from '../../_ui/section'
import { dryRun } from './actions'
import { DAEMON_WORDS } from './daemon-words'
import { RunNow } from './run-now'
import { awaitEnd } from './run-watch'

interface CardProps {
  kind: DaemonKind
  does: string
  /** The id of the sentence that says why not; null where the role may. */
  forbiddenBy: string | null
  running: boolean
  /** Its dry run is what the page is about just now. */
  primary: boolean
  bars: ReactNode
  times: ReactNode
  children: ReactNode
}

export function Card({ kind, does, forbiddenBy, running, primary, bars, times, children }: CardProps) {
  const { name } = DAEMON_WORDS[kind]
  const router = useRouter()
  const [counting, startCounting] = useTransition()
  const [failure, setFailure] = useState<string | null>(null)
  const [deciding, setDeciding] = useState(false)

  function show(id: string) {
    awaitEnd(id)
    router.replace(`?${kind}=${id}`, { scroll: false })
  }

  function count() {
    if (forbiddenBy || counting) return
    setFailure(null)
    startCounting(async () => {
      const result = await dryRun(kind)
      if (!result.ok) return setFailure(result.message)
      show(result.value.id)
    })
  }

  const off = { 'aria-disabled': forbiddenBy ? true : undefined, 'aria-describedby': forbiddenBy ?? undefined }
  return (
    <section aria-label={name} className="border-b border-line py-5">
      <div className="flex flex-wrap items-start gap-x-6 gap-y-3 full:grid full:grid-cols-[minmax(0,1fr)_240px_236px_auto]">
        <div className="min-w-0 basis-full full:basis-auto">
          <h2 className="text-14 font-semibold">{name}</h2>
          <p className="mt-0.5 text-text-2">{does}</p>
        </div>
        <div className="w-60">{bars}</div>
        <div className="min-w-0 wide:min-w-[200px]">{times}</div>
        <div className="flex gap-2 full:w-[164px] full:justify-end">
          <Button onClick={count} {...off} aria-busy={counting || undefined} disabled={counting}>
            Dry run
          </Button>
          {running ? (
            <Button disabled>Running</Button>
          ) : (
            <Button
              kind={primary && !forbiddenBy ? 'primary' : 'plain'}
              {...off}
              onClick={() => !forbiddenBy && setDeciding(true)}
            >
              Run now
            </Button>
          )}
        </div>
      </div>
      {failure && (
        <div className="mt-4">
          <Failure>The dry run was not begun. {failure}</Failure>
        </div>
      )}
      {children}
      <RunNow kind={kind} open={deciding} onOpenChange={setDeciding} onBegun={show} />
    </section>
  )
}
