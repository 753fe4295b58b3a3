import { DEFAULTS } from '../../../lib/config'
import { Chapter, ProblemLink } from '../_parts/chapter'
import { span } from '../_parts/spans'
import table from '../_parts/table.module.css'
import { WhatARetryGets } from '../_parts/what-a-retry-gets'
import { pretty } from '../_parts/wire'
import { ADVICES, RETRY_WORDS, retryExample } from '../_reference/retry-words'
import styles from '../docs.module.css'

export const Retries = () => (
  <Chapter id="retries" title="Retries">
    <p>
      No answer at all, a dropped connection, a time-out: send the same request with the same key. Every error says in{' '}
      <code>retry</code> what to do next, so a client needs no table of its own. With seconds in it, the answer has{' '}
      <code>Retry-After</code> too.
    </p>
    <table className={table.table}>
      <thead>
        <tr>
          <th scope="col">retry</th>
          <th scope="col">What to do</th>
          <th scope="col">Why</th>
        </tr>
      </thead>
      <tbody>
        {ADVICES.map((advice) => (
          <tr key={advice}>
            <th scope="row">
              <code>{pretty(retryExample(advice))}</code>
            </th>
            <td>{RETRY_WORDS[advice].does}</td>
            <td className={table.quiet}>{RETRY_WORDS[advice].why}</td>
          </tr>
        ))}
      </tbody>
    </table>
    <HowLongToWait />
    <h3>What is replayed</h3>
    <p>
      A 2xx or 4xx that the operation itself came to is stored and replayed, a declined payment too. A 5xx never is. A
      replay is the first answer byte for byte: same status, body, <code>Location</code> and <code>Content-Type</code>,
      plus <code>Idempotent-Replayed: true</code>. To see how things are now, read the resource.
    </p>
    <h3 id="states">What the same request gets</h3>
    <WhatARetryGets />
    <p className={styles.quiet}>
      The same key with another request gets 422 in every state. Rates and caps count only requests that would make a
      new record: a retry is never refused for them.
    </p>
  </Chapter>
)

const HowLongToWait = () => (
  <>
    <h3 id="backoff">How long to wait</h3>
    <ol>
      <li>
        Never less than <code>Retry-After</code>, which is the same number as <code>retry.afterSeconds</code>.
      </li>
      <li>
        On top of it, a random part of a delay that doubles with each try: of 0.5 s, 1 s, 2 s and so on up to 30 s.
        Exponential, so that a service in trouble gets room; random, so that all who were refused together do not come
        back together. Without an answer, or with one of a proxy that names no time, this is the whole delay.
      </li>
      <li>
        Until your own patience ends, two minutes for example. Then give up the call, not the key: what you have is “not
        known yet”, and whoever finds the stored key later sends the same again.
      </li>
    </ol>
    <p>
      Give each try a time limit of your own that is longer than the service’s wait for its payment provider (
      {span(DEFAULTS.gatewayTimeLimitMs / 1000)} unless it is set otherwise) and than your <code>Prefer: wait</code>: 30
      seconds fits both. A try that you cut off goes on without you, and the next one gets its answer.
    </p>
    <p>
      <ProblemLink code="idempotency_outcome_unknown" /> can take longer than the others: the provider has to be asked,
      and <code>Retry-After</code> then names the time of the next look-up, which can be minutes away. Nothing is lost
      meanwhile. Never end such a wait with a new key.
    </p>
  </>
)
