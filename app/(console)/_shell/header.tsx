// The bar on top of every page: its heading on the left, what the page can be asked on the right.
import type { ReactNode } from 'react'

export function PageHeader({ title, trail, children }: { title?: string; trail?: ReactNode; children?: ReactNode }) {
  return (
    <header className="flex min-h-13 flex-wrap items-center gap-x-2 gap-y-2 border-b border-line px-(--gutter) py-2 max-wide:pl-14">
      {title ? <h1 className="text-16 font-semibold">{title}</h1> : trail}
      <div className="ml-auto flex flex-wrap items-center gap-2">{children}</div>
    </header>
  )
}

/** What is below the bar. Tables go to both edges; everything else keeps the gutter. */
export const PageBody = ({ children }: { children: ReactNode }) => (
  <div className="mx-auto w-full max-w-[1480px] px-(--gutter) pb-10">{children}</div>
)
