// Around the pages that anybody may read. It looks like the console's own frame and works without scripts, so that one
// rendering serves every reader.
import { LayoutDashboard, Menu } from 'lucide-react'
import type { ReactNode } from 'react'
import manifest from '../../package.json'
import { Logo } from '../_ui/icons'
import { PageBody, PageHeader } from '../(console)/_shell/header'
import { REFERENCE } from '../(console)/_shell/pages'
import styles from './frame.module.css'

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

export function DocsFrame({ trail, groups = [], children }: FrameProps) {
  return (
    <>
      <a
        href="#content"
        className="fixed top-2 left-2 z-60 -translate-y-16 rounded-2 bg-ink px-3 py-2 text-on-ink focus:translate-y-0"
      >
        Skip to content
      </a>
      <div className="flex min-h-dvh">
        <aside className="sticky top-0 hidden h-dvh w-52 shrink-0 flex-col border-r border-line bg-app wide:flex">
          <Inside isReference={!trail} groups={groups} />
        </aside>
        <div className="relative flex min-w-0 flex-1 flex-col">
          <details className="absolute top-2.5 left-4 z-10 wide:hidden">
            <summary className={styles.menuButton} aria-label="Menu">
              <Menu size={18} aria-hidden />
            </summary>
            <div className="absolute -left-2 flex max-h-[80dvh] w-64 max-w-[85vw] flex-col rounded-3 border border-line-strong bg-app shadow-3">
              {/* The reference has its sections once more under its heading on a narrow screen. */}
              <Inside isReference={!trail} groups={trail ? groups : []} />
            </div>
          </details>
          <main id="content" tabIndex={-1} className="flex min-w-0 flex-1 flex-col outline-none">
            {trail ? <PageHeader trail={<Trail steps={trail} />} /> : <PageHeader title={REFERENCE.label} />}
            <PageBody>
              <div className="pt-5">{children}</div>
            </PageBody>
          </main>
        </div>
      </div>
    </>
  )
}

const Inside = ({ isReference, groups }: { isReference: boolean; groups: readonly Group[] }) => (
  <>
    <a href="/" className="flex h-13 items-center gap-2 px-4 text-14 font-semibold no-underline">
      <Logo />
      Onceover
    </a>
    <nav aria-label="Main" className="flex-1 overflow-y-auto px-2">
      <a href={REFERENCE.href} aria-current={isReference ? 'page' : 'true'} className={styles.entry}>
        <REFERENCE.icon size={14} aria-hidden />
        {REFERENCE.label}
      </a>
      {groups.length > 0 && (
        <div className="my-1 ml-[14px] border-l border-line-strong pl-2">
          <SectionLinks groups={groups} />
        </div>
      )}
    </nav>
    <p className="px-4 py-3 text-12 text-text-3">Onceover {manifest.version}</p>
    <div className="border-t border-line p-2">
      <a href="/" className={styles.entry}>
        <LayoutDashboard size={14} aria-hidden />
        Console
      </a>
    </div>
  </>
)

export const SectionLinks = ({ groups }: { groups: readonly Group[] }) => (
  <ul className={styles.sections}>
    {groups.map(({ title, entries }) => (
      <li key={title}>
        {title}
        <ul>
          {entries.map(({ href, label }) => (
            <li key={href}>
              <a href={href}>{label}</a>
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
          {'href' in step ? <a href={step.href}>{step.label}</a> : step.label}
        </li>
      ))}
    </ol>
  </nav>
)
