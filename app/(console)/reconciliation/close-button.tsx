'use client'
// Closing a discrepancy says that somebody has looked into it, and why it is no longer one. It changes nothing else.
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import { Button } from '../../_ui/button'
import { Dialog } from '../../_ui/dialog'
import { ReasonField } from '../../_ui/reason-field'
import { Failure } from '../../_ui/section'
import { useToast } from '../../_ui/toast'
import { closeDiscrepancy } from './actions'

interface CloseButtonProps {
  id: string
  title: string
  sentence: string
  /** Why not; null where it may be closed. */
  forbidden: string | null
}

export function CloseButton({ id, title, sentence, forbidden }: CloseButtonProps) {
  const [open, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const [mistake, setMistake] = useState<string | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [closing, start] = useTransition()
  const router = useRouter()
  const tell = useToast()

  function close() {
    setFailure(null)
    setMistake(reason.trim() ? null : 'Say why.')
    if (!reason.trim()) return
    start(async () => {
      const answer = await closeDiscrepancy({ id, reason })
      if (!answer.ok) {
        if (answer.issues?.reason) setMistake(answer.issues.reason)
        else setFailure(answer.message)
        return
      }
      setOpen(false)
      tell('Closed.', title)
      router.refresh()
    })
  }

  return (
    <>
      <Button
        aria-disabled={forbidden !== null || undefined}
        title={forbidden ?? undefined}
        aria-label={`Close…, ${title}`}
        onClick={() => forbidden === null && setOpen(true)}
      >
        Close…
      </Button>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title="Close discrepancy"
        about={title}
        note="Changes no key, order or ledger."
        buttons={
          <>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button kind="primary" disabled={closing} onClick={close}>
              Close
            </Button>
          </>
        }
      >
        <div className="grid gap-4 px-5 py-4">
          <p className="[overflow-wrap:anywhere]">{sentence}</p>
          <ReasonField value={reason} error={mistake} onChange={setReason} autoFocus />
          {failure && <Failure>{failure}</Failure>}
        </div>
      </Dialog>
    </>
  )
}
