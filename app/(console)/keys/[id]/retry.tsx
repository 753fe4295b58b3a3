'use client'
// What a client that retries right now would get, and the line that does so.
import { useState } from 'react'
import type { NextReplay } from '../../../../lib/console/next-replay'
import type { Input } from '../../../../lib/idempotency/operation'
import { CopyButton } from '../../../_ui/copy-button'
import { Segmented } from '../../../_ui/segmented'
import { curlOf } from './_words/curl'
import { ownWordsIn, unmaskBody } from './_words/own-words'
import type { WireText } from './_words/wire'
import { useLearned } from './key-context'
import { Wire } from './wire'

interface RetryProps {
  kind: NextReplay['kind']
  wire: WireText | null
  /** Of the client's request; null once it is erased. */
  curl: { origin: string; endpoint: string; quotedKey: string; request: Input } | null
}

const WITHOUT_ANSWER = {
  runs: 'It runs. Nothing was executed so far, so the next request claims the key and calls the provider: what it gets is not known before that.',
  settles:
    'The outcome. There is evidence of it, and the next request settles the key with that first: what it gets is not stored yet.',
}

export function Retry({ kind, wire, curl }: RetryProps) {
  const [asSent, setAsSent] = useState(false)
  return (
    <section aria-label="What a retry would get now" className="min-w-0">
      <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="text-14 font-semibold">What a retry would get now</h2>
        <div className="ml-auto flex flex-wrap items-center gap-2">
          {wire && (
            <Segmented
              label="Body"
              value={asSent ? 'sent' : 'formatted'}
              onChange={(value) => setAsSent(value === 'sent')}
              options={[
                { value: 'formatted', label: 'Formatted' },
                { value: 'sent', label: 'As sent' },
              ]}
            />
          )}
          {curl && <Curl curl={curl} />}
        </div>
      </div>
      {wire ? (
        <NextAnswer wire={wire} asSent={asSent} />
      ) : (
        <p className="rounded-2 border border-line bg-sunken px-3.5 py-3">
          {WITHOUT_ANSWER[kind === 'settles' ? 'settles' : 'runs']}
        </p>
      )}
      {!curl && <p className="mt-2 text-12 text-text-2">No curl line: the request of this key has been erased.</p>}
    </section>
  )
}

function NextAnswer({ wire, asSent }: { wire: WireText; asSent: boolean }) {
  const [{ request }] = useLearned()
  const masked = request ? [] : ownWordsIn(wire.body)
  return (
    <>
      <Wire
        wire={request ? { ...wire, body: unmaskBody(wire.body, request) } : wire}
        label="Next answer"
        asSent={asSent}
      />
      {masked.length > 0 && (
        <p className="mt-1 text-12 text-text-2">
          Exactly this, but for <code>{masked.join(', ')}</code>: masked here.
        </p>
      )}
    </>
  )
}

function Curl({ curl }: { curl: NonNullable<RetryProps['curl']> }) {
  const [{ request }] = useLearned()
  const line = curlOf({ ...curl, request: request ?? curl.request, unmasked: request !== null })
  return <CopyButton text={line} label="Copy as curl" />
}
