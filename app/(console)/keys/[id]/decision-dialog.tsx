'use client'
// A decision about a key that takes a reason and nothing else: to expire it, to run it again, to look it up again, to
// reverse its booking. Cancel has the focus; what follows from it stands above.
import { useRouter } from 'next/navigation'
import { type ReactNode, useState, useTransition } from 'react'
import type { State } from '../../../../lib/idempotency/states'
import { Button } from '../../../_ui/button'
import { Dialog } from '../../../_ui/dialog'
import { ReasonField } from '../../../_ui/reason-field'
import { Failure } from '../../../_ui/section'
import { useToast } from '../../../_ui/toast'
import type { Answer } from '../../_shell/answer'
import { expireKey, resumeKey, reverseBooking, runKeyAgain, type WhatChanged } from './actions'
import { Conflict } from './conflict'
import type { Subject } from './subject'

export type DecisionName = 'expire' | 'runAgain' | 'resume' | 'reverse'

interface DecisionWords {
  title: string
  button: string
  /** The states in which it can be made. */
  wanted: readonly State[]
  decide(asked: Parameters<typeof expireKey>[0], subject: Subject): Promise<Answer<unknown> & { changed?: WhatChanged }>
  told: [title: string, rest: string]
  means(subject: Subject): ReactNode
}

const DECISIONS: Record<DecisionName, DecisionWords> = {
  expire: {
    title: 'Expire key',
    button: 'Expire',
    wanted: ['completed', 'failed_retryable'],
    decide: expireKey,
    told: ['Expired.', 'The client’s next try gets 410.'],
    means: ({ state, noun }) => (
      <>
        The stored request and answer are erased, and every further request with this key gets{' '}
        <code>410 idempotency_key_expired</code>
        {state === 'completed'
          ? ', with the order or refund that it made and the status of the first answer.'
          : `. Its ${noun === 'refund' ? 'refund' : 'order'} is abandoned: whoever still wants it done needs a new key.`}{' '}
        This can’t be taken back.
      </>
    ),
  },
  runAgain: {
    title: 'Run key again',
    button: 'Run again',
    wanted: ['failed_retryable'],
    decide: runKeyAgain,
    told: ['Handed to a worker.', 'It runs the request again now.'],
    means: ({ noun }) => (
      <>
        A worker runs the request again at once. Where an earlier attempt may have been executed, it asks the provider
        for the {noun} first. If that fails and the key’s time is over, the key is a dead letter again.
      </>
    ),
  },
  resume: {
    title: 'Resume look-ups',
    button: 'Resume',
    wanted: ['unknown'],
    decide: resumeKey,
    told: ['Resumed.', 'The reconciler looks it up by schedule again.'],
    means: () => (
      <>
        The reconciler looks the key up at its next run, and then by schedule from the first interval. If the provider
        still has no answer, the key becomes a dead letter again.
      </>
    ),
  },
  reverse: {
    title: 'Reverse booking',
    button: 'Reverse',
    wanted: ['completed', 'expired'],
    decide: ({ reason }, { booking }) => reverseBooking({ id: booking!.id, reason }),
    told: ['Reversed.', 'The reference is free, and a discrepancy is open.'],
    means: ({ booking, noun }) => (
      <>
        The booking of <code className="!whitespace-normal">{booking?.ref}</code> and its reversing entry no longer
        count, and the reference is free for the key that it belongs to. This key’s answer and its order stay as they
        are: a discrepancy says that they report a {noun} that is not there. What the provider itself confirms is
        refused. This can’t be taken back.
      </>
    ),
  },
}

interface DecisionDialogProps {
  /** Null while it is closed. */
  decision: DecisionName | null
  onClose(): void
  subject: Subject
}

export function DecisionDialog({ decision, onClose, subject }: DecisionDialogProps) {
  const [reason, setReason] = useState('')
  if (!decision) return null
  return (
    <Decide words={DECISIONS[decision]} subject={subject} reason={reason} setReason={setReason} onClose={onClose} />
  )
}

interface DecideProps {
  words: DecisionWords
  subject: Subject
  reason: string
  setReason(reason: string): void
  onClose(): void
}

function Decide({ words, subject, reason, setReason, onClose }: DecideProps) {
  const router = useRouter()
  const tell = useToast()
  const [deciding, start] = useTransition()
  const [base, setBase] = useState({ state: subject.state, version: subject.version, seenUntil: subject.seenUntil })
  const [changed, setChanged] = useState<WhatChanged | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [mistake, setMistake] = useState<string | null>(null)

  function decide() {
    setFailure(null)
    setMistake(reason.trim() ? null : 'Say why.')
    if (!reason.trim()) return
    start(async () => {
      const { version, seenUntil } = base
      const decided = await words.decide({ id: subject.id, reason, version, seenUntil }, subject)
      if (decided.ok) {
        tell(...words.told)
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
      title={words.title}
      about={<span className="font-mono">{subject.key}</span>}
      note={`Version ${base.version}${changed ? ', changed since you loaded it' : ''}.`}
      buttons={
        <>
          <Button autoFocus onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" disabled={deciding || changed !== null} onClick={decide}>
            {words.button}
          </Button>
        </>
      }
    >
      {changed && <Conflict from={base} changed={changed} wanted={words.wanted} onGoOn={goOn} />}
      <div className="grid gap-4 px-5 py-4">
        <p>{words.means(subject)}</p>
        <ReasonField value={reason} error={mistake} onChange={setReason} />
        {failure && <Failure>{failure}</Failure>}
      </div>
    </Dialog>
  )
}
