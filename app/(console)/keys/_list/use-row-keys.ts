'use client'
// The keyboard over the rows: j and k move a cursor, x selects, Enter opens. The cursor is the focus too, so readers
// hear where it is.
import type { RowSelectionState } from '@tanstack/react-table'
import { useRouter } from 'next/navigation'
import { type RefObject, useState } from 'react'
import { useList } from './list-state'
import { useShortcuts } from './use-shortcuts'

export function useRowKeys(
  body: RefObject<HTMLTableSectionElement | null>,
  select: (next: (before: RowSelectionState) => RowSelectionState) => void,
): string | null {
  const [cursor, setCursor] = useState<string | null>(null)
  const { clearSelection } = useList()
  const router = useRouter()

  const rows = (): HTMLTableRowElement[] => [...(body.current?.rows ?? [])]
  const idOf = (row: HTMLTableRowElement | undefined): string | null => row?.dataset.row ?? null

  function move(by: number) {
    const all = rows()
    const at = all.findIndex((row) => idOf(row) === cursor)
    const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))]
    setCursor(idOf(next))
    next?.querySelector<HTMLElement>('[data-row-link]')?.focus({ preventScroll: true })
    next?.scrollIntoView({ block: 'nearest' })
  }

  function toggle() {
    const id = rows().some((row) => idOf(row) === cursor) ? cursor : null
    if (!id) return
    select(({ [id]: was, ...others }) => (was ? others : { ...others, [id]: true }))
  }

  useShortcuts((event) => {
    switch (event.key) {
      case 'j':
        return move(1)
      case 'k':
        return move(-1)
      case 'x':
        return toggle()
      case 'Escape':
        return clearSelection()
      case 'Enter':
        // A link, a button or a box does what it does.
        if (cursor && !(event.target as HTMLElement).closest('a, button, input')) router.push(`/keys/${cursor}`)
    }
  })
  return cursor
}
