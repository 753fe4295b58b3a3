'use client'
// The operator's choice of time zone: UTC, or their own. Kept in a cookie by name, so that the server already writes
// the right times; charts follow it too.
import { useRouter } from 'next/navigation'
import { createContext, type ReactNode, use, useTransition } from 'react'
import { ZONE_COOKIE } from './preferences'
import { Segmented } from './segmented'

const Zone = createContext('UTC')

export const ZoneProvider = ({ zone, children }: { zone: string; children: ReactNode }) => (
  <Zone value={zone}>{children}</Zone>
)

export const useZone = (): string => use(Zone)

export function ZoneSwitch() {
  const zone = useZone()
  const router = useRouter()
  const [, start] = useTransition()
  function choose(choice: string) {
    const chosen = choice === 'UTC' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not everywhere yet
    document.cookie = `${ZONE_COOKIE}=${encodeURIComponent(chosen)}; path=/; max-age=31536000; samesite=lax`
    start(() => router.refresh())
  }
  return (
    <Segmented
      label="Time zone"
      value={zone === 'UTC' ? 'UTC' : 'Local'}
      options={[
        { value: 'UTC', label: 'UTC' },
        { value: 'Local', label: 'Local' },
      ]}
      onChange={choose}
    />
  )
}
