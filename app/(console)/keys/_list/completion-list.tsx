'use client'
// What may be typed next, below the word that it completes.
import clsx from 'clsx'
import { type RefObject, useLayoutEffect, useState } from 'react'
import { type Completion, otherQualifiers } from './completions'

interface CompletionListProps {
  id: string
  mirror: RefObject<HTMLDivElement | null>
  typed: string
  offered: readonly Completion[]
  active: number
  onAccept(completion: Completion): void
}

const key = 'rounded-1 border border-line-strong px-1 font-sans text-11 text-text-2'

export function CompletionList({ id, mirror, typed, offered, active, onAccept }: CompletionListProps) {
  const left = useWordLeft(mirror, offered)
  return (
    <div
      className="absolute top-[calc(100%+4px)] z-30 w-[min(440px,calc(100vw-32px))] rounded-3 border border-line-strong bg-raised p-1 shadow-2"
      style={{ left: `min(calc(var(--gutter) + ${left}px), calc(100% - min(440px, 100vw - 32px) - 16px))` }}
    >
      <div role="listbox" id={`${id}-list`} aria-label="What may be typed next">
        {offered.map((completion, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: as above
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the input's
          <div
            key={completion.text}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            className={clsx(
              'flex min-h-[29px] cursor-pointer items-center gap-3 rounded-2 px-2.5 hover:bg-hover',
              index === Math.max(active, 0) && 'bg-selected',
            )}
            // The input keeps its focus.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onAccept(completion)}
          >
            <span className="w-40 shrink-0 truncate font-mono text-12">
              <Marked text={completion.text} typed={typed} />
            </span>
            <span className="min-w-0 flex-1 truncate text-text-2">{completion.about}</span>
            {index === Math.max(active, 0) && (
              <kbd aria-hidden className={key}>
                Tab
              </kbd>
            )}
          </div>
        ))}
      </div>
      <div className="mt-1 flex items-center gap-2 border-t border-line px-2.5 pt-1.5 pb-0.5 text-12 text-text-2">
        <span className="min-w-0 flex-1 truncate">Also: {otherQualifiers(offered).join(', ')}</span>
        <kbd aria-hidden className={key}>
          Enter
        </kbd>
        search
      </div>
    </div>
  )
}

/** What has been typed of it stands out. */
function Marked({ text, typed }: { text: string; typed: string }) {
  const at = typed ? text.toLowerCase().indexOf(typed.toLowerCase()) : -1
  if (at < 0) return text
  return (
    <>
      {text.slice(0, at)}
      <strong className="font-semibold">{text.slice(at, at + typed.length)}</strong>
      {text.slice(at + typed.length)}
    </>
  )
}

/** Where the word begins, from the left edge of the box. */
function useWordLeft(mirror: RefObject<HTMLDivElement | null>, offered: readonly Completion[]): number {
  const [left, setLeft] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the word moves with what is offered for it
  useLayoutEffect(() => {
    const word = mirror.current?.querySelector<HTMLElement>('[data-word]')
    if (word && mirror.current) setLeft(Math.max(0, word.offsetLeft - mirror.current.scrollLeft + 20))
  }, [mirror, offered])
  return left
}
