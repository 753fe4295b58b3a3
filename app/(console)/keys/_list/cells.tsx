'use client'
// What stands in each column. Wide, it is a cell; under 720 px the same cells are the three lines of a row.
import clsx from 'clsx'
import { MailX } from 'lucide-react'
import Link from 'next/link'
import type { ReactNode } from 'react'
import type { KeyRow } from '../../../../lib/console/key-rows'
import { StateMark } from '../../../_ui/state-mark'
import { Age, Countdown } from '../../../_ui/time'
import { amountIn, count, endpointWord } from '../../../_ui/words'
import type { ColumnId } from './column-names'
import { hrefOf, WHOLE_LIST } from './view'

/** Enough of an end to tell two alike apart. */
const TAIL = 6

/** One line, whatever its length: what is too long is cut in its middle. */
function Shortened({ text }: { text: string }) {
  return (
    <>
      <span className="min-w-0 truncate">{text.slice(0, -TAIL)}</span>
      <span className="shrink-0">{text.slice(-TAIL)}</span>
    </>
  )
}

interface CellProps {
  row: KeyRow
  /** The amounts of this page are all in one currency, which its head names. */
  oneCurrency: boolean
}

export const CELLS: Record<ColumnId, (props: CellProps) => ReactNode> = {
  state: ({ row }) => <StateMark state={row.state} />,
  key: ({ row: { id, key } }) => (
    <Link
      href={`/keys/${id}`}
      prefetch={false}
      aria-label={key}
      title={key}
      data-row-link
      className="inline-flex max-w-full align-middle font-mono text-12 no-underline hover:underline focus-visible:outline-offset-4"
    >
      <Shortened text={key} />
    </Link>
  ),
  tenant: ({ row: { tenant } }) => (
    <span title={tenant} className="block truncate">
      {tenant}
    </span>
  ),
  endpoint: ({ row: { endpoint } }) => (
    <span title={endpoint} className="text-text-2">
      {endpointWord(endpoint)}
    </span>
  ),
  order: ({ row: { orderId } }) => orderId && <Order id={orderId} />,
  amount: ({ row, oneCurrency }) => <Amount row={row} oneCurrency={oneCurrency} />,
  age: ({ row: { createdAt } }) => (
    <>
      <Age since={createdAt} />
      <span className="wide:hidden"> old</span>
    </>
  ),
  error: ({ row: { lastErrorCode } }) => (
    <span title={lastErrorCode ?? undefined} className="block truncate font-mono text-12 text-text-2">
      {lastErrorCode}
    </span>
  ),
  next: ({ row }) => <Next row={row} />,
  replays: ({ row: { replayCount } }) => (
    <span className={clsx(replayCount === 0 && 'text-text-3', replayCount >= 1000 && 'font-semibold')}>
      {count(replayCount)}
    </span>
  ),
}

/** All keys of an order: its own, and those of its refunds. */
function Order({ id }: { id: string }) {
  return (
    <Link
      href={hrefOf({ ...WHOLE_LIST, filter: { order: id } })}
      prefetch={false}
      title={id}
      className="inline-flex max-w-[11ch] align-middle font-mono text-12 text-text-2 no-underline hover:underline"
    >
      <Shortened text={id} />
    </Link>
  )
}

function Amount({ row: { amountCents, currency }, oneCurrency }: CellProps) {
  if (amountCents === null || currency === null) return <span className="text-text-3 max-wide:hidden">–</span>
  return (
    <>
      {amountIn(amountCents, currency)}
      <span className={clsx('text-text-2', oneCurrency && 'wide:hidden')}> {currency}</span>
    </>
  )
}

/** What happens to it next, and when. */
function Next({ row: { state, deadLetteredAt, reconcileAfter, lockedUntil } }: { row: KeyRow }) {
  if (deadLetteredAt && (state === 'unknown' || state === 'failed_retryable'))
    return (
      <span className="inline-flex items-center gap-1.5 text-unknown group-data-selected/row:text-text">
        <MailX size={14} aria-hidden className="shrink-0 text-unknown" />
        dead letter
      </span>
    )
  if (state === 'unknown' && reconcileAfter)
    return (
      <>
        <span className="wide:hidden">look-up </span>
        <Countdown until={reconcileAfter} before="in " />
      </>
    )
  if (state === 'in_progress' && lockedUntil)
    return <Countdown until={lockedUntil} before="lease " after="lease over" />
  return <span className="text-text-3 max-wide:hidden">–</span>
}
