'use client'
// The text of the search box while it is edited. It is the reader's until they search; what can't be read stays, with
// what is wrong with it.
import { type KeyboardEvent, type RefObject, useEffect, useState } from 'react'
import { parseSearch, printSearch, type SearchIssue, tokensOf } from '../../../../lib/console/search-text'
import type { Completion } from './completions'
import { FOCUS_SEARCH } from './events'
import { useList } from './list-state'
import { type Completions, useCompletions } from './use-completions'
import { firstPage, hrefOf, type View } from './view'

export interface SearchText {
  text: string
  issue: SearchIssue | null
  /** Null while the focus is elsewhere. */
  caret: number | null
  completion: Completions
  setCaret(at: number | null): void
  change(next: string, at: number): void
  accept(completion: Completion): void
  keyDown(event: KeyboardEvent<HTMLInputElement>): void
}

/** The last search: what was typed, and how its view prints it. */
interface Asked {
  typed: string
  searched: string
}

export function useSearchText(
  input: RefObject<HTMLInputElement | null>,
  view: View,
  searched: string,
  given: SearchIssue | null,
): SearchText {
  const { go } = useList()
  const [text, setText] = useState(searched)
  const [shown, setShown] = useState(searched)
  const [issue, setIssue] = useState(given)
  const [caret, setCaret] = useState<number | null>(null)
  const [asked, setAsked] = useState<Asked | null>(null)
  const completion = useCompletions(text, caret)
  useFocus(input)

  // Another view has been opened: by a search, a tab, a link, or the browser's own way back. One that arrives while the
  // reader has gone on typing does not take that from them.
  if (shown !== searched) {
    const isTyping = caret !== null && text !== shown
    const isAsked = text === asked?.typed && searched === asked.searched
    setShown(searched)
    if (!isTyping || isAsked) {
      setText(searched)
      setIssue(given)
    }
  }

  function edit(next: string, at: number) {
    setText(next)
    setIssue(null)
    setCaret(at)
  }

  /** What the reader did not type themselves: the caret has to be put where it belongs. */
  function write(next: string, at: number) {
    edit(next, at)
    requestAnimationFrame(() => input.current?.setSelectionRange(at, at))
  }

  function accept({ text: word, open }: Completion) {
    const { start, end } = completion.word ?? { start: text.length, end: text.length }
    const put = `${text.slice(0, start)}${word}${open ? '' : ' '}`
    write(put + text.slice(end).trimStart(), put.length)
    if (!open) completion.close()
  }

  function search() {
    completion.close()
    const parsed = parseSearch(text)
    setIssue(parsed.ok ? null : parsed.issue)
    if (!parsed.ok) return
    setAsked({ typed: text, searched: printSearch(parsed.filter) })
    go(hrefOf({ ...firstPage(view), filter: parsed.filter }))
  }

  /** The last word as a whole, once it is done: behind its space, or when it has been searched for. */
  function removeLastToken(): boolean {
    const last = tokensOf(text).at(-1)
    const { selectionStart, selectionEnd } = input.current ?? {}
    if (!last?.name || selectionStart !== text.length || selectionEnd !== text.length) return false
    if (!/\s$/.test(text) && text !== searched) return false
    write(text.slice(0, last.start), last.start)
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
    else edit(next, at)
    completion.open()
  }

  return { text, issue, caret, completion, setCaret, change, accept, keyDown }
}

function useFocus(input: RefObject<HTMLInputElement | null>) {
  useEffect(() => {
    const focus = () => {
      const end = input.current?.value.length ?? 0
      input.current?.focus()
      input.current?.setSelectionRange(end, end)
    }
    document.addEventListener(FOCUS_SEARCH, focus)
    return () => document.removeEventListener(FOCUS_SEARCH, focus)
  }, [input])
}
