// How pages are parted: a verdict on top, then sections under hairlines. No cards.
import clsx from 'clsx'
import type { ReactNode } from 'react'

/** The one sentence that answers the page's question. */
export function Verdict({ children, rest }: { children: ReactNode; rest?: ReactNode }) {
  return (
    <div className="border-b border-line py-5">
      <p className="text-20 font-semibold tracking-[-0.01em] text-balance">{children}</p>
      {rest && <p className="mt-1 text-text-2">{rest}</p>}
    </div>
  )
}

interface SectionProps {
  title: string
  note?: ReactNode
  /** Right of the title. */
  aside?: ReactNode
  className?: string
  children: ReactNode
}

export function Section({ title, note, aside, className, children }: SectionProps) {
  return (
    <section aria-label={title} className={clsx('py-5', className)}>
      <div className="mb-3 flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <h2 className="text-14 font-semibold">{title}</h2>
        {note && <span className="text-12 text-text-2">{note}</span>}
        {aside && <div className="ml-auto">{aside}</div>}
      </div>
      {children}
    </section>
  )
}

/** Nothing here, and what that means. */
export const Empty = ({ children }: { children: ReactNode }) => (
  <p className="border-y border-line py-6 text-center text-text-2">{children}</p>
)

/** What went wrong, in its place. What the reader typed or chose stays. */
export function Failure({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-3 rounded-2 border border-danger bg-danger-tint px-4 py-3"
    >
      <p className="min-w-0 flex-1 text-text">{children}</p>
      {action}
    </div>
  )
}
