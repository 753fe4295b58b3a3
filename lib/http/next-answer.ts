// What the next retry would be sent, through the very functions that send it.
import type { Next, NextReplay } from '../console/next-replay'
import { quoteKey } from '../idempotency/key'
import { headersOf, partsOf } from './outcome'
import { NO_PREFERENCE } from './prefer'
import { problem, type Retry } from './problem'
import type { Parts } from './respond'

export function nextAnswer(next: Next, key: string): NextReplay {
  switch (next.kind) {
    case 'answered':
      // A retry never creates a record, so no limit can be in its way.
      return shown(partsOf(next.outcome, { ok: true }, NO_PREFERENCE), key, headersOf(next.outcome, NO_PREFERENCE))
    case 'refused':
      return shown(problem('unauthenticated'), key)
    case 'runs':
    case 'settles':
      return { kind: next.kind, status: null, headers: null, body: null, code: null, retry: null }
  }
}

function shown({ status, headers, body }: Parts, key: string, more: Record<string, string | null> = {}): NextReplay {
  const all = { ...headers, 'idempotency-key': quoteKey(key), ...more }
  const sent = Object.entries(all).filter((header): header is [string, string] => header[1] !== null)
  const { code = null, retry = null } = problemIn(headers, body)
  return { kind: 'answered', status, headers: Object.fromEntries(sent), body, code, retry }
}

function problemIn(headers: Record<string, string>, body: string): { code?: string; retry?: Retry } {
  return headers['content-type'] === 'application/problem+json' ? JSON.parse(body) : {}
}
