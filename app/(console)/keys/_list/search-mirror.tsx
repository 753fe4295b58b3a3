'use client'
// The search box's own text in the same place, drawn: a qualifier and its value look like one thing. The input above it
// is transparent, and has the caret and the selection.
import clsx from 'clsx'
import type { ReactNode, Ref } from 'react'
import { type SearchIssue, type Token, tokensOf } from '../../../../lib/console/search-text'

export const HINT = 'Key, record, order, provider reference or request id'

interface MirrorProps {
  ref: Ref<HTMLDivElement>
  text: string
  caret: number | null
  word: Token | null
  issue: SearchIssue | null
}

/** A word under the caret is still being typed, and is no token yet. */
export function Mirror({ ref, text, caret, word, issue }: MirrorProps) {
  const pieces: ReactNode[] = []
  let at = 0
  for (const token of tokensOf(text)) {
    const { start, end, name, valueStart } = token
    pieces.push(text.slice(at, start))
    const typing = caret !== null && start < caret && caret <= end
    const wrong = issue !== null && issue.start <= start && end <= issue.end
    pieces.push(
      <span
        key={start}
        data-word={word?.start === start || undefined}
        className={clsx(
          name && !typing && 'rounded-1 bg-selected py-0.5 shadow-[0_0_0_4px_var(--bg-selected)]',
          wrong && 'underline decoration-danger decoration-wavy underline-offset-4',
        )}
      >
        {name && <span className="text-text-2">{text.slice(start, valueStart)}</span>}
        {text.slice(name ? valueStart : start, end)}
      </span>,
    )
    at = end
  }
  pieces.push(text.slice(at))
  return (
    <div
      ref={ref}
      aria-hidden
      className="pointer-events-none absolute inset-0 overflow-hidden px-1 font-mono text-12 leading-[34px] [word-spacing:7px] whitespace-pre"
    >
      {pieces}
      {text !== '' && caret === null && (
        <span className="pl-3 font-sans text-13 [word-spacing:normal] text-text-3 max-wide:hidden">{HINT}</span>
      )}
    </div>
  )
}
