// The API reference: the guide in words, everything else from the OpenAPI document itself.
import type { Metadata } from 'next'
import { DocsFrame, type Group, SectionLinks } from './_frame'
import { Keys } from './_guide/keys'
import { Prefer } from './_guide/prefer'
import { Retries } from './_guide/retries'
import { SandboxMethods } from './_guide/sandbox'
import { pretty, Wire } from './_parts/wire'
import { operations, schemaNamed, tags } from './_reference/document'
import { Fields } from './_reference/fields'
import { OBJECT_NAMES, OBJECTS } from './_reference/objects'
import { OperationSection } from './_reference/operation'
import { ProblemTable } from './_reference/problem-table'
import { Prose } from './_reference/prose'
import styles from './docs.module.css'

export const metadata: Metadata = { title: 'API reference' }

const GROUPS: readonly Group[] = [
  {
    title: 'Guide',
    entries: [
      { href: '#authentication', label: 'Authentication' },
      { href: '#keys', label: 'Keys' },
      { href: '#retries', label: 'Retries' },
      { href: '#prefer', label: 'Waiting, and later' },
    ],
  },
  ...tags.map(({ name }) => ({
    title: name,
    entries: operations
      .filter(({ tag }) => tag === name)
      .map(({ id, summary }) => ({ href: `#${id}`, label: summary })),
  })),
  {
    title: 'More',
    entries: [
      { href: '#objects', label: 'Objects' },
      { href: '#sandbox', label: 'Sandbox methods' },
      { href: '#problems', label: 'Problems' },
    ],
  },
]

export default function Reference() {
  return (
    <DocsFrame groups={GROUPS}>
      <p className="text-20 font-semibold tracking-[-0.01em] text-balance">
        Send every POST with a key. The same key gets the same answer.
      </p>
      <p className={styles.lead}>
        JSON over HTTP, paths relative to this node. This page is made from the{' '}
        <a href="/api/openapi.json">OpenAPI document</a>, which is made from the schemas that validate.
      </p>
      <details className={styles.onThisPage}>
        <summary>On this page</summary>
        <nav aria-label="On this page">
          <SectionLinks groups={GROUPS} />
        </nav>
      </details>
      <section id="authentication" className={styles.section} aria-labelledby="authentication-title">
        <h2 id="authentication-title">Authentication</h2>
        <p>
          Send your API key as <code>Authorization: Bearer</code>. It says who you are: nothing in a body or a path
          does, and what belongs to another tenant is not found. All API keys of a tenant share its idempotency keys.
          The first API key, of tenant demo, was printed at the first start.
        </p>
      </section>
      <Keys />
      <Retries />
      <Prefer />
      {tags.map(({ name, description = '' }) => (
        <section key={name} className={styles.section} aria-labelledby={`tag-${anchor(name)}`}>
          <h2 id={`tag-${anchor(name)}`}>{name}</h2>
          <Prose>{description}</Prose>
          <div>
            {operations
              .filter(({ tag }) => tag === name)
              .map((operation) => (
                <OperationSection key={operation.id} operation={operation} />
              ))}
          </div>
        </section>
      ))}
      <section id="objects" className={styles.section} aria-labelledby="objects-title">
        <h2 id="objects-title">Objects</h2>
        <p>Amounts are in the currency’s smallest unit. New members may come; none goes.</p>
        <div>
          {OBJECT_NAMES.map((name) => (
            <section
              key={name}
              id={`object-${name}`}
              className={styles.operation}
              aria-labelledby={`object-${name}-title`}
            >
              <div className={styles.words}>
                <h3 id={`object-${name}-title`}>{name}</h3>
                <Fields of={schemaNamed(name)} />
              </div>
              <div className={styles.examples}>
                <Wire label="Example">{pretty(OBJECTS[name])}</Wire>
              </div>
            </section>
          ))}
        </div>
      </section>
      <SandboxMethods />
      <ProblemTable />
    </DocsFrame>
  )
}

const anchor = (name: string): string => name.toLowerCase().replaceAll(' ', '-')
