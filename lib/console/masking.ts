// What a client sent, as everybody may see it: how it paid and what it wrote in its own words are covered. To read them
// is an act of its own, which is remembered.
import type { Input } from '../idempotency/operation'

export const MASK = '••••••'

/** Wherever they stand. Ids, amounts and currencies are what support works with. */
const COVERED: ReadonlySet<string> = new Set(['paymentMethod', 'note', 'reason'])

export const masked = <Text extends string | null>(text: Text): Text => (text === null ? text : (MASK as Text))

export const maskedInput = ({ params, body }: Input): Input => ({ params, body: cover(body) })

function cover(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cover)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, COVERED.has(name) && member !== null ? MASK : cover(member)]),
  )
}
