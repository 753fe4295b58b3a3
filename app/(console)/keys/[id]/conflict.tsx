'use client'
// Somebody else was faster. What they did is shown where the decision is made, and all that was typed stays.
import { ArrowRight } from 'lucide-react'
import type { State } from '../../../../lib/idempotency/states'
import { Button } from '../../../_ui/button'
import { LOOKS } from '../../../_ui/state'
import { StateMark } from '../../../_ui/state-mark'
import { Instant } from '../../../_ui/time'
import type { WhatChanged } from './actions'
import { Sentence } from './sentence'

interface ConflictProps {
  from: { state: State; version: number }
  changed: WhatChanged
  /** The states in which the decision can still be made. */
  wanted: State | readonly State[]
  onGoOn(): void
}

export function Conflict({ from, changed, wanted, onGoOn }: ConflictProps) {
  const { state, version } = changed.record
  const possible = [wanted].flat().includes(state)
  return (
    <div role="alert" className="border-b border-danger bg-danger-tint px-5 py-3">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <strong className="font-semibold">Changed since you loaded it.</strong>
        <span>
          Version {from.version} is {version} now
        </span>
        {state !== from.state && (
          <span className="flex flex-wrap items-center gap-2">
            <StateMark state={from.state} />
            <ArrowRight size={14} aria-label="to" />
            <StateMark state={state} />
          </span>
        )}
      </p>
      <ul className="mt-1.5 grid list-none gap-1">
        {changed.happened.map(({ at, words }) => (
          <li key={`${at} ${words.title}`} className="[overflow-wrap:anywhere]">
            <span className="text-text-2">
              <Instant at={at} />
            </span>{' '}
            <strong className="font-semibold">{words.title}</strong>{' '}
            <span className="text-text-2">
              <Sentence parts={words.rest} />
            </span>
          </li>
        ))}
      </ul>
      <p className="mt-2 flex flex-wrap items-center gap-3">
        <span className="min-w-0 flex-1">
          {possible
            ? 'Nothing was done, and what you typed is still here.'
            : `Nothing was done. It is ${LOOKS[state].word.toLowerCase()} now, so there is nothing left to decide.`}
        </span>
        {possible && <Button onClick={onGoOn}>Go on with version {version}</Button>}
      </p>
    </div>
  )
}
