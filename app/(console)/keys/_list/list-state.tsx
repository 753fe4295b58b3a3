'use client'
// What the parts of the page share: where it goes, which columns it shows, which rows are selected, and what came in
// since. Everything else of the view is in the address.
import type { RowSelectionState } from '@tanstack/react-table'
import { useRouter } from 'next/navigation'
import { createContext, type ReactNode, use, useCallback, useMemo, useState, useTransition } from 'react'
import { type ColumnId, HIDDEN_COOKIE } from './column-names'

/** How the page stands to what is in the store: nothing new, so many rows more, or no answer. */
type News = { fresh: number; failed: boolean }

interface ListState {
  /** Opens another view, while this one stays until it is there. */
  go(href: string): void
  refresh(): void
  pending: boolean
  hidden: readonly ColumnId[]
  showColumn(id: ColumnId, shown: boolean): void
  selection: RowSelectionState
  select(next: RowSelectionState | ((before: RowSelectionState) => RowSelectionState)): void
  /** Not only the rows that are marked, but everything that the filter matches. */
  allMatching: boolean
  /** With the rows that are shown: taking one of them away leaves the others. */
  selectAllMatching(shown: readonly string[]): void
  clearSelection(): void
  news: News
  setNews(news: News): void
}

const Context = createContext<ListState | null>(null)

export function useList(): ListState {
  const state = use(Context)
  if (!state) throw new Error('useList outside of ListProvider')
  return state
}

interface ListProviderProps {
  /** Of the filter: a selection does not outlive what it was made from. */
  filterText: string
  hidden: readonly ColumnId[]
  children: ReactNode
}

const NONE: RowSelectionState = {}
const NO_NEWS: News = { fresh: 0, failed: false }

export function ListProvider({ filterText, hidden: given, children }: ListProviderProps) {
  const router = useRouter()
  const [pending, start] = useTransition()
  const [hidden, setHidden] = useState(given)
  const [selection, setSelection] = useState(NONE)
  const [allMatching, setAllMatching] = useState(false)
  const [news, setNews] = useState(NO_NEWS)
  const [of, setOf] = useState(filterText)
  if (of !== filterText) {
    setOf(filterText)
    setSelection(NONE)
    setAllMatching(false)
    setNews(NO_NEWS)
  }

  const select = useCallback((next: RowSelectionState | ((before: RowSelectionState) => RowSelectionState)) => {
    setAllMatching(false)
    setSelection(next)
  }, [])
  const clearSelection = useCallback(() => select(NONE), [select])

  const state = useMemo<ListState>(
    () => ({
      go: (href) => start(() => router.push(href, { scroll: false })),
      refresh: () => start(() => router.refresh()),
      pending,
      hidden,
      showColumn(id, shown) {
        const next = shown ? hidden.filter((one) => one !== id) : [...hidden, id]
        setHidden(next)
        // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not everywhere yet
        document.cookie = `${HIDDEN_COOKIE}=${next.join('.')}; path=/; max-age=31536000; samesite=lax`
      },
      selection,
      select,
      allMatching,
      selectAllMatching(shown) {
        setSelection((before) => ({ ...before, ...Object.fromEntries(shown.map((id) => [id, true as const])) }))
        setAllMatching(true)
      },
      clearSelection,
      news,
      setNews,
    }),
    [router, pending, hidden, selection, select, allMatching, clearSelection, news],
  )
  return <Context value={state}>{children}</Context>
}
