// Around the pages of the reference: the console's own frame, for strangers too.
import Link from 'next/link'
import type { ReactNode } from 'react'
import { PageBody, PageHeader } from '../(console)/_shell/header'
import { anySession } from '../(console)/_shell/session'
import { Shell } from '../(console)/_shell/shell'

export interface Entry {
  href: string
  label: string
}

export interface Group {
  title: string
  entries: readonly Entry[]
}

interface FrameProps {
  /** Where a page below the reference stands, outermost first; the last one is the page. */
  trail?: readonly [...Entry[], { label: string }]
  groups?: readonly Group[]
  children: ReactNode
}

export async function DocsFrame({ trail, groups = [], children }: FrameProps) {
  const sections = groups.length > 0 && (
    <div className="my-1 ml-[14px] border-l border-line-strong pl-2">
      <SectionLinks groups={groups} />
    </div>
  )
  return (
    <Shell session={await anySession()} under={sections ? { href: '/docs', sections } : undefined}>
      {trail ? <PageHeader trail={<Trail steps={trail} />} /> : <PageHeader title="API reference" />}
      <PageBody>
        <div className="pt-5">{children}</div>
      </PageBody>
    </Shell>
  )
}

export const SectionLinks = ({ groups }: { groups: readonly Group[] }) => (
  <ul className="list-none">
    {groups.map(({ title, entries }) => (
      <li key={title} className="py-1">
        <span className="block px-2 py-0.5 text-11 text-text-3">{title}</span>
        <ul className="list-none">
          {entries.map(({ href, label }) => (
            <li key={href}>
              <a
                href={href}
                className="block rounded-2 px-2 py-1 text-12 text-text-2 no-underline hover:bg-hover hover:text-text"
              >
                {label}
              </a>
            </li>
          ))}
        </ul>
      </li>
    ))}
  </ul>
)

const Trail = ({ steps }: { steps: NonNullable<FrameProps['trail']> }) => (
  <nav aria-label="You are here" className="min-w-0">
    <ol className="flex list-none flex-wrap gap-x-2 [overflow-wrap:anywhere]">
      {steps.map((step, i) => (
        <li key={step.label}>
          {i > 0 && <span className="mr-2 text-text-3">/</span>}
          {'href' in step ? <Link href={step.href}>{step.label}</Link> : step.label}
        </li>
      ))}
    </ol>
  </nav>
)
