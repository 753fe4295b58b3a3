'use client'
// The last look before something that others will feel: what follows from it, in words, and why. Cancel has the focus,
// and what was refused is said here, with nothing lost.
import { type ReactNode, useState, useTransition } from 'react'
import { Button } from './button'
import { Dialog } from './dialog'
import { ReasonField } from './reason-field'
import { Failure } from './section'

interface ConfirmDialogProps {
  open: boolean
  onOpenChange(open: boolean): void
  title: string
  about?: ReactNode
  /** What the button says: the verb. */
  verb: string
  /** What follows. */
  children: ReactNode
  /** Null when it is done; else why not. The reason where one was given. */
  onConfirm(reason: string | undefined): Promise<string | null>
}

export function ConfirmDialog({ open, onOpenChange, title, about, verb, children, onConfirm }: ConfirmDialogProps) {
  const [reason, setReason] = useState('')
  const [failure, setFailure] = useState<string | null>(null)
  const [doing, start] = useTransition()

  function close(next: boolean) {
    if (!next) setFailure(null)
    onOpenChange(next)
  }

  function confirm() {
    setFailure(null)
    start(async () => {
      const why = await onConfirm(reason.trim() || undefined)
      setFailure(why)
      if (why !== null) return
      setReason('')
      close(false)
    })
  }

  return (
    <Dialog
      open={open}
      onOpenChange={close}
      title={title}
      about={about}
      buttons={
        <>
          <Button autoFocus data-autofocus onClick={() => close(false)}>
            Cancel
          </Button>
          <Button kind="primary" disabled={doing} onClick={confirm}>
            {verb}
          </Button>
        </>
      }
    >
      <div className="grid gap-3 px-5 py-4">
        {children}
        <ReasonField value={reason} onChange={setReason} />
        {failure && <Failure>{failure}</Failure>}
      </div>
    </Dialog>
  )
}
