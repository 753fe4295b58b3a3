'use client'
// The three things that can have happened. One that is known not to have happened, or can't be known yet, is not
// offered, and says why.
import clsx from 'clsx'
import { type ReactNode, useId } from 'react'
import { Instant, useNow } from '../../../_ui/time'
import type { Subject } from './subject'

export type Verdict = 'succeeded' | 'declined' | 'not_executed'

interface VerdictFieldProps {
  subject: Subject
  value: Verdict | null
  onChange(verdict: Verdict): void
  error?: string
}

export function VerdictField({ subject, value, onChange, error }: VerdictFieldProps) {
  const id = useId()
  const now = useNow()
  const windowOpen = subject.settlesAt !== null && Date.parse(subject.settlesAt) > now
  const options = [charged(subject), declined(subject, windowOpen), notExecuted(subject, windowOpen)]
  return (
    <div>
      <p id={`${id}-name`} className="mb-1.5 text-13 font-medium">
        Verdict
      </p>
      <div role="radiogroup" aria-labelledby={`${id}-name`} className="rounded-2 border border-line-control">
        {options.map((option, i) => (
          <Option
            key={option.verdict}
            {...option}
            id={`${id}-${option.verdict}`}
            group={id}
            first={i === 0}
            checked={value === option.verdict}
            onChoose={() => onChange(option.verdict)}
          />
        ))}
      </div>
      {error && (
        <p role="alert" className="mt-1.5 text-12 text-danger">
          {error}
        </p>
      )}
    </div>
  )
}

interface Choice {
  verdict: Verdict
  name: string
  offered: boolean
  says: ReactNode
}

const charged = ({ noun }: Subject): Choice => ({
  verdict: 'succeeded',
  name: 'Charged',
  offered: true,
  says:
    noun === 'refund'
      ? 'The provider gave the money back. Needs its reference.'
      : 'The provider took the money. Needs its reference.',
})

function declined(subject: Subject, windowOpen: boolean): Choice {
  const choice = { verdict: 'declined', name: 'Declined' } as const
  if (subject.known?.verdict === 'succeeded')
    return { ...choice, offered: false, says: `Not offered: the provider has a ${subject.noun} for this key.` }
  if (windowOpen && subject.attempt > 1) return { ...choice, offered: false, says: <NotBefore subject={subject} /> }
  return { ...choice, offered: true, says: 'The provider refused. The client gets a 402.' }
}

function notExecuted(subject: Subject, windowOpen: boolean): Choice {
  const choice = { verdict: 'not_executed', name: 'Proven not executed' } as const
  if (subject.known?.verdict === 'succeeded')
    return { ...choice, offered: false, says: 'Not offered: the provider holds an object for this order.' }
  if (windowOpen) return { ...choice, offered: false, says: <NotBefore subject={subject} /> }
  return { ...choice, offered: true, says: 'Nothing was done. The request may be run again.' }
}

const NotBefore = ({ subject }: { subject: Subject }) => (
  <>
    Not offered before <Instant at={subject.settlesAt!} />: until then a call that was sent may still arrive.
  </>
)

interface OptionProps extends Choice {
  id: string
  group: string
  first: boolean
  checked: boolean
  onChoose(): void
}

function Option({ id, group, first, name, says, offered, checked, onChoose }: OptionProps) {
  return (
    <div
      className={clsx(
        'relative flex gap-3 px-3 py-2 first:rounded-t-[4px] last:rounded-b-[4px]',
        !first && 'border-t border-line-control',
        checked && 'bg-selected outline outline-ink',
      )}
    >
      <input
        type="radio"
        id={id}
        name={group}
        checked={checked}
        disabled={!offered}
        // biome-ignore lint/a11y/noAutofocus: a dialog begins where its first question is
        autoFocus={first}
        aria-describedby={`${id}-says`}
        onChange={onChoose}
        className="relative z-10 mt-1 size-3.5 shrink-0 accent-ink"
      />
      <div>
        {/* all of the row is the label's */}
        <label
          htmlFor={id}
          className={clsx(
            'font-medium after:absolute after:inset-0',
            offered ? 'cursor-pointer' : 'text-text-2 after:cursor-not-allowed',
          )}
        >
          {name}
        </label>
        <p id={`${id}-says`} className="text-12 text-text-2">
          {says}
        </p>
      </div>
    </div>
  )
}
