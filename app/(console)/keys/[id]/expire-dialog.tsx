'use client'
// The end of a key before its time. Cancel has the focus; what the client gets from then on stands above it.
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import { Button } from '../../../_ui/button'
import { Dialog } from '../../../_ui/dialog'
import { ReasonField } from '../../../_ui/reason-field'
import { Failure } from '../../../_ui/section'
import { useToast } from '../../../_ui/toast'
import { expireKey, type WhatChanged } from './actions'
import { Conflict } from './conflict'
import type { Subject } from './subject'

const EXPIRABLE = ['completed', 'failed_retryable'] as const

export function ExpireDialog({ open, onClose, subject }: { open: boolean; onClose(): void; subject: Subject }) {
  const [reason, setReason] = useState('')
  return open ? <Expire subject={subject} reason={reason} setReason={setReason} onClose={onClose} /> : null
}

interface ExpireProps {
  subject: Subject
  reason: string
  setReason(reason: string): void
  onClose(): void
}

function Expire({ subject, reason, setReason, onClose }: ExpireProps) {
  const router = useRouter()
  const tell = useToast()
  const [expiring, start] = useTransition()
  const [base, setBase] = useState({ state: subject.state, version: subject.version, seenUntil: subject.seenUntil })
  const [changed, setChanged] = useState<WhatChanged | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [mistake, setMistake] = useState<string | null>(null)

  function expire() {
    setFailure(null)
    setMistake(reason.trim() ? null : 'Say why.')
    if (!reason.trim()) return
    start(async () => {
      const { version, seenUntil } = base
      const decided = await expireKey({ id: subject.id, reason, version, seenUntil })
      if (decided.ok) {
        tell('Expired.', 'The client’s next try gets 410.')
        setReason('')
        onClose()
        router.refresh()
      } else if (decided.changed) setChanged(decided.changed)
      else if (decided.issues?.reason) setMistake(decided.issues.reason)
      else setFailure(decided.message)
    })
  }

  function goOn() {
    if (!changed) return
    const { state, version } = changed.record
    setBase({ state, version, seenUntil: changed.happened.at(-1)?.at ?? base.seenUntil })
    setChanged(null)
  }

  return (
    <Dialog
      open
      onOpenChange={(open) => open || onClose()}
      title="Expire key"
      about={<span className="font-mono">{subject.key}</span>}
      note={`Version ${base.version}${changed ? ', changed since you loaded it' : ''}.`}
      buttons={
        <>
          <Button autoFocus onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" disabled={expiring || changed !== null} onClick={expire}>
            Expire
          </Button>
        </>
      }
    >
      {changed && <Conflict from={base} changed={changed} wanted={EXPIRABLE} onGoOn={goOn} />}
      <div className="grid gap-4 px-5 py-4">
        <p>
          The stored request and answer are erased, and every further request with this key gets{' '}
          <code>410 idempotency_key_expired</code>
          {subject.state === 'completed'
            ? ', with the order or refund that it made and the status of the first answer.'
            : '. Whoever still wants it done needs a new key.'}{' '}
          This can’t be taken back.
        </p>
        <ReasonField value={reason} error={mistake} onChange={setReason} />
        {failure && <Failure>{failure}</Failure>}
      </div>
    </Dialog>
  )
}
