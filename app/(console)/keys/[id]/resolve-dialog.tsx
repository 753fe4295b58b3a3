'use client'
// A person's word for an outcome: form left, what follows from it right. It holds only for the version that they saw;
// whatever is refused, nothing that was typed is lost.
import { Check, EqualNotIcon } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import { Button } from '../../../_ui/button'
import { Dialog } from '../../../_ui/dialog'
import { TextField } from '../../../_ui/field'
import { ReasonField } from '../../../_ui/reason-field'
import { Failure } from '../../../_ui/section'
import { Instant } from '../../../_ui/time'
import { useToast } from '../../../_ui/toast'
import { resolveKey, type WhatChanged } from './actions'
import { Conflict } from './conflict'
import { Consequences } from './resolve-preview'
import type { Subject } from './subject'
import { type Verdict, VerdictField } from './verdict-field'

const SHORTEST_REASON = 10

interface Draft {
  verdict: Verdict | null
  ref: string
  reason: string
  accepts: boolean
}

const EMPTY: Draft = { verdict: null, ref: '', reason: '', accepts: false }

interface ResolveDialogProps {
  open: boolean
  onClose(): void
  subject: Subject
}

export function ResolveDialog({ open, onClose, subject }: ResolveDialogProps) {
  // Outlives the dialog: who closes it to look something up finds it again.
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, ref: subject.known?.ref ?? '' })
  return open ? <Resolve subject={subject} draft={draft} setDraft={setDraft} onClose={onClose} /> : null
}

interface ResolveProps {
  subject: Subject
  draft: Draft
  setDraft(draft: Draft): void
  onClose(): void
}

function Resolve({ subject, draft, setDraft, onClose }: ResolveProps) {
  const { base, changed, goOn, decide, deciding, failure, errors } = useDecision(subject, draft, () => {
    setDraft(EMPTY)
    onClose()
  })
  const { verdict, ref, reason } = draft
  return (
    <Dialog
      wide
      open
      onOpenChange={(open) => open || onClose()}
      title="Resolve key"
      about={
        <>
          <span className="font-mono">{subject.key}</span> · {subject.tenant}
          {subject.amount && ` · ${subject.amount}`}
        </>
      }
      note={
        changed
          ? `Version ${base.version}, changed since you loaded it.`
          : `Version ${base.version}, ${base.version === subject.version ? 'unchanged since you loaded it' : 'as you saw it just now'}.`
      }
      buttons={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" disabled={deciding || changed !== null} onClick={decide}>
            {deciding ? 'Asking the provider…' : 'Resolve'}
          </Button>
        </>
      }
    >
      {changed && <Conflict from={base} changed={changed} wanted="unknown" onGoOn={goOn} />}
      <div className="grid wide:grid-cols-[minmax(0,1fr)_minmax(0,0.92fr)]">
        <form
          className="grid content-start gap-4 px-5 py-4"
          onSubmit={(event) => {
            event.preventDefault()
            decide()
          }}
        >
          <VerdictField
            subject={subject}
            value={verdict}
            error={errors.verdict}
            onChange={(chosen) => setDraft({ ...draft, verdict: chosen })}
          />
          {verdict !== 'not_executed' && (
            <TextField
              label="Provider reference"
              className="font-mono text-12"
              value={ref}
              maxLength={255}
              spellCheck={false}
              autoComplete="off"
              error={errors.providerRef}
              onChange={(event) => setDraft({ ...draft, ref: event.target.value })}
              hint={<RefHint subject={subject} entered={ref} verdict={verdict} />}
            />
          )}
          {subject.differs && verdict === 'succeeded' && (
            <div className="flex gap-3 rounded-2 bg-selected px-3 py-2">
              <EqualNotIcon size={16} aria-hidden className="mt-0.5 shrink-0" />
              <div>
                <p>{subject.differs}</p>
                {subject.accept && (
                  <label className="mt-2 flex items-start gap-2">
                    <input
                      type="checkbox"
                      className="mt-1"
                      checked={draft.accepts}
                      onChange={(event) => setDraft({ ...draft, accepts: event.target.checked })}
                    />
                    Book {subject.accept.words}, as the provider has it. The discrepancy stays open.
                  </label>
                )}
              </div>
            </div>
          )}
          <ReasonField
            value={reason}
            error={errors.reason}
            onChange={(typed) => setDraft({ ...draft, reason: typed })}
          />
          {failure && <Failure>{failure}</Failure>}
        </form>
        <Consequences
          subject={draft.accepts && subject.accept ? { ...subject, amount: subject.accept.words } : subject}
          verdict={verdict}
          providerRef={ref}
        />
      </div>
    </Dialog>
  )
}

function RefHint({ subject, entered, verdict }: { subject: Subject; entered: string; verdict: Verdict | null }) {
  const { known } = subject
  if (known && entered.trim() === known.ref)
    return (
      <span className="flex items-center gap-1.5">
        <Check size={14} aria-hidden />
        <span>
          Same as the object fetched at <Instant at={known.at} />.
        </span>
      </span>
    )
  if (known && entered.trim() !== '')
    return (
      <>
        The provider’s object of <Instant at={known.at} /> is <code>{known.ref}</code>.
      </>
    )
  if (verdict === 'declined') return 'Where there is one.'
  return 'As the provider has it: its charge or payment id.'
}

interface Errors {
  verdict?: string
  providerRef?: string
  reason?: string
}

function mistakesOf({ verdict, ref, reason }: Draft): Errors {
  const errors: Errors = {}
  if (!verdict) errors.verdict = 'Say what happened.'
  if (verdict === 'succeeded' && ref.trim() === '') errors.providerRef = 'What was charged has a reference.'
  if (reason.trim().length < SHORTEST_REASON) errors.reason = `At least ${SHORTEST_REASON} characters.`
  return errors
}

function useDecision(subject: Subject, draft: Draft, onDone: () => void) {
  const router = useRouter()
  const tell = useToast()
  const [deciding, start] = useTransition()
  // As it was when the dialog opened: the page behind may move on.
  const [base, setBase] = useState({ state: subject.state, version: subject.version, seenUntil: subject.seenUntil })
  const [changed, setChanged] = useState<WhatChanged | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [errors, setErrors] = useState<Errors>({})

  function decide() {
    const mistakes = mistakesOf(draft)
    setErrors(mistakes)
    setFailure(null)
    if (Object.keys(mistakes).length > 0) return
    start(async () => {
      const { verdict, reason, accepts } = draft
      const { amountCents, currency } = subject.accept ?? {}
      const accept =
        accepts && verdict === 'succeeded' && amountCents !== undefined && currency !== undefined
          ? { amountCents, currency }
          : undefined
      const providerRef = verdict === 'not_executed' ? '' : draft.ref
      const { version, seenUntil } = base
      const decided = await resolveKey({
        id: subject.id,
        verdict: verdict!,
        providerRef,
        accept,
        reason,
        version,
        seenUntil,
      })
      if (decided.ok) {
        const { state, response } = decided.value
        tell('Resolved.', state === 'completed' ? `The next retry gets ${response?.status}.` : 'It may be run again.')
        onDone()
        router.refresh()
        return
      }
      if (decided.changed) setChanged(decided.changed)
      else if (decided.issues) setErrors(decided.issues)
      else setFailure(decided.message)
    })
  }

  function goOn() {
    if (!changed) return
    const { state, version } = changed.record
    setBase({ state, version, seenUntil: changed.happened.at(-1)?.at ?? base.seenUntil })
    setChanged(null)
  }

  return { base, changed, goOn, decide, deciding, failure, errors }
}
