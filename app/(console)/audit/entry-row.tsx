'use client'
// One entry: a line, and behind it all that is known.
import clsx from 'clsx'
import { ChevronRight } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import { Td } from '../../_ui/table'

interface EntryRowProps {
  /** What a reader is told that the button opens. */
  label: string
  columns: number
  /** The cells of the line, after the one with the button. */
  line: ReactNode
  children: ReactNode
}

export function EntryRow({ label, columns, line, children }: EntryRowProps) {
  const [open, setOpen] = useState(false)
  const id = useId()
  return (
    <tbody className="max-wide:block">
      <tr className="max-wide:relative max-wide:grid max-wide:grid-cols-[minmax(0,1fr)_auto] max-wide:gap-x-3 max-wide:border-b max-wide:border-line max-wide:py-2 max-wide:pl-7">
        <Td className="w-7 py-0! max-wide:absolute max-wide:top-1.5 max-wide:left-0 max-wide:h-auto max-wide:border-0">
          <button
            type="button"
            aria-expanded={open}
            aria-controls={open ? id : undefined}
            aria-label={label}
            onClick={() => setOpen(!open)}
            className="flex size-6 cursor-pointer items-center justify-center rounded-1 text-text-2 hover:bg-hover hover:text-text"
          >
            <ChevronRight
              size={14}
              aria-hidden
              className={clsx('transition-transform duration-(--t-fast)', open && 'rotate-90')}
            />
          </button>
        </Td>
        {line}
      </tr>
      {open && (
        <tr id={id} className="max-wide:block">
          <td colSpan={columns} className="border-b border-line bg-sunken px-4 py-3 max-wide:block wide:pl-7">
            {children}
          </td>
        </tr>
      )}
    </tbody>
  )
}
