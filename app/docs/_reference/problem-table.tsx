import Link from 'next/link'
import { PROBLEM_CODES } from '../../../lib/http/openapi-problem'
import { PROBLEMS } from '../../../lib/http/problem'
import table from '../_parts/table.module.css'
import styles from '../docs.module.css'
import { RETRY_WORDS } from './retry-words'

const byStatus = [...PROBLEM_CODES].sort((a, b) => PROBLEMS[a].status - PROBLEMS[b].status)

export function ProblemTable() {
  return (
    <section id="problems" className={styles.section} aria-labelledby="problems-title">
      <h2 id="problems-title">Problems</h2>
      <p>
        Errors are <code>application/problem+json</code> (RFC 9457). Switch on <code>code</code>, do what{' '}
        <code>retry</code> says; <code>type</code> leads to the page of the problem here.
      </p>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Code</th>
            <th scope="col">What happened</th>
            <th scope="col">Retry</th>
          </tr>
        </thead>
        <tbody>
          {byStatus.map((code) => (
            <tr key={code}>
              <td>{PROBLEMS[code].status}</td>
              <th scope="row">
                <Link href={`/docs/problems/${code}`} prefetch={false}>
                  <code>{code}</code>
                </Link>
              </th>
              <td>{PROBLEMS[code].title}</td>
              <td className={`${table.quiet} ${table.keep}`}>{RETRY_WORDS[PROBLEMS[code].retry].short}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
