'use client'
// A time of day to the millisecond, with the day where it is another one than today.
import { exactTime, timeOfDay, useNow } from '../../../_ui/time'
import { useZone } from '../../../_ui/zone'

export function ExactInstant({ at, ms = true }: { at: string; ms?: boolean }) {
  const zone = useZone()
  const exact = exactTime(at, zone)
  const day = exactTime(new Date(useNow()), zone).slice(0, 6) === exact.slice(0, 6) ? null : exact.slice(0, 6)
  return (
    <time dateTime={at} title={exact} className="whitespace-nowrap" suppressHydrationWarning>
      {day && <span className="max-wide:block">{day} </span>}
      {timeOfDay(at, zone)}
      {ms && !day && <span className="max-wide:hidden">{at.slice(19, 23)}</span>}
    </time>
  )
}

/** For drawings, where no element of a page may stand. */
export function ClockText({ at }: { at: string }) {
  return timeOfDay(at, useZone())
}
