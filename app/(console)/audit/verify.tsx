'use client'
// Is the log what was written? The answer stands where it was asked for.
import { Check, OctagonAlert, ShieldCheck } from 'lucide-react'
import Link from 'next/link'
import { useState, useTransition } from 'react'
import type { Break, Verification } from '../../../lib/audit/verify'
import { Button } from '../../_ui/button'
import { Failure } from '../../_ui/section'
import { plural } from '../../_ui/words'
import type { Answer } from '../_shell/answer'
import { verifyChain } from './actions'

const BREAK_WORDS: Record<Break, string> = {
  changed: 'It is not what its hash was made of.',
  missing: 'It is missing.',
  inserted: 'It lies outside of what the chain has numbered.',
  not_chained: 'It was not written after the one before it.',
  cut_off: 'It and all that came after it are gone.',
  head_missing: 'Where the chain ends is not known any more, so nobody can tell whether it was there.',
}

export function Verify() {
  const [result, setResult] = useState<Answer<Verification> | null>(null)
  const [verifying, verify] = useTransition()
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line py-4">
      <p className="min-w-0 flex-1 basis-72 text-text-2">
        Each entry is chained to the one before it by its hash, so what was written can’t be changed unnoticed.
      </p>
      <Button onClick={() => verify(async () => setResult(await verifyChain()))} disabled={verifying}>
        <ShieldCheck size={14} aria-hidden />
        Verify the chain
      </Button>
      <div role="status" className="basis-full empty:hidden">
        {verifying ? (
          <p className="text-text-2">Every hash is computed again…</p>
        ) : (
          result && <Result result={result} />
        )}
      </div>
    </div>
  )
}

function Result({ result }: { result: Answer<Verification> }) {
  if (!result.ok) return <Failure>The chain was not verified. {result.message}</Failure>
  const { holds, entries, brokenAt, what, lastHash } = result.value
  if (holds)
    return (
      <div>
        <p className="flex items-center gap-2 font-medium">
          <Check size={14} aria-hidden />
          {plural(entries, 'entry', 'entries')}, the chain holds.
        </p>
        <p className="mt-1 pl-[22px] text-12 text-text-2">
          Last hash <code className="break-all whitespace-normal!">{lastHash}</code>. Note it elsewhere: a log that was
          rewritten to its end can only be told by that.
        </p>
      </div>
    )
  return (
    <div className="flex gap-2 rounded-2 border border-danger bg-danger-tint px-4 py-3">
      <OctagonAlert size={14} aria-hidden className="mt-[3px] shrink-0 text-danger" />
      <p>
        <strong className="font-semibold">The chain breaks at entry {brokenAt}.</strong> {what && BREAK_WORDS[what]}{' '}
        {entries > 0 &&
          `The ${plural(entries, 'entry', 'entries')} before it ${entries === 1 ? 'is' : 'are'} in order.`}{' '}
        {brokenAt !== null && <Link href={`/audit?from=${brokenAt}`}>Show where</Link>}
      </p>
    </div>
  )
}
