'use client'
// Instants. What is shown is relative or a time of day; the exact one, with its zone, is a hover away. Relative ones
// move on by themselves, all by one clock, so a page never shows two of them out of step.
import { useSyncExternalStore } from 'react'
import { countdown, duration } from './words'
import { useZone } from './zone'

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let now = Date.now()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const tell of listeners) tell()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Seconds resolution. The server renders with its own clock, so whoever shows it suppresses the difference. */
export const useNow = (): number =>
  useSyncExternalStore(
    subscribe,
    () => now,
    // on the server nobody listens, so nothing moves the clock on
    () => (typeof window === 'undefined' ? Date.now() : now),
  )

const formats = new Map<string, Intl.DateTimeFormat>()
function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = `${zone} ${JSON.stringify(options)}`
  let made = formats.get(name)
  if (!made) {
    made = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...options })
    formats.set(name, made)
  }
  return made
}

const EXACT = {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
} as const

export const exactTime = (at: string | number | Date, zone: string): string =>
  `${format(zone, EXACT).format(new Date(at))} ${zone}`

export const timeOfDay = (at: string | number | Date, zone: string, seconds = true): string =>
  format(zone, { hour: '2-digit', minute: '2-digit', ...(seconds ? { second: '2-digit' } : {}) }).format(new Date(at))

const dayOf = (at: Date, zone: string): string =>
  format(zone, { year: 'numeric', month: '2-digit', day: '2-digit' }).format(at)

/** 14:31:31; with the day where it is another one than today. */
export function Instant({ at, seconds = true }: { at: string | Date; seconds?: boolean }) {
  const zone = useZone()
  const today = dayOf(new Date(useNow()), zone)
  const instant = new Date(at)
  const day =
    dayOf(instant, zone) === today ? '' : `${format(zone, { day: 'numeric', month: 'short' }).format(instant)} `
  return (
    <time dateTime={instant.toISOString()} title={exactTime(instant, zone)} suppressHydrationWarning>
      {day}
      {timeOfDay(instant, zone, seconds)}
    </time>
  )
}

/** How long ago, or how long since: 10 min 04 s. */
export function Age({ since, ago = false }: { since: string | Date; ago?: boolean }) {
  const zone = useZone()
  const instant = new Date(since)
  return (
    <time dateTime={instant.toISOString()} title={exactTime(instant, zone)} suppressHydrationWarning>
      {duration((useNow() - instant.getTime()) / 1000)}
      {ago ? ' ago' : ''}
    </time>
  )
}

/** 29:35 until then; `after` once it is over. */
export function Countdown({
  until,
  after = 'now',
  before = '',
}: {
  until: string | Date
  after?: string
  before?: string
}) {
  const zone = useZone()
  const instant = new Date(until)
  const left = (instant.getTime() - useNow()) / 1000
  return (
    <time dateTime={instant.toISOString()} title={exactTime(instant, zone)} suppressHydrationWarning>
      {left > 0 ? `${before}${countdown(left)}` : after}
    </time>
  )
}
