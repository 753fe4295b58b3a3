import type { ReactNode } from 'react'
import { PersonalDocument, siteMetadata, siteViewport } from '../_ui/document'

export const dynamic = 'force-dynamic'
export const metadata = siteMetadata
export const viewport = siteViewport

export default function LoginLayout({ children }: { children: ReactNode }) {
  return <PersonalDocument>{children}</PersonalDocument>
}
