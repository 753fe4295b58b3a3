import type { Metadata } from 'next'
import Link from 'next/link'
import { DocsFrame } from './docs/_frame'

export const metadata: Metadata = { title: 'Not found' }

export default function NotFound() {
  return (
    <DocsFrame trail={[{ label: 'Not found' }]}>
      <h1 className="text-20 font-semibold">There is nothing at this address.</h1>
      <p className="mt-1 text-text-2">
        Go to the <Link href="/">overview</Link> or to the <Link href="/docs">API reference</Link>.
      </p>
    </DocsFrame>
  )
}
