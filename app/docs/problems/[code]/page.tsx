// One page for each problem, made from the table that answers: `type` of every error leads here.
import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { headerLine } from '../../../../lib/http/openapi-headers'
import { isStored, keyedHeaders, PROBLEM_CODES, problemExample } from '../../../../lib/http/openapi-problem'
import { PROBLEMS, type ProblemCode } from '../../../../lib/http/problem'
import { DocsFrame, type Group } from '../../_frame'
import { pretty, Wire } from '../../_parts/wire'
import { type Operation, operations } from '../../_reference/document'
import { statusLine, wireText } from '../../_reference/exchange'
import { CLIENT_CODES, nextStep } from '../../_reference/next-step'
import { RETRY_WORDS } from '../../_reference/retry-words'
import styles from '../../docs.module.css'

interface PageProps {
  params: Promise<{ code: string }>
}

/** The table is whole: an unknown code is a 404. */
export const dynamicParams = false

/** Next takes for known what every object has, such as `constructor`. */
const isCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code)

/** Where a reader of one problem goes next: to what the guide says about it, or to the problem beside it. */
const GROUPS: readonly Group[] = [
  {
    title: 'Guide',
    entries: [
      { href: '/docs#retries', label: 'Retries' },
      { href: '/docs#clients', label: 'A client that retries' },
      { href: '/docs#keys', label: 'Keys' },
      { href: '/docs#same-request', label: 'The same request' },
      { href: '/docs#retention', label: 'Retention and expiry' },
    ],
  },
  {
    title: 'Problems of clients',
    entries: PROBLEM_CODES.filter((code) => CLIENT_CODES.has(code)).map((code) => ({
      href: `/docs/problems/${code}`,
      label: PROBLEMS[code].title,
    })),
  },
]

export const generateStaticParams = () => PROBLEM_CODES.map((code) => ({ code }))

export async function generateMetadata({ params }: PageProps): Promise<Metadata> {
  const { code } = await params
  if (!isCode(code)) notFound()
  return { title: `${code}: ${PROBLEMS[code].title}`, description: PROBLEMS[code].detail }
}

export default async function ProblemPage({ params }: PageProps) {
  const { code } = await params
  if (!isCode(code)) notFound()
  const { status, title, detail, advice, retry } = PROBLEMS[code]
  const example = problemExample(code)
  const next = nextStep(code)
  const answeredBy = operations.filter((operation) => operation.answers.some(({ codes }) => codes.includes(code)))
  return (
    <DocsFrame
      trail={[
        { href: '/docs', label: 'API reference' },
        { href: '/docs#problems', label: 'Problems' },
        { label: code },
      ]}
      groups={GROUPS}
    >
      <h1>{title}</h1>
      <dl className={styles.facts}>
        <Fact name="Status">{statusLine(status)}</Fact>
        <Fact name="Code">
          <code>{code}</code>
        </Fact>
        <Fact name="Retry">{RETRY_WORDS[retry].short}</Fact>
        <Fact name="Stored and replayed">{isStored(code) ? 'yes' : 'no'}</Fact>
      </dl>
      <div className={`${styles.operation} ${styles.problem}`}>
        <div className={styles.words}>
          <h2>What happened</h2>
          <p>{detail}</p>
          <h2>What to do next</h2>
          <dl className={styles.next}>
            <Fact name="Send it again?">{next.again}</Fact>
            <Fact name="With which key?">{next.key}</Fact>
            <Fact name="When?">{next.when}</Fact>
            {next.charged && <Fact name="Was anything charged?">{next.charged}</Fact>}
          </dl>
          <p>{advice}</p>
          <h2>What a machine is told</h2>
          <p>
            {RETRY_WORDS[retry].does} {RETRY_WORDS[retry].why}
          </p>
          <Wire>{`"retry": ${pretty((example.body as { retry: unknown }).retry)}`}</Wire>
          {answeredBy.length > 0 && <AnsweredBy calls={answeredBy} />}
        </div>
        <div className={styles.examples}>
          <Wire label="Example answer">
            {wireText(status, [...headerLines(example.headers), ...keyLines(code, answeredBy)], example.body)}
          </Wire>
        </div>
      </div>
    </DocsFrame>
  )
}

const isOperators = ({ scheme }: Operation): boolean => scheme !== 'apiKey'

/** Clients' calls in sight; those of operators, which are many, one click away. */
function AnsweredBy({ calls }: { calls: readonly Operation[] }) {
  const clients = calls.filter((call) => !isOperators(call))
  const operators = calls.filter(isOperators)
  return (
    <>
      <h2>Which calls answer with it</h2>
      {clients.length > 0 && <Calls calls={clients} />}
      {clients.length === 0 ? (
        <Calls calls={operators} />
      ) : (
        operators.length > 0 && (
          <details>
            <summary className={styles.more}>And {operators.length} calls of operators</summary>
            <Calls calls={operators} />
          </details>
        )
      )}
    </>
  )
}

const Calls = ({ calls }: { calls: readonly Operation[] }) => (
  <ul className={styles.codes}>
    {calls.map(({ id, method, path, summary }) => (
      <li key={id}>
        <a href={`/docs#${id}`}>
          <code>
            {method} {path}
          </code>
        </a>{' '}
        <span className={styles.quiet}>{summary}</span>
      </li>
    ))}
  </ul>
)

const Fact = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

/** What is there beside it where it answers a keyed request, not counting what a replay or a preference adds. */
const keyLines = (code: ProblemCode, answeredBy: readonly Operation[]): string[] =>
  answeredBy.some(isKeyed)
    ? keyedHeaders(code)
        .filter((name) => name === 'Idempotency-Key' || name === 'Idempotency-Expires')
        .map(headerLine)
    : []

const isKeyed = ({ parameters }: Operation): boolean =>
  parameters.some(({ name, required }) => name === 'Idempotency-Key' && required)

/** HTTP doesn't mind how a header is spelled; a reader does. */
const headerLines = (headers: Record<string, string>): string[] =>
  Object.entries(headers).map(([name, value]) => `${spelled(name)}: ${value}`)

const spelled = (name: string): string =>
  name.replace(/^www\b/, 'WWW').replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())
