'use client'
// What follows from a verdict, while it is being made: the answer that the next replay gets, and what else changes.
import { ArrowRight } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { StateMark } from '../../../_ui/state-mark'
import { Instant } from '../../../_ui/time'
import { count, duration, money } from '../../../_ui/words'
import { type Preview, previewResolution } from './actions'
import type { Subject } from './subject'
import type { Verdict } from './verdict-field'
import { Wire } from './wire'

const TYPING_PAUSE_MS = 200

interface ConsequencesProps {
  subject: Subject
  verdict: Verdict | null
  providerRef: string
}

type Foreseen = { of: string; preview: Preview } | { of: string; failure: string } | null

export function Consequences({ subject, verdict, providerRef }: ConsequencesProps) {
  const ref = verdict === 'not_executed' ? '' : providerRef.trim()
  const complete = verdict !== null && (verdict !== 'succeeded' || ref !== '')
  const of = `${verdict} ${ref}`
  const [foreseen, setForeseen] = useState<Foreseen>(null)
  const { id } = subject

  useEffect(() => {
    if (!complete) return
    let wanted = true
    const timer = setTimeout(async () => {
      const seen = await previewResolution({ id, verdict, providerRef: ref }).catch(() => null)
      // what is not asked any more is not shown
      if (!wanted) return
      if (seen?.ok) setForeseen({ of, preview: seen.value })
      else setForeseen({ of, failure: seen?.message ?? 'The server can’t be reached.' })
    }, TYPING_PAUSE_MS)
    return () => {
      wanted = false
      clearTimeout(timer)
    }
  }, [id, verdict, ref, of, complete])

  return (
    <div
      aria-live="polite"
      className="min-w-0 border-line bg-sunken px-5 py-4 max-wide:border-t wide:min-h-[420px] wide:border-l"
    >
      <h3 className="text-14 font-semibold">What the next replay will receive</h3>
      {!complete ? (
        <p className="mt-2 text-text-2">
          {verdict === null ? 'Choose a verdict to see it.' : 'Type the provider’s reference to see it.'}
        </p>
      ) : !foreseen ? (
        <p className="mt-2 text-text-2">Working it out…</p>
      ) : 'failure' in foreseen ? (
        <p className="mt-2">It can’t be shown just now. {foreseen.failure}</p>
      ) : (
        <Effects subject={subject} verdict={verdict} preview={foreseen.preview} stale={foreseen.of !== of} />
      )}
    </div>
  )
}

interface EffectsProps {
  subject: Subject
  verdict: Verdict
  preview: Preview
  stale: boolean
}

const RUNS_AGAIN = {
  client: 'Nothing yet: the next request with this key runs it again, and calls the provider.',
  worker: 'The 202 that it got, until a worker has run it again.',
  nobody:
    'The 202 that it got. Its creation plus its retention is past: it is a dead letter until you have it run again.',
}

function Effects({ subject, verdict, preview, stale }: EffectsProps) {
  const { replay, runsAgain, refusal } = preview
  const after = replay?.status.split(' ')[1]
  return (
    <div className={stale ? 'opacity-60' : undefined}>
      {after && (
        <p className="mt-1 mb-2 flex items-center gap-2 text-text-2">
          <span>
            now <strong className="font-semibold text-text">{subject.nextStatus ?? 'not known'}</strong>
          </span>
          <ArrowRight size={14} aria-hidden />
          <span>
            after <strong className="font-semibold text-text">{after}</strong>
          </span>
        </p>
      )}
      {replay && (
        <div>
          <Wire wire={replay} label="Next replay" narrow />
          {after?.startsWith('2') && subject.noun === 'charge' && (
            <p className="mt-1 text-12 text-text-2">payment.id is drawn when it is stored.</p>
          )}
        </div>
      )}
      {runsAgain && <p className="mt-2">{RUNS_AGAIN[runsAgain]}</p>}
      {refusal && <p className="mt-3 rounded-2 bg-selected px-3 py-2">It would be refused now. {refusal}</p>}
      <h3 className="mt-5 mb-1 text-14 font-semibold">What else changes</h3>
      <dl className="grid grid-cols-[72px_minmax(0,1fr)] gap-x-3 gap-y-1.5">
        <Change name="Key">
          <StateMark state="unknown" />
          <ArrowRight size={14} aria-label="to" />
          <StateMark state={verdict === 'not_executed' ? 'failed_retryable' : 'completed'} />
        </Change>
        {preview.affected.map(({ type, id, from, to }) => (
          <Change key={id} name={type === 'order' ? 'Order' : 'Refund'}>
            {from === to ? (
              <span>
                stays <code>{from}</code>
              </span>
            ) : (
              <>
                <code>{from}</code>
                <ArrowRight size={14} aria-label="to" />
                <code>{to}</code>
              </>
            )}
          </Change>
        ))}
        <Change name="Ledger">{ledgerWords(subject, verdict)}</Change>
        <GivenBack preview={preview} subject={subject} />
        {preview.keptSeconds !== null && <KeptUntil seconds={preview.keptSeconds} />}
      </dl>
    </div>
  )
}

function ledgerWords({ amount, noun }: Subject, verdict: Verdict): string {
  if (verdict === 'not_executed') return 'nothing is booked'
  const of = amount ? ` of ${amount}` : ''
  return verdict === 'succeeded' ? `one ${noun}${of}` : `one failed ${noun}${of}`
}

function GivenBack({ preview, subject }: { preview: Preview; subject: Subject }) {
  const cents = preview.affected.find(({ givesBackCents }) => givesBackCents)?.givesBackCents
  const currency = subject.amount?.split(' ')[0]
  if (!cents || !currency) return null
  return <Change name="Held">{money(cents, currency)} of the order is free again</Change>
}

function KeptUntil({ seconds }: { seconds: number }) {
  const [until] = useState(() => new Date(Date.now() + seconds * 1000).toISOString())
  return (
    <Change name="Kept until">
      <span>
        <Instant at={until} seconds={false} />, {hoursWords(seconds)} from now
      </span>
    </Change>
  )
}

const hoursWords = (seconds: number): string =>
  seconds % 3600 === 0 ? `${count(seconds / 3600)} h` : duration(seconds)

function Change({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-text-2">{name}</dt>
      <dd className="flex min-w-0 flex-wrap items-center gap-2 [overflow-wrap:anywhere]">{children}</dd>
    </>
  )
}
