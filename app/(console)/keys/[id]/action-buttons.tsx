'use client'
// What can be done about the key. What can't stays in its place, with the sentence why.
import { useRouter } from 'next/navigation'
import { type ReactNode, useState, useTransition } from 'react'
import type { Seen } from '../../../../lib/console/key-story-evidence'
import type { State } from '../../../../lib/idempotency/states'
import type { ReconciledKey } from '../../../../lib/reconciliation/reconcile-key'
import { Button } from '../../../_ui/button'
import { Failure } from '../../../_ui/section'
import { LOOKS } from '../../../_ui/state'
import { Instant } from '../../../_ui/time'
import { money } from '../../../_ui/words'
import type { Offer, Offers } from './_words/offers'
import { askProvider } from './actions'
import { DecisionDialog, type DecisionName } from './decision-dialog'
import { useLearned } from './key-context'
import { ResolveDialog } from './resolve-dialog'
import type { Subject } from './subject'

interface ActionButtonsProps {
  offers: Offers
  subject: Subject
}

export function ActionButtons({ offers, subject }: ActionButtonsProps) {
  const [open, setOpen] = useState<'resolve' | DecisionName | null>(null)
  return (
    <section aria-label="Actions" className="min-w-0">
      <h2 className="mb-2 text-14 font-semibold">Actions</h2>
      <Ask offer={offers.ask} subject={subject} />
      <Action offer={offers.resolve} name="Resolve…" primary onClick={() => setOpen('resolve')} />
      <Action offer={offers.runAgain} name="Run again…" onClick={() => setOpen('runAgain')} />
      <Action offer={offers.resume} name="Resume…" onClick={() => setOpen('resume')} />
      <Action offer={offers.expire} name="Expire…" onClick={() => setOpen('expire')} />
      {offers.reverse && <Action offer={offers.reverse} name="Reverse…" onClick={() => setOpen('reverse')} />}
      <ResolveDialog open={open === 'resolve'} onClose={() => setOpen(null)} subject={subject} />
      <DecisionDialog decision={open === 'resolve' ? null : open} onClose={() => setOpen(null)} subject={subject} />
    </section>
  )
}

interface ActionProps {
  offer: Offer
  name: string
  primary?: boolean
  busy?: boolean
  onClick(): void
  children?: ReactNode
}

function Action({ offer, name, primary = false, busy = false, onClick, children }: ActionProps) {
  const why = `why-${name.replace(/\W/g, '').toLowerCase()}`
  return (
    <div className="border-b border-line py-2.5 last:border-b-0">
      <div className="grid grid-cols-[124px_minmax(0,1fr)] items-center gap-3">
        <Button
          kind={primary && offer.offered ? 'primary' : 'plain'}
          className="self-start"
          aria-disabled={!offer.offered || busy || undefined}
          aria-describedby={why}
          onClick={() => offer.offered && !busy && onClick()}
        >
          {name}
        </Button>
        <p id={why} className="text-12 text-text-2">
          {offer.sentence}
        </p>
      </div>
      {children}
    </div>
  )
}

/** What it said, when, and what the key was before. */
type Told = ReconciledKey & { at: string; was: State }

function Ask({ offer, subject }: { offer: Offer; subject: Subject }) {
  const router = useRouter()
  const [asking, start] = useTransition()
  const [, setLearned] = useLearned()
  const [said, setSaid] = useState<Told | null>(null)
  const [failure, setFailure] = useState<string | null>(null)

  function ask() {
    setFailure(null)
    start(async () => {
      const answer = await askProvider(subject.id)
      if (!answer.ok) return setFailure(answer.message)
      setSaid({ ...answer.value, was: subject.state })
      setLearned((before) => ({ ...before, seen: seenNow(answer.value) }))
      router.refresh()
    })
  }

  return (
    <Action offer={offer} name="Ask the provider" busy={asking} onClick={ask}>
      <div role="status" className="text-12">
        {asking && <p className="mt-2 text-text-2">Asking the provider…</p>}
        {!asking && said && <Said said={said} />}
      </div>
      {failure && (
        <div className="mt-2">
          <Failure>{failure}</Failure>
        </div>
      )}
    </Action>
  )
}

const seenNow = ({ at, verdict, ref, object }: ReconciledKey & { at: string }): Seen => ({
  at,
  source: 'look_up',
  verdict,
  ref,
  object,
})

const FOUND: Record<ReconciledKey['verdict'], string> = {
  succeeded: 'The provider has it',
  declined: 'The provider declined it',
  not_found: 'The provider has nothing for this key.',
  pending: 'The provider has it and has not decided.',
  unreachable: 'The provider could not be reached.',
  unfinished: 'Nothing so far, and the provider’s list is not read to its end. The next look-up continues it.',
}

function Said({ said: { verdict, ref, object, state, at, was } }: { said: Told }) {
  return (
    <p className="mt-2 rounded-2 bg-selected px-3 py-2 [overflow-wrap:anywhere]">
      <Instant at={at} /> <strong className="font-semibold">{FOUND[verdict]}</strong>
      {ref && (
        <>
          {': '}
          <code className="!whitespace-normal">{ref}</code>
          {object && `, ${money(object.amountCents, object.currency)}`}.
        </>
      )}{' '}
      {state !== was ? `The key is ${LOOKS[state].word.toLowerCase()} now.` : 'The key stays as it is.'}
    </p>
  )
}
