// The headers of answers to keyed requests, from the document: what each says, and with which statuses it comes.
import type { oas31 } from 'zod-openapi'
import { Chapter, Rows } from '../_parts/chapter'
import { follow, operations } from './document'
import { Inline } from './prose'

const KEYED = ['placeOrder', 'refundOrder']

interface AnswerHeader {
  name: string
  description: string
  statuses: number[]
}

function answerHeaders(): AnswerHeader[] {
  const found = new Map<string, AnswerHeader>()
  for (const { answers } of operations.filter(({ id }) => KEYED.includes(id)))
    for (const { status, answer } of answers)
      for (const [name, header] of Object.entries(answer.headers ?? {})) {
        const { description = '' } = follow<oas31.HeaderObject>(header)
        const known = found.get(name) ?? { name, description, statuses: [] }
        const words = known.description.includes(description)
          ? known.description
          : `${known.description}. ${description}`
        found.set(name, {
          ...known,
          description: words,
          statuses: [...new Set([...known.statuses, status])].sort((a, b) => a - b),
        })
      }
  return [...found.values()]
}

/** On so many of them that naming each says less. */
const statusesInWords = (statuses: readonly number[], all: number): string =>
  statuses.length === all ? 'Every answer' : statuses.join(', ')

export function AnswerHeaders() {
  const headers = answerHeaders()
  const all = Math.max(...headers.map(({ statuses }) => statuses.length))
  return (
    <Chapter id="headers" title="Headers of answers">
      <p>To a keyed POST. Names are matched without regard to case.</p>
      <Rows
        keepNames
        head={['Header', 'What it says', 'With']}
        rows={headers.map(({ name, description, statuses }) => ({
          name,
          shown: <code>{name}</code>,
          cells: [<Inline key="says">{description}</Inline>, statusesInWords(statuses, all)],
        }))}
      />
    </Chapter>
  )
}
