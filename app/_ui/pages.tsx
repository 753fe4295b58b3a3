// The foot of a list that is read page by page: on to what is older, or back to the newest. Where one came from is the
// browser's business.
import Link from 'next/link'
import type { ReactNode } from 'react'
import { Button } from './button'

interface PagesProps {
  /** What is shown, in words. */
  children: ReactNode
  /** Null on the last page. */
  older: string | null
  /** Null on the first page. */
  newest: string | null
  words?: { older: string; newest: string }
}

const IN_TIME = { older: 'Older', newest: 'Newest' }

export function Pages({ children, older, newest, words = IN_TIME }: PagesProps) {
  return (
    <div className="flex flex-wrap items-center gap-3 py-3 text-text-2">
      <p className="min-w-0 flex-1">{children}</p>
      <nav aria-label="Pages" className="flex gap-2">
        {newest ? (
          <Button asChild>
            <Link href={newest}>{words.newest}</Link>
          </Button>
        ) : (
          <Button disabled>{words.newest}</Button>
        )}
        {older ? (
          <Button asChild>
            <Link href={older}>{words.older}</Link>
          </Button>
        ) : (
          <Button disabled>{words.older}</Button>
        )}
      </nav>
    </div>
  )
}
