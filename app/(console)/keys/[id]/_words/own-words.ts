// What somebody wrote in their own words stands in answers too, which come masked: once the request is unmasked, so are
// they. Nothing else of an answer is touched, and its bytes are the same otherwise.
import type { Input } from '../../../../../lib/idempotency/operation'
import { MASK } from '../../../../../lib/orders/masking'

const OWN_WORDS = ['note', 'reason'] as const

/** Which of them a body has. */
export function ownWordsIn(body: string): string[] {
  const answer = parsed(body)
  return OWN_WORDS.filter((name) => typeof answer?.[name] === 'string')
}

/** As it is sent, for whoever has read the request. */
export function unmaskBody(body: string, { body: asked }: Input): string {
  const request = (asked ?? {}) as Record<string, unknown>
  const names = ownWordsIn(body)
  if (names.length === 0) return body
  const plain = names.map((name) => [name, request[name] ?? MASK])
  return JSON.stringify({ ...parsed(body), ...Object.fromEntries(plain) })
}

function parsed(body: string): Record<string, unknown> | null {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}
