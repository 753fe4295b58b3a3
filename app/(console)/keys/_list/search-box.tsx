'use client'
// The search box: one line of text in which qualifiers look like what they are. The text is the input's own, so it can
// be copied, pasted and edited like any; what lies behind it draws the words. Nothing that was typed is ever lost: what
// can't be read is said below, and stays.
import clsx from 'clsx'
import { Search } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, type Ref, useEffect, useId, useRef, useState } from 'react'
import { parseSearch, type SearchIssue, type Token, tokensOf } from '../../../../lib/console/search-text'
import { CompletionList } from './completion-list'
import type { Completion } from './completions'
import { FOCUS_SEARCH } from './events'
import { useList } from './list-state'
import { useCompletions } from './use-completions'
import { firstPage, hrefOf, type View } from './view'

const HINT = 'Key, record, order, provider reference or request id'

interface SearchBoxProps {
  view: View
  /** What was searched for. */
  text: string
  issue: SearchIssue | null
}

export function SearchBox({ view, text: searched, issue: given }: SearchBoxProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const mirror = useRef<HTMLDivElement>(null)
  const { go } = useList()
  const [text, setText] = useState(searched)
  const [shown, setShown] = useState(searched)
  const [issue, setIssue] = useState(given)
  const [caret, setCaret] = useState<number | null>(null)
  const completion = useCompletions(text, caret)

  // Another view has been opened: by a tab, a link, or the browser's own way back.
  if (shown !== searched) {
    setShown(searched)
    setText(searched)
    setIssue(given)
  }

  useEffect(() => {
    const focus = () => {
      input.current?.focus()
      const end = input.current?.value.length ?? 0
      input.current?.setSelectionRange(end, end)
    }
    document.addEventListener(FOCUS_SEARCH, focus)
    return () => document.removeEventListener(FOCUS_SEARCH, focus)
  }, [])

  function write(next: string, at: number) {
    setText(next)
    setIssue(null)
    setCaret(at)
    requestAnimationFrame(() => input.current?.setSelectionRange(at, at))
  }

  function accept({ text: word, open }: Completion) {
    const { start, end } = completion.word ?? { start: text.length, end: text.length }
    const rest = text.slice(end).trimStart()
    const put = `${text.slice(0, start)}${word}${open ? '' : ' '}`
    write(put + rest, put.length)
    if (!open) completion.close()
  }

  function search() {
    completion.close()
    const parsed = parseSearch(text)
    if (!parsed.ok) return setIssue(parsed.issue)
    setIssue(null)
    go(hrefOf({ ...firstPage(view), filter: parsed.filter }))
  }

  /** The last word as a whole, once it is done: behind its space, or when it has been searched for. */
  function removeLastToken(): boolean {
    const last = tokensOf(text).at(-1)
    const at = input.current
    if (!last?.name || !at || at.selectionStart !== text.length || at.selectionEnd !== text.length) return false
    if (!/\s$/.test(text) && text !== searched) return false
    const rest = text.slice(0, last.start)
    write(rest, rest.length)
    return true
  }

  function keyDown(event: KeyboardEvent<HTMLInputElement>) {
    if (event.nativeEvent.isComposing || event.ctrlKey || event.metaKey || event.altKey) return
    const done = completion.keyDown(event.key, event.shiftKey)
    if (done !== 'ignored') {
      event.preventDefault()
      if (done !== 'handled') accept(done.accept)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      search()
    } else if (event.key === 'Escape') input.current?.blur()
    else if (event.key === 'Backspace' && removeLastToken()) event.preventDefault()
  }

  /** What was searched for is a word of its own: what is typed behind it begins another. */
  function change(next: string, at: number) {
    const added = next.length === text.length + 1 && next.startsWith(text) && !/\s$/.test(next)
    const behindToken = added && text === searched && tokensOf(text).at(-1)?.name
    if (behindToken) write(`${text} ${next.at(-1)}`, next.length + 1)
    else {
      setText(next)
      setIssue(null)
      setCaret(at)
    }
    completion.open()
  }

  return (
    <search className="relative block px-(--gutter) pt-3.5">
      <div
        className={clsx(
          'flex h-9 items-center gap-2 rounded-2 border bg-bg px-2.5 has-[input:focus]:outline-2 has-[input:focus]:outline-ink has-[input:focus]:-outline-offset-1',
          issue ? 'border-danger' : 'border-line-control',
        )}
      >
        <Search size={14} aria-hidden className="shrink-0 text-text-2" />
        <div className="relative h-full min-w-0 flex-1">
          <Mirror ref={mirror} text={text} caret={caret} word={completion.word} issue={issue} />
          <input
            ref={input}
            role="combobox"
            aria-label="Search keys"
            aria-autocomplete="list"
            aria-expanded={completion.isOpen}
            aria-controls={`${id}-list`}
            aria-activedescendant={completion.active >= 0 ? `${id}-${completion.active}` : undefined}
            aria-invalid={issue ? true : undefined}
            aria-describedby={issue ? `${id}-issue` : undefined}
            placeholder={HINT}
            value={text}
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            enterKeyHint="search"
            className="absolute inset-0 w-full bg-transparent px-1 font-mono text-12 [word-spacing:7px] text-transparent caret-text outline-none selection:text-text placeholder:font-sans placeholder:text-13 placeholder:[word-spacing:normal] placeholder:text-text-3"
            onChange={({ target }) => change(target.value, target.selectionStart ?? target.value.length)}
            onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart)}
            onBlur={() => {
              setCaret(null)
              completion.close()
            }}
            onScroll={({ currentTarget }) => {
              if (mirror.current) mirror.current.scrollLeft = currentTarget.scrollLeft
            }}
            onKeyDown={keyDown}
          />
        </div>
        <kbd
          aria-hidden
          className="hidden shrink-0 rounded-1 border border-line-strong px-1.5 font-sans text-11 text-text-2 wide:block"
        >
          /
        </kbd>
      </div>
      {completion.isOpen && (
        <CompletionList
          id={id}
          mirror={mirror}
          typed={completion.word?.value ?? ''}
          onAccept={accept}
          {...completion}
        />
      )}
      {issue && (
        <p id={`${id}-issue`} role="alert" className="pt-1.5 text-12 text-danger">
          {issue.message}
        </p>
      )}
    </search>
  )
}

interface MirrorProps {
  ref: Ref<HTMLDivElement>
  text: string
  caret: number | null
  word: Token | null
  issue: SearchIssue | null
}

/** The same text in the same place, drawn. A word under the caret is still being typed, and is no token yet. */
function Mirror({ ref, text, caret, word, issue }: MirrorProps) {
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
