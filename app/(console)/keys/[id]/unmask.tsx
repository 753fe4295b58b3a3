'use client'
// Reading what is masked is an act: it takes a reason, and the audit log has it.
import { Eye } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import { Button } from '../../../_ui/button'
import { Dialog } from '../../../_ui/dialog'
import { ReasonField } from '../../../_ui/reason-field'
import { Failure } from '../../../_ui/section'
import type { Offer } from './_words/offers'
import { unmaskKey } from './actions'
import { useLearned } from './key-context'

export function Unmask({ id, offer }: { id: string; offer: Offer }) {
  const [{ request }, setLearned] = useLearned()
  const [open, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const [mistake, setMistake] = useState<string | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [unmasking, start] = useTransition()
  const router = useRouter()

  function unmask() {
    setFailure(null)
    setMistake(reason.trim() ? null : 'Say why.')
    if (!reason.trim()) return
    start(async () => {
      const answer = await unmaskKey({ id, reason })
      if (!answer.ok) {
        if (answer.issues?.reason) setMistake(answer.issues.reason)
        else setFailure(answer.message)
        return
      }
      setLearned((before) => ({ ...before, request: answer.value.request }))
      setReason('')
      setOpen(false)
      router.refresh()
    })
  }

  if (request) return <span className="text-12 text-text-2">Unmasked for you, until you leave this page.</span>
  return (
    <>
      <span className="flex flex-wrap items-center gap-2">
        {!offer.offered && (
          <span id="why-unmask" className="text-12 text-text-2">
            {offer.sentence}
          </span>
        )}
        <Button
          kind="quiet"
          aria-disabled={!offer.offered || undefined}
          aria-describedby={offer.offered ? undefined : 'why-unmask'}
          onClick={() => offer.offered && setOpen(true)}
        >
          <Eye size={14} aria-hidden />
          Unmask, goes into the audit log
        </Button>
      </span>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title="Unmask the request"
        about="How the customer paid, and what was written in somebody’s own words."
        buttons={
          <>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button kind="primary" disabled={unmasking} onClick={unmask}>
              Unmask
            </Button>
          </>
        }
      >
        <div className="grid gap-4 px-5 py-4">
          <ReasonField value={reason} error={mistake} onChange={setReason} autoFocus />
          {failure && <Failure>{failure}</Failure>}
        </div>
      </Dialog>
    </>
  )
}
