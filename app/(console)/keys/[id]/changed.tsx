'use client'
// That the key moved on under the reader's eyes is said, and stays said until it is read.
import { ArrowRight } from 'lucide-react'
import { useState } from 'react'
import type { State } from '../../../../lib/idempotency/states'
import { Button } from '../../../_ui/button'
import { StateMark } from '../../../_ui/state-mark'
import { Instant } from '../../../_ui/time'

interface ChangedProps {
  state: State
  version: number
  /** When the server answered. */
  at: string
}

export function Changed({ state, version, at }: ChangedProps) {
  const [read, setRead] = useState({ state, version })
  const [noticed, setNoticed] = useState({ version, at })
  if (noticed.version !== version) setNoticed({ version, at })
  return (
    <div role="status">
      {version !== read.version && (
        <p className="mb-3 flex flex-wrap items-center gap-x-2 gap-y-1 rounded-2 bg-selected px-3 py-1.5">
          <strong className="font-semibold">Changed since you opened it</strong>
          {state === read.state ? (
            <span>something was learned of it</span>
          ) : (
            <span className="flex flex-wrap items-center gap-2">
              <StateMark state={read.state} />
              <ArrowRight size={14} aria-label="to" />
              <StateMark state={state} />
            </span>
          )}
          <span className="text-text-2">
            seen <Instant at={noticed.at} />
          </span>
          <Button kind="quiet" className="ml-auto" onClick={() => setRead({ state, version })}>
            Dismiss
          </Button>
        </p>
      )}
    </div>
  )
}
