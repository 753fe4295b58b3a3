'use client'
// The page keeps itself current: it asks the server again every few seconds while somebody looks at it, and says when
// it last did. Whoever reads or types in it can hold it still, and an open dialog does. While there is no store to ask, the
// page stays as it was: what was read of it is better than a page that could not be made.
import { RadioTower } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useEffect, useRef, useState, useTransition } from 'react'
import { timeOfDay, useNow } from '../../_ui/time'
import { useZone } from '../../_ui/zone'

interface LiveProps {
  everySeconds?: number
  /** Why it does not ask just now; nothing while it does. */
  held?: string | null
  /** When the server answered, by its own clock. */
  at: string
}

export function Live({ everySeconds = 5, held = null, at }: LiveProps) {
  const router = useRouter()
  const zone = useZone()
  const [refreshing, start] = useTransition()
  const now = useNow()
  const asked = useRef(0)
  const [away, setAway] = useState(false)

  useEffect(() => {
    if (held || refreshing || document.visibilityState !== 'visible' || isDialogOpen()) return
    if (now - asked.current < everySeconds * 1000) return
    if (asked.current > 0)
      start(async () => {
        const ready = await isReady()
        setAway(!ready)
        if (ready) router.refresh()
      })
    asked.current = now
  }, [now, held, refreshing, everySeconds, router])

  return (
    <span className="flex items-center gap-1.5 text-12 whitespace-nowrap text-text-2" suppressHydrationWarning>
      <RadioTower size={14} aria-hidden />
      {held ?? `${away ? 'Not live since' : 'Live,'} ${timeOfDay(at, zone)} ${zone === 'UTC' ? 'UTC' : ''}`}
    </span>
  )
}

const isDialogOpen = (): boolean => document.querySelector('[role="dialog"]') !== null

const isReady = (): Promise<boolean> =>
  fetch('/api/ready').then(
    ({ ok }) => ok,
    () => false,
  )
