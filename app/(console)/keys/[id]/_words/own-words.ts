// What somebody wrote in their own words stands in answers too: there it is masked as in the request, until that is
// unmasked. Nothing else of an answer is touched, and its bytes are the same otherwise.
import type { Input } from '../../../../../lib/idempotency/operation'

const MASK = '••••••'
const OWN_WORDS = ['note', 'reason'] as const

/** Which of them a body has. */
export function ownWordsIn(body: string): string[] {
  const answer = parsed(body)
  return OWN_WORDS.filter((name) => typeof answer?.[name] === 'string')
}

export const maskBody = (body: string): string => replaced(body, () => MASK)

/** As it is sent, for whoever has read the request. */
export function unmaskBody(body: string, { body: asked }: Input): string {
  const request = (asked ?? {}) as Record<string, unknown>
  return replaced(body, (name) => request[name] ?? MASK)
}

function replaced(body: string, by: (name: string) => unknown): string {
  const names = ownWordsIn(body)
  if (names.length === 0) return body
  return JSON.stringify({ ...parsed(body), ...Object.fromEntries(names.map((name) => [name, by(name)])) })
}

function parsed(body: string): Record<string, unknown> | null {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}
