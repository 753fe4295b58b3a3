'use client'
import { Square } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import { Button } from '../../_ui/button'
import { stopRun } from './actions'

interface StopButtonProps {
  id: string
  stopping: boolean
  forbiddenBy: string | null
}

/** Nothing is lost by it: what is done stays done, and the rest is there for the next run. */
export function StopButton({ id, stopping, forbiddenBy }: StopButtonProps) {
  const router = useRouter()
  const [asking, ask] = useTransition()
  const [failure, setFailure] = useState<string | null>(null)

  function stop() {
    if (forbiddenBy || stopping) return
    ask(async () => {
      const result = await stopRun(id)
      // It ended by itself meanwhile: the page that comes back says how.
      setFailure(result.ok || result.code === 'already_ended' ? null : result.message)
      router.refresh()
    })
  }

  return (
    <span className="flex flex-wrap items-center justify-end gap-2">
      {failure && (
        <span role="alert" className="text-12 text-danger">
          {failure}
        </span>
      )}
      <Button
        onClick={stop}
        disabled={asking}
        aria-disabled={forbiddenBy || stopping ? true : undefined}
        aria-describedby={forbiddenBy ?? undefined}
      >
        <Square size={12} aria-hidden />
        {stopping ? 'Stopping' : 'Stop after this batch'}
      </Button>
    </span>
  )
}
