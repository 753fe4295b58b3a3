'use client'
// When a daemon ran last and runs next, going on by itself.
import type { ReactNode } from 'react'
import { timeOfDay, useNow } from '../../_ui/time'
import { duration } from '../../_ui/words'
import { useZone } from '../../_ui/zone'

/** Looked at every second by every worker: later than this, there is none. */
const OVERDUE_MS = 30_000

/** Nearer than that, only how long it takes matters. */
const SOON_MS = 90_000
/** Nobody counts down to what is half a day away. */
const FAR_MS = 12 * 3_600_000

export function Times({ last, next, running }: { last: ReactNode; next: Date | null | 'off'; running: boolean }) {
  return (
    <dl className="grid grid-cols-[36px_minmax(0,1fr)] gap-x-2 gap-y-0.5">
      <dt className="text-text-2">Last</dt>
      <dd>{last}</dd>
      <dt className="text-text-2">Next</dt>
      <dd>{running ? 'when this run ends' : next === 'off' ? 'off' : next ? <Next at={next} /> : 'not planned yet'}</dd>
    </dl>
  )
}

function Next({ at }: { at: Date }) {
  const zone = useZone()
  const leftMs = at.getTime() - useNow()
  // One piece of text: the server's clock may have written another one, and that is all that may differ.
  return (
    <time dateTime={at.toISOString()} suppressHydrationWarning>
      {nextWords(at, leftMs, zone)}
    </time>
  )
}

function nextWords(at: Date, leftMs: number, zone: string): string {
  if (leftMs < -OVERDUE_MS) return `overdue since ${timeOfDay(at, zone)}: no node works it off`
  if (leftMs <= 0) return 'now'
  const left = `in ${duration(Math.round(leftMs / 1000))}`
  if (leftMs < SOON_MS) return left
  const instant = `${day(at, zone)}${timeOfDay(at, zone)}`
  return leftMs < FAR_MS ? `${instant}, ${left}` : instant
}

const dayIn = (at: Date, zone: string) => at.toLocaleDateString('en-GB', { timeZone: zone })

function day(at: Date, zone: string): string {
  const now = new Date()
  if (dayIn(at, zone) === dayIn(now, zone)) return ''
  return dayIn(at, zone) === dayIn(new Date(now.getTime() + 86_400_000), zone)
    ? 'tomorrow '
    : `${at.toLocaleDateString('en-GB', { timeZone: zone, day: 'numeric', month: 'short' })} `
}
