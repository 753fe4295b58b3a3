'use client'
// The heads of the columns, and where each cell stands: a column of its own, or a place in three lines.
import clsx from 'clsx'
import { ArrowDown, ArrowUp } from 'lucide-react'
import Link from 'next/link'
import { COLUMN_SORTS, COLUMN_WORDS, type ColumnId, LEASE_SORT } from './column-names'
import { firstPage, hrefOf, NEWEST_FIRST, type View } from './view'

export const HEAD_LOOKS = 'h-8 border-b border-line-strong text-12 font-medium whitespace-nowrap text-text-2'

const NUMBERS: readonly ColumnId[] = ['amount', 'age', 'next', 'replays']

const cell = 'wide:px-2 wide:align-middle wide:last:pr-(--gutter)'
const number = clsx(cell, 'whitespace-nowrap wide:text-right')

export const CELL_LOOKS: Record<ColumnId, string> = {
  state: clsx(cell, '*:align-middle max-wide:col-start-2 max-wide:row-start-2 max-wide:text-12'),
  key: clsx(
    cell,
    'max-w-0 min-w-40 wide:w-[30%] max-wide:col-span-3 max-wide:col-start-2 max-wide:row-start-1 max-wide:max-w-none max-wide:min-w-0',
  ),
  tenant: clsx(cell, 'max-w-32 max-wide:col-start-3 max-wide:row-start-2 max-wide:text-12'),
  endpoint: clsx(cell, 'max-wide:hidden'),
  order: clsx(cell, 'whitespace-nowrap max-wide:hidden'),
  amount: clsx(number, 'max-wide:col-start-5 max-wide:row-start-1 max-wide:text-right'),
  age: clsx(
    number,
    'max-wide:col-span-3 max-wide:col-start-2 max-wide:row-start-3 max-wide:text-12 max-wide:text-text-2',
  ),
  error: clsx(
    cell,
    'max-w-42 max-wide:col-span-2 max-wide:col-start-4 max-wide:row-start-2 max-wide:max-w-none max-wide:min-w-0',
  ),
  next: clsx(
    number,
    'max-wide:col-span-2 max-wide:col-start-4 max-wide:row-start-3 max-wide:text-right max-wide:text-12',
  ),
  replays: clsx(number, 'max-wide:hidden'),
}

interface HeadProps {
  id: ColumnId
  view: View
  currency: string | null
}

export function Head({ id, view, currency }: HeadProps) {
  const leases = id === 'next' && view.filter.state?.length === 1 && view.filter.state[0] === 'in_progress'
  const sorts = leases ? LEASE_SORT : COLUMN_SORTS[id]
  const at = sorts?.findIndex(({ sort }) => sort === view.sort) ?? -1
  const now = sorts?.[at]
  const word = leases ? 'Lease' : id === 'amount' && currency ? `${COLUMN_WORDS.amount}, ${currency}` : COLUMN_WORDS[id]
  const looks = clsx(HEAD_LOOKS, cell, NUMBERS.includes(id) && 'text-right')
  if (!sorts)
    return (
      <th scope="col" className={looks}>
        {word}
      </th>
    )
  // After the last way of its own, the list is as it was.
  const next = sorts[at + 1]?.sort ?? (at >= 0 && sorts[0]!.sort !== NEWEST_FIRST ? NEWEST_FIRST : sorts[0]!.sort)
  const Arrow = now?.goes === 'ascending' ? ArrowUp : ArrowDown
  return (
    <th scope="col" aria-sort={now?.goes ?? 'none'} className={clsx(looks, now && 'text-text')}>
      <Link
        href={hrefOf({ ...firstPage(view), sort: next })}
        scroll={false}
        prefetch={false}
        className="inline-flex items-center gap-1 no-underline hover:text-text"
      >
        {word}
        {now && <Arrow size={12} aria-hidden />}
      </Link>
    </th>
  )
}
