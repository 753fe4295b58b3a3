'use client'
// The search box: one line of text in which qualifiers look like what they are. The text is the input's own, so it can
// be copied, pasted and edited like any; what lies behind it draws the words.
import clsx from 'clsx'
import { Search } from 'lucide-react'
import { useId, useRef } from 'react'
import type { SearchIssue } from '../../../../lib/console/search-text'
import { CompletionList } from './completion-list'
import { HINT, Mirror } from './search-mirror'
import { useSearchText } from './use-search-text'
import type { View } from './view'

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
  const box = useSearchText(input, view, searched, given)
  const { text, issue, caret, completion } = box
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
            onChange={({ target }) => box.change(target.value, target.selectionStart ?? target.value.length)}
            onSelect={({ currentTarget }) => box.setCaret(currentTarget.selectionStart)}
            onBlur={() => {
              box.setCaret(null)
              completion.close()
            }}
            onScroll={({ currentTarget }) => {
              if (mirror.current) mirror.current.scrollLeft = currentTarget.scrollLeft
            }}
            onKeyDown={box.keyDown}
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
          onAccept={box.accept}
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
