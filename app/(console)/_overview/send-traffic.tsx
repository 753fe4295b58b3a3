'use client'
// The button that makes a newcomer's console come alive. Whoever may not press it reads why.
import { useRouter } from 'next/navigation'
import { useId, useState, useTransition } from 'react'
import { Button } from '../../_ui/button'
import { sendTraffic } from './actions'

interface SendTrafficProps {
  /** Why this person may not; null where they may. */
  forbidden: string | null
  running: boolean
  onSent?(): void
}

export function SendTraffic({ forbidden, running, onSent }: SendTrafficProps) {
  const router = useRouter()
  const why = useId()
  const [sending, start] = useTransition()
  const [failure, setFailure] = useState<string | null>(null)
  const reason = forbidden ?? (running ? 'Sample traffic is on its way.' : null)

  function send() {
    if (reason) return
    start(async () => {
      const result = await sendTraffic()
      setFailure(result.ok ? null : result.message)
      if (result.ok) onSent?.()
      router.refresh()
    })
  }

  return (
    <>
      <Button
        kind="primary"
        onClick={send}
        disabled={sending}
        aria-disabled={reason ? true : undefined}
        aria-describedby={reason || failure ? why : undefined}
      >
        Send sample traffic
      </Button>
      {(reason || failure) && (
        <span id={why} role={failure ? 'alert' : undefined} className={failure ? 'text-danger' : 'text-text-2'}>
          {failure ?? reason}
        </span>
      )}
    </>
  )
}
