// The API reference: the guide in words, everything else from the OpenAPI document itself.
import type { Metadata } from 'next'
import { DocsFrame, type Entry, type Group, SectionLinks } from './_frame'
import { Checklist } from './_guide/checklist'
import { Clients } from './_guide/clients'
import { Keys } from './_guide/keys'
import { Limits } from './_guide/limits'
import { Prefer } from './_guide/prefer'
import { Retention } from './_guide/retention'
import { Retries } from './_guide/retries'
import { SameRequest } from './_guide/same-request'
import { SandboxMethods } from './_guide/sandbox'
import { Authentication, Start } from './_guide/start'
import { Stored } from './_guide/stored'
import { Webhooks } from './_guide/webhooks'
import { pretty, Wire } from './_parts/wire'
import { AnswerHeaders } from './_reference/answer-headers'
import { operations, schemaNamed, tags } from './_reference/document'
import { Fields } from './_reference/fields'
import { OBJECT_NAMES, OBJECTS } from './_reference/objects'
import { OperationSection } from './_reference/operation'
import { ProblemTable } from './_reference/problem-table'
import { Prose } from './_reference/prose'
import styles from './docs.module.css'

export const metadata: Metadata = { title: { absolute: 'API reference · Onceover' } }

type Tag = (typeof tags)[number]

/** What clients call comes first; operators and the service itself come after all that a client needs. */
const CLIENT_TAGS = ['Orders', 'Refunds', 'Idempotency keys']
const isForClients = ({ name }: Tag): boolean => CLIENT_TAGS.includes(name)

const groupOf = ({ name }: Tag): Group => ({
  title: name,
  entries: operations
    .filter(({ tag }) => tag === name)
    .map(({ id, summary }): Entry => ({ href: `#${id}`, label: summary })),
})

const GROUPS: readonly Group[] = [
  {
    title: 'Guide',
    entries: [
      { href: '#start', label: 'The first order' },
      { href: '#authentication', label: 'Authentication' },
      { href: '#keys', label: 'Keys' },
      { href: '#same-request', label: 'The same request' },
      { href: '#retries', label: 'Retries' },
      { href: '#clients', label: 'A client that retries' },
      { href: '#prefer', label: 'Waiting, and later' },
      { href: '#retention', label: 'Retention and expiry' },
      { href: '#stored', label: 'What is stored' },
      { href: '#limits', label: 'Limits' },
      { href: '#webhooks', label: 'Webhooks' },
      { href: '#sandbox', label: 'Sandbox methods' },
      { href: '#checklist', label: 'Before you go live' },
    ],
  },
  {
    title: 'Reference',
    entries: [
      { href: '#problems', label: 'Problems' },
      { href: '#headers', label: 'Headers of answers' },
      { href: '#objects', label: 'Objects' },
    ],
  },
  ...tags.filter(isForClients).map(groupOf),
  ...tags.filter((tag) => !isForClients(tag)).map(groupOf),
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
      <Start />
      <Authentication />
      <Keys />
      <SameRequest />
      <Retries />
      <Clients />
      <Prefer />
      <Retention />
      <Stored />
      <Limits />
      <Webhooks />
      <SandboxMethods />
      <Checklist />
      <ProblemTable />
      <AnswerHeaders />
      <Objects />
      {tags.filter(isForClients).map((tag) => (
        <Calls key={tag.name} tag={tag} />
      ))}
      {tags
        .filter((tag) => !isForClients(tag))
        .map((tag) => (
          <Calls key={tag.name} tag={tag} />
        ))}
    </DocsFrame>
  )
}

const Calls = ({ tag: { name, description = '' } }: { tag: Tag }) => (
  <section className={styles.section} aria-labelledby={`tag-${anchor(name)}`}>
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
)

const Objects = () => (
  <section id="objects" className={styles.section} aria-labelledby="objects-title">
    <h2 id="objects-title">Objects</h2>
    <p>Amounts are in the currency’s smallest unit. New members may come; none goes.</p>
    <div>
      {OBJECT_NAMES.map((name) => (
        <section key={name} id={`object-${name}`} className={styles.operation} aria-labelledby={`object-${name}-title`}>
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
)

const anchor = (name: string): string => name.toLowerCase().replaceAll(' ', '-')
