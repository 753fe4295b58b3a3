// Where a page is: the pages above it as links, and its own heading.
import Link from 'next/link'
import type { ReactNode } from 'react'

export function Trail({ above, children }: { above: readonly { href: string; label: string }[]; children: ReactNode }) {
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-2 text-16">
      <nav aria-label="Above this page" className="flex gap-x-2">
        {above.map(({ href, label }) => (
          <span key={href} className="flex gap-x-2">
            <Link href={href}>{label}</Link>
            <span aria-hidden className="text-text-3">
              /
            </span>
          </span>
        ))}
      </nav>
      <h1 className="text-16 font-semibold [overflow-wrap:anywhere]">{children}</h1>
    </div>
  )
}
