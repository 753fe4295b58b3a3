// What a client sent and was answered, as operators see it: how it paid and what it wrote in its own words are masked. To
// read them is an act of its own, which is audited.
import type { Input } from '../idempotency/operation'

export const MASK = '••••••'

/** Wherever they stand. Ids, amounts and currencies are what support works with. */
const COVERED: ReadonlySet<string> = new Set(['paymentMethod', 'note', 'reason'])

export const masked = <Text extends string | null>(text: Text): Text => (text === null ? text : (MASK as Text))

export const maskedInput = ({ params, body }: Input): Input => ({ params, body: cover(body) })

/** Of an answer, with or without a body in it. Without anything to mask, the very same bytes. */
export function maskedAnswer<Answer extends { body: string | null }>(answer: Answer): Answer {
  if (answer.body === null) return answer
  try {
    const stored: unknown = JSON.parse(answer.body)
    const shown = JSON.stringify(cover(stored))
    return shown === JSON.stringify(stored) ? answer : { ...answer, body: shown }
  } catch {
    return answer
  }
}

function cover(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cover)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, COVERED.has(name) && member !== null ? MASK : cover(member)]),
  )
}
