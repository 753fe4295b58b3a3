// What stands around every page: the way about on the left, where one is on top, the page itself. Only entries that
// exist are in it.
import Link from 'next/link'
import { Fragment, type ReactNode } from 'react'
import manifest from '../../package.json'
import styles from './frame.module.css'
import { Icon, type IconName, Logo } from './icon'

export interface Entry {
  href: string
  label: string
}

const PAGES: readonly (Entry & { icon: IconName })[] = [
  { href: '/', label: 'Start', icon: 'terminal' },
  { href: '/docs', label: 'API reference', icon: 'book-open' },
]

interface FrameProps {
  /** The entry of the sidebar that this page is, or belongs to. */
  current?: '/' | '/docs'
  /** Where the page stands, outermost first; the last one is the page. */
  trail: readonly [...Entry[], { label: string }]
  /** The sections of this page, under its entry. */
  sections?: readonly Entry[]
  children: ReactNode
}

export function Frame({ current, trail, sections = [], children }: FrameProps) {
  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#content">
        Skip to content
      </a>
      <header className={styles.side}>
        <Link className={styles.brand} href="/">
          <Logo />
          Onceover
        </Link>
        <nav className={styles.nav} aria-label="Main">
          <ul>
            {PAGES.map(({ href, label, icon }) => (
              <Fragment key={href}>
                <li>
                  <Link href={href} aria-current={here(href, current, trail)}>
                    <span className={styles.icon}>
                      <Icon name={icon} />
                    </span>
                    {label}
                  </Link>
                </li>
                {href === current && sections.length > 0 && <li className={styles.sections}>{linksTo(sections)}</li>}
              </Fragment>
            ))}
            <li className={styles.apart}>
              <a href="/api/openapi.json">
                <span className={styles.icon}>
                  <Icon name="braces" />
                </span>
                OpenAPI document
              </a>
            </li>
          </ul>
        </nav>
        <p className={styles.foot}>Onceover {manifest.version}</p>
      </header>
      <div className={styles.page}>
        <nav className={trail.length > 1 ? styles.bar : `${styles.bar} ${styles.single}`} aria-label="You are here">
          <ol>
            {trail.map((step) => (
              <li key={step.label}>
                {'href' in step ? <Link href={step.href}>{step.label}</Link> : <span>{step.label}</span>}
              </li>
            ))}
          </ol>
        </nav>
        <main id="content" className={styles.content} tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  )
}

/** The page itself, or the entry that the page is below. */
function here(href: string, current: string | undefined, trail: FrameProps['trail']): 'page' | 'true' | undefined {
  if (href !== current) return undefined
  return trail.length > 1 ? 'true' : 'page'
}

export const linksTo = (sections: readonly Entry[]) => (
  <ul>
    {sections.map(({ href, label }) => (
      <li key={href}>
        <a href={href}>{label}</a>
      </li>
    ))}
  </ul>
)
