import type { Metadata } from 'next'
import { PublicDocument, siteMetadata, siteViewport } from './_ui/document'
import { DocsFrame } from './docs/_frame'

export const metadata: Metadata = { ...siteMetadata, title: 'Not found · Onceover' }
export const viewport = siteViewport

export default function NotFound() {
  return (
    <PublicDocument>
      <DocsFrame trail={[{ label: 'Not found' }]}>
        <h1 className="text-20 font-semibold">There is nothing at this address.</h1>
        <p className="mt-1 text-text-2">
          Go to the <a href="/">overview</a> or to the <a href="/docs">API reference</a>.
        </p>
      </DocsFrame>
    </PublicDocument>
  )
}
