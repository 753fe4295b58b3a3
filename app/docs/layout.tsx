import type { ReactNode } from 'react'
import { PublicDocument, siteMetadata, siteViewport } from '../_ui/document'

/** Rendered once a build: nothing here may read the request, the configuration or the store. */
export const dynamic = 'error'
export const metadata = siteMetadata
export const viewport = siteViewport

export default function PublicLayout({ children }: { children: ReactNode }) {
  return <PublicDocument>{children}</PublicDocument>
}
