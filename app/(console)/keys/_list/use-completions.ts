'use client'
// The state of the list below the search box: what it offers, which of it is meant, and what a key does with it.
import { useEffect, useRef, useState } from 'react'
import type { Token } from '../../../../lib/console/search-text'
import type { Suggested } from '../../../../lib/console/suggest-values'
import { type Completion, completionsOf, wanted, withoutWord, wordAt } from './completions'
import { suggest } from './suggest'

const TYPING_PAUSE_MS = 120

export interface Completions {
  word: Token | null
  offered: Completion[]
  isOpen: boolean
  /** The one that the arrows chose; -1 while they have not. */
  active: number
  open(): void
  close(): void
  keyDown(key: string, shift: boolean): 'ignored' | 'handled' | { accept: Completion }
}

export function useCompletions(text: string, caret: number | null): Completions {
  const [stored, setStored] = useState<{ of: string; values: Suggested[] }>({ of: '', values: [] })
  const [isOpened, setOpened] = useState(false)
  const [chosen, setChosen] = useState<{ of: string; active: number }>({ of: '', active: -1 })
  const latest = useRef('')

  const word = caret === null ? null : wordAt(text, caret)
  const asked = wanted(word)
  const rest = word ? withoutWord(text, word) : text
  const question = asked && isOpened ? JSON.stringify({ ...asked, rest }) : ''
  useEffect(() => {
    latest.current = question
    if (question === '') return
    const timer = setTimeout(async () => {
      const values = await suggest(JSON.parse(question)).catch(() => [])
      // An answer to what is not asked any more is none.
      if (latest.current === question) setStored({ of: question, values })
    }, TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [question])

  // Until the answer is there, the one before is better than an empty list that jumps.
  const offered = completionsOf(word, asked ? stored.values : [])
  const isOpen = isOpened && offered.length > 0
  const active = chosen.of === text && isOpen ? Math.min(chosen.active, offered.length - 1) : -1
  const choose = (index: number) => setChosen({ of: text, active: index })

  return {
    word,
    offered,
    isOpen,
    active,
    open: () => setOpened(true),
    close: () => setOpened(false),
    keyDown(key, shift) {
      if (!isOpen) {
        if (key !== 'ArrowDown') return 'ignored'
        setOpened(true)
        return 'handled'
      }
      if (key === 'ArrowDown') choose((active + 1) % offered.length)
      else if (key === 'ArrowUp') choose(active <= 0 ? offered.length - 1 : active - 1)
      else if (key === 'Escape') setOpened(false)
      else if (key === 'Tab' && !shift) return { accept: offered[Math.max(active, 0)]! }
      else if (key === 'Enter' && active >= 0) return { accept: offered[active]! }
      else return 'ignored'
      return 'handled'
    },
  }
}
