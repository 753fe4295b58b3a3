// How HTTP clients that people already have are set up to retry. `npm run proof -- clients` runs each file.
import { Fragment, type ReactNode } from 'react'
import type { Retry } from '../_examples/text'
import { ProblemLink } from '../_parts/chapter'
import { ExampleFile } from '../_parts/example-file'

const SET_UPS: readonly { name: Retry; client: string; says: ReactNode }[] = [
  {
    client: 'curl',
    name: 'retries/curl.sh',
    says: (
      <>
        <code>--retry</code> repeats a POST after a 429, a 5xx and a time-out, and with <code>--retry-connrefused</code>{' '}
        after a refused connection. Without <code>--fail-with-body</code> a 409 or a 422 ends with exit status 0.
      </>
    ),
  },
  {
    client: 'got',
    name: 'retries/got.mjs',
    says: (
      <>
        got does not retry a POST unless <code>methods</code> names it, and takes a <code>Retry-After</code> that is
        longer than the time-out for final unless <code>maxRetryAfter</code> allows it.
      </>
    ),
  },
  {
    client: 'axios with axios-retry',
    name: 'retries/axios-retry.mjs',
    says: (
      <>
        axios-retry retries neither a POST nor a time-out unless <code>retryCondition</code> says so. Without{' '}
        <code>shouldResetTimeout</code> one time-out is shared by all tries.
      </>
    ),
  },
  {
    client: 'ky',
    name: 'retries/ky.mjs',
    says: (
      <>
        ky retries neither a POST nor a time-out by default, and honours the <code>Retry-After</code> of a 504 only if{' '}
        <code>afterStatusCodes</code> names it.
      </>
    ),
  },
  {
    client: 'undici',
    name: 'retries/undici.mjs',
    says: (
      <>
        <code>RetryAgent</code> retries neither a POST nor a time-out by default. <code>maxTimeout</code> cuts{' '}
        <code>Retry-After</code> short too, and an <code>AbortSignal</code> does not end its pauses.
      </>
    ),
  },
  {
    client: 'Java’s HttpClient',
    name: 'retries/Onceover.java',
    says: 'HttpClient does not repeat a POST, so this is a loop. It runs on Java 17 and newer.',
  },
  {
    client: 'Python’s requests',
    name: 'retries/onceover_requests.py',
    says: (
      <>
        <code>Retry</code> of urllib3 1.26 or newer does not retry a POST unless <code>allowed_methods</code> names it.
        It bounds the number of tries and not their time.
      </>
    ),
  },
  {
    client: 'Python’s httpx',
    name: 'retries/onceover_httpx.py',
    says: (
      <>
        <code>HTTPTransport(retries=…)</code> repeats only what could not connect, so this is a loop.
      </>
    ),
  },
]

export const RetrySetUps = () => (
  <>
    <h3 id="retry-set-ups">With the client that you have</h3>
    <p>
      Each file sends one order and retries after a 429, a 5xx, a cut connection and a time-out: with the same key and
      body, not before <code>Retry-After</code>, with 30 seconds for each try. They stop after five minutes, undici and
      requests after ten retries, because it can take three minutes to prove that nothing was charged. When one stops
      without an answer, keep the key and send the same again later.
    </p>
    <p>
      <strong>A 409 is not a refusal</strong> when its code is <ProblemLink code="idempotency_key_in_progress" /> or{' '}
      <ProblemLink code="idempotency_outcome_unknown" />: the first request is still running, or may have charged. Send
      the same request again after <code>Retry-After</code>. A 409 without <code>Retry-After</code> is final:{' '}
      <ProblemLink code="order_not_refundable" /> and <ProblemLink code="refund_exceeds_order" />.
    </p>
    <p>
      <strong>
        <code>Prefer: busy=503</code>
      </strong>{' '}
      turns those two 409s into a 503, because HTTP clients retry a 503 and take a 409 for final.{' '}
      <code>Prefer: wait=20</code> makes most of them unnecessary: a retry waits for the first request’s answer.
    </p>
    <p>
      <strong>A 410 or a 422</strong> is never retried. After a 410, read the <code>resource</code> that it names before
      anything new is sent. A 422 is a bug of the program that sends it: a person has to look.
    </p>
    <p>
      <strong>A client that retries as Stripe’s SDKs do</strong>, with one key on all tries and after a 409 too, needs
      no <code>busy=503</code>.
    </p>
    {SET_UPS.map(({ name, client, says }) => (
      <Fragment key={name}>
        <h4>{client}</h4>
        <p>{says}</p>
        <ExampleFile name={name} />
      </Fragment>
    ))}
  </>
)
