import type { Metadata } from 'next'
import Link from 'next/link'
import { Frame } from './_components/frame'

export const metadata: Metadata = { title: 'Not found' }

export default function NotFound() {
  return (
    <Frame trail={[{ label: 'Not found' }]}>
      <h1>There is nothing at this address.</h1>
      <p>
        Go to the <Link href="/">start</Link> or to the <Link href="/docs">API reference</Link>.
      </p>
    </Frame>
  )
}
