// What may be answered to anything at all, and what an answer may have left behind.
import { PROBLEMS, type ProblemCode } from '../../../lib/http/problem'
import type { BadRequest, WireAnswer } from './wire'

/**
 * What is not a problem of ours, because it never got to us: Node's parser refuses a message that is none (400), one
 * whose head is too large (431) or whose chunks are (413), and an expectation that it does not know (417); Next has no
 * such method (405). All of them come without a body. Beside the API there are pages, which say in HTML that there is
 * nothing (404), and files and pictures, for which Next says so, or what it does not like (400, 405 for a
 * method other than GET of a public page, and 409 for a server action that is none), in plain words.
 */
const REFUSED_BEFORE_US: readonly number[] = [400, 405, 413, 417, 431]

const REFUSED_BESIDE_US: readonly number[] = [400, 404, 405, 409]

export interface Problem {
  code: ProblemCode
  status: number
}

/** The problem in an answer; throws for a refusal that is neither a problem of ours nor one of those above. */
export function problemIn(request: BadRequest, { status, headers, body }: WireAnswer): Problem | null {
  if (status >= 500) throw new Error(`answered ${status}: ${body.slice(0, 500)}`)
  if (status < 400) return null
  const type = headers['content-type']
  if (type === undefined && body === '' && REFUSED_BEFORE_US.includes(status)) return null
  if (REFUSED_BESIDE_US.includes(status) && !request.target.startsWith('/api/')) return null
  if (type !== 'application/problem+json') throw new Error(`answered ${status} as ${type}: ${body.slice(0, 500)}`)
  if (request.method === 'HEAD') return null
  const problem = JSON.parse(Buffer.from(body, 'latin1').toString('utf8')) as Problem
  const known = PROBLEMS[problem.code]
  if (!known || known.status !== status || problem.status !== status)
    throw new Error(`answered ${status} with a problem that the reference does not have: ${body.slice(0, 500)}`)
  return problem
}

/** Refused before anything began: such an answer leaves nothing, whatever was asked. */
const NOTHING_BEGAN: readonly ProblemCode[] = [
  'unauthenticated',
  'unsupported_media_type',
  'body_too_large',
  'malformed_json',
  'idempotency_key_missing',
  'idempotency_key_invalid',
  'request_too_old',
  'invalid_request',
  'invalid_signature',
  'cross_origin',
  'rate_limited',
  'idempotency_key_not_found',
  'refund_not_found',
]

const READS = ['GET', 'HEAD', 'OPTIONS']

/**
 * The tables that an answer may have added to: none, or, for what was taken or is contracted to be remembered, any.
 * Who was forbidden is in the audit log, and nowhere else.
 */
export function mayHaveStored(
  request: BadRequest,
  answer: WireAnswer | null,
  problem: Problem | null,
): 'nothing' | 'audit' | 'all' {
  if (problem?.code === 'forbidden') return 'audit'
  // Node hangs up on a CONNECT. Whoever is understood is answered, so who is not was not.
  if (answer === null) return 'nothing'
  if (problem) {
    if (/^\/api\/auth\/sign-in/.test(request.target)) return 'all'
    if (NOTHING_BEGAN.includes(problem.code) || READS.includes(request.method)) return 'nothing'
    // Of a keyed POST the answer itself is stored; anything else that is not there was only looked for.
    return request.method === 'POST' && answer.headers['idempotency-key'] !== undefined ? 'all' : 'nothing'
  }
  if (answer.status >= 300) return 'nothing'
  return READS.includes(request.method) ? 'nothing' : 'all'
}
