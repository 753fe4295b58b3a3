import table from '../_parts/table.module.css'
import { WhatARetryGets } from '../_parts/what-a-retry-gets'
import { pretty } from '../_parts/wire'
import { ADVICES, RETRY_WORDS, retryExample } from '../_reference/retry-words'
import styles from '../docs.module.css'

export function Retries() {
  return (
    <section id="retries" className={styles.section} aria-labelledby="retries-title">
      <h2 id="retries-title">Retries</h2>
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
      <p>
        A 2xx or 4xx that the operation itself came to is stored and replayed, a declined payment too. A 5xx never is. A
        replay is the first answer byte for byte: same status, body, <code>Location</code> and <code>Content-Type</code>
        , plus <code>Idempotent-Replayed: true</code>. To see how things are now, read the resource.
      </p>
      <h3 id="states">What the same request gets</h3>
      <WhatARetryGets />
      <p className={styles.quiet}>
        The same key with another request gets 422 in every state. Rates and caps count only requests that would make a
        new record: a retry is never refused for them.
      </p>
    </section>
  )
}
