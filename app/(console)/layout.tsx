// Every page of the console is somebody's who signed in.
import type { ReactNode } from 'react'
import { isUnavailable } from '../../lib/db/sqlstate'
import { PersonalDocument, siteMetadata, siteViewport } from '../_ui/document'
import { requireSession } from './_shell/session'
import { Shell } from './_shell/shell'

export const dynamic = 'force-dynamic'
export const metadata = siteMetadata
export const viewport = siteViewport

export default async function Console({ children }: { children: ReactNode }) {
  const session = await requireSession().catch((error: unknown) => {
    if (isUnavailable(error)) return 'unknown' as const
    throw error
  })
  return (
    <PersonalDocument>
      <Shell session={session}>{children}</Shell>
    </PersonalDocument>
  )
}
