// One call of the API: what it does, what it takes, what it answers; beside it, one exchange.
import { PROBLEMS } from '../../../lib/http/problem'
import table from '../_parts/table.module.css'
import { Wire } from '../_parts/wire'
import styles from '../docs.module.css'
import { componentName, follow, type Operation, type Parameter, type Schema } from './document'
import { answerText, requestText, statusLine } from './exchange'
import { Fields, rulesOf, sentences } from './fields'
import { OBJECTS } from './objects'
import { Inline, Prose } from './prose'

export function OperationSection({ operation }: { operation: Operation }) {
  const { id, method, path, summary, description, parameters, body, answers } = operation
  const [first] = answers
  const example = first && answerText(first.status, first.answer)
  return (
    <section id={id} className={styles.operation} aria-labelledby={`${id}-title`}>
      <div className={styles.words}>
        <h3 id={`${id}-title`}>{summary}</h3>
        <p className={styles.call}>
          <span className={styles.method}>{method}</span> <code>{path}</code>
        </p>
        {description && <Prose>{description}</Prose>}
        {parameters.length > 0 && (
          <>
            <h4>Parameters</h4>
            <Parameters parameters={parameters} />
          </>
        )}
        {body?.schema && (
          <>
            <h4>Body</h4>
            <Fields of={follow<Schema>(body.schema)} requests />
          </>
        )}
        <h4>Answers</h4>
        <Answers operation={operation} />
      </div>
      <div className={styles.examples}>
        <Wire label="Request">{requestText(operation)}</Wire>
        {example && <Wire label="Answer">{example}</Wire>}
      </div>
    </section>
  )
}

function Parameters({ parameters }: { parameters: Parameter[] }) {
  return (
    <table className={table.table}>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">In</th>
          <th scope="col">What it is</th>
        </tr>
      </thead>
      <tbody>
        {parameters.map((parameter) => (
          <tr key={parameter.name}>
            <th scope="row" className={table.keep}>
              <code>{parameter.name}</code>
            </th>
            <td className={`${table.quiet} ${table.keep}`}>
              {parameter.in}
              {parameter.required ? ', required' : ''}
            </td>
            <td>
              <Inline>
                {sentences(
                  parameter.in === 'query' && parameter.schema ? rulesOf(follow<Schema>(parameter.schema)) : [],
                  parameter.description ?? '',
                )}
              </Inline>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Answers({ operation }: { operation: Operation }) {
  return (
    <table className={table.table}>
      <thead>
        <tr>
          <th scope="col" className={styles.status}>
            Status
          </th>
          <th scope="col">What it says</th>
        </tr>
      </thead>
      <tbody>
        {operation.answers.map(({ status, answer, codes }) => {
          const object = componentName(answer.content?.['application/json']?.schema)
          return (
            <tr key={status}>
              <th scope="row" className={table.keep}>
                {statusLine(status)}
              </th>
              <td>
                {codes.length > 0 ? (
                  <ul className={styles.codes}>
                    {codes.map((code) => (
                      <li key={code}>
                        <a href={`/docs/problems/${code}`}>
                          <code>{code}</code>
                        </a>{' '}
                        <span className={table.quiet}>{PROBLEMS[code].title}</span>
                      </li>
                    ))}
                  </ul>
                ) : (
                  <Inline>{answer.description}</Inline>
                )}
                {object && object in OBJECTS && (
                  <>
                    {' '}
                    <a href={`#object-${object}`}>{object}</a>
                  </>
                )}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
