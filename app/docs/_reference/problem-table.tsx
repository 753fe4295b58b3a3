import { PROBLEM_CODES } from '../../../lib/http/openapi-problem'
import { PROBLEMS, type ProblemCode } from '../../../lib/http/problem'
import { Chapter, ProblemLink } from '../_parts/chapter'
import table from '../_parts/table.module.css'
import { CLIENT_CODES, nextStep } from './next-step'
import { RETRY_WORDS } from './retry-words'

const byStatus = [...PROBLEM_CODES].sort((a, b) => PROBLEMS[a].status - PROBLEMS[b].status)

export const ProblemTable = () => (
  <Chapter id="problems" title="Problems">
    <p>
      Errors are <code>application/problem+json</code> (RFC 9457). Switch on <code>code</code>, do what{' '}
      <code>retry</code> says; <code>type</code> leads to the page of the problem here, which says what to do next.
      Codes never change their meaning; take one that you do not know for its <code>retry</code>.
    </p>
    <h3>Of clients</h3>
    <Problems codes={byStatus.filter((code) => CLIENT_CODES.has(code))} />
    <h3>Of operators, providers and the service</h3>
    <Problems codes={byStatus.filter((code) => !CLIENT_CODES.has(code))} />
  </Chapter>
)

function Problems({ codes }: { codes: readonly ProblemCode[] }) {
  const charging = codes.some((code) => nextStep(code).charged !== null)
  return (
    <table className={table.table}>
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Code</th>
          <th scope="col">What happened</th>
          <th scope="col">Retry</th>
          {charging && <th scope="col">Was anything charged?</th>}
        </tr>
      </thead>
      <tbody>
        {codes.map((code) => (
          <tr key={code}>
            <td>{PROBLEMS[code].status}</td>
            <th scope="row">
              <ProblemLink code={code} />
            </th>
            <td>{PROBLEMS[code].title}</td>
            <td className={`${table.quiet} ${table.keep}`}>{RETRY_WORDS[PROBLEMS[code].retry].short}</td>
            {charging && <td className={table.quiet}>{nextStep(code).charged}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
