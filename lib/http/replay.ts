// The shortest way to an answer: somebody sends again, byte for byte, what was answered before, and the answer is at
// hand. Nothing is parsed, nobody is asked and nothing is waited for, so it is no promise either. Whatever is not exactly
// this goes the long way, and finds there what it would have found.
import type { IncomingHttpHeaders } from 'node:http'
import type { Finished, Prepared, Sent } from '../idempotency/answers'
import { plainKey, quoteKey } from '../idempotency/key'
import { replayOf } from '../idempotency/run'
import type { Services } from '../node/services'
import { isJson, MAX_BODY_BYTES } from './body'
import { headersOf } from './outcome'
import { parsePrefer } from './prefer'
import { requestIdFrom } from './request-id'
import { complete } from './respond'

/** An answer as Node's server takes it: names and values in turn. */
export interface Replay {
  status: number
  head: string[]
  body: string
  encoding: Prepared['encoding']
}

/** Whether a request can be a plain replay, by what is known of it before its body comes. */
export function isPlainRepeat(node: Services, headers: IncomingHttpHeaders): boolean {
  return (
    headers['idempotency-key'] !== undefined &&
    // What they prefer is answered with a header of its own, and how old they may be is asked of every request.
    headers.prefer === undefined &&
    node.config.maxRequestAgeMs === null &&
    isJson(headers['content-type'] ?? null) &&
    Number(headers['content-length']) <= MAX_BODY_BYTES &&
    node.authenticator.recall(headers.authorization) !== undefined
  )
}

/** The answer of one who sent the very same: whatever is checked of a request was checked of that one. */
export function sentBefore(
  node: Services,
  { tenantId, endpoint, key }: { tenantId: string; endpoint: string; key: string | string[] | null | undefined },
  sent: Sent,
): Finished | undefined {
  const plain = typeof key === 'string' ? plainKey(key) : null
  const known = plain === null ? undefined : node.boundary.answers?.find(tenantId, endpoint, plain)
  const before = known?.sent
  return before?.body === sent.body && before.params === sent.params && before.contentType === sent.contentType
    ? known
    : undefined
}

export function replayed(
  node: Services,
  finished: Finished,
  requestId: string | string[] | undefined,
  startedMs: number,
): Replay {
  node.metrics.replayed(finished, startedMs)
  finished.prepared ??= prepare(finished)
  const { head, encoding } = finished.prepared
  const { status, body } = finished.answer
  const id = requestIdFrom(typeof requestId === 'string' ? requestId : null)
  return { status, head: [...head, 'x-request-id', id], body, encoding }
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length

/** All that is the same every time. Node sends head and body as one text, in the body's encoding. */
function prepare(finished: Finished): Prepared {
  const { body } = finished.answer
  const { headers } = complete(finished.answer, {
    ...headersOf(replayOf(finished), parsePrefer(null)),
    'idempotency-key': quoteKey(finished.key),
    'content-length': String(Buffer.byteLength(body)),
  })
  const head = Object.entries(headers).flat()
  return { head, encoding: isAscii([...head, body].join('')) ? 'latin1' : 'utf8' }
}
