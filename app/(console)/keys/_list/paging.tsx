'use client'
// The foot of the list: how many match, in which zone the times are, and the way to the pages before and after.
import Link from 'next/link'
import { Suspense, use } from 'react'
import { Button } from '../../../_ui/button'
import { ZoneSwitch } from '../../../_ui/zone'
import { type Matches, matchWords } from './matches'
import { hrefOf, isFiltered, SORT_WORDS, type View } from './view'

interface PagingProps {
  view: View
  /** Where the pages before and after begin. */
  previous: string | null
  next: string | null
  matches: Promise<Matches | null>
}

export function Paging({ view, previous, next, matches }: PagingProps) {
  const before = previous && hrefOf({ ...view, before: previous, after: null })
  const after = next && hrefOf({ ...view, after: next, before: null })
  // From the oldest on, what comes before is older.
  const [back, on] = view.sort === 'createdAt' ? ['Older', 'Newer'] : ['Newer', 'Older']
  return (
    <footer className="flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line bg-bg px-(--gutter) py-2 max-wide:mt-auto">
      <p className="min-w-0 flex-1 text-12 text-text-2 max-wide:basis-full">
        <Suspense fallback="Counting.">
          <Count matches={matches} filtered={isFiltered(view)} />
        </Suspense>{' '}
        {SORT_WORDS[view.sort]}.
      </p>
      <span className="text-12 text-text-2 max-wide:hidden">Times in</span>
      <ZoneSwitch />
      <nav aria-label="Pages" className="flex gap-2">
        <PageLink href={before}>{back}</PageLink>
        <PageLink href={after}>{on}</PageLink>
      </nav>
    </footer>
  )
}

function Count({ matches, filtered }: { matches: Promise<Matches | null>; filtered: boolean }) {
  const found = use(matches)
  return found ? matchWords(found, filtered) : 'How many match can’t be told now.'
}

function PageLink({ href, children }: { href: string | null; children: string }) {
  if (!href) return <Button disabled>{children}</Button>
  return (
    <Button asChild>
      <Link href={href} prefetch={false}>
        {children}
      </Link>
    </Button>
  )
}
