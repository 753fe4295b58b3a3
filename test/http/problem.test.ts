import { describe, expect, it } from 'vitest'
import { PROBLEM_CODES, Problem } from '../../lib/http/openapi-problem'
import { PROBLEMS, type ProblemCode, problem, retryOf } from '../../lib/http/problem'

const RETRY = {
  new: { sameKey: false, newKey: true, afterSeconds: null },
  same: { sameKey: true, newKey: false, afterSeconds: null },
  later: { sameKey: true, newKey: false, afterSeconds: expect.any(Number) },
  none: { sameKey: false, newKey: false, afterSeconds: null },
}

/** The contract's table, row by row, and what HTTP itself refuses. */
const CONTRACT: [ProblemCode, number, keyof typeof RETRY][] = [
  ['idempotency_key_missing', 400, 'new'],
  ['idempotency_key_invalid', 400, 'new'],
  ['malformed_json', 400, 'same'],
  ['malformed_request', 400, 'same'],
  ['headers_too_large', 431, 'same'],
  ['request_timeout', 408, 'same'],
  ['method_not_allowed', 405, 'none'],
  ['body_too_large', 413, 'same'],
  ['unsupported_media_type', 415, 'same'],
  ['invalid_request', 400, 'same'],
  ['request_too_old', 400, 'same'],
  ['unauthenticated', 401, 'same'],
  ['idempotency_key_reused', 422, 'new'],
  ['idempotency_key_in_progress', 409, 'later'],
  ['idempotency_outcome_unknown', 409, 'later'],
  ['idempotency_key_expired', 410, 'none'],
  ['payment_declined', 402, 'new'],
  ['order_not_found', 404, 'new'],
  ['order_not_refundable', 409, 'new'],
  ['refund_exceeds_order', 409, 'new'],
  ['request_expired', 408, 'new'],
  ['payment_provider_unavailable', 503, 'later'],
  ['payment_outcome_unknown', 504, 'later'],
  ['idempotency_store_unavailable', 503, 'later'],
  ['restore_in_progress', 503, 'later'],
  ['rate_limited', 429, 'later'],
  ['active_key_limit', 429, 'later'],
  ['internal_error', 500, 'later'],
]

const bodyOf = (code: ProblemCode) => JSON.parse(problem(code).body)

describe('problem responses', () => {
  it.each(CONTRACT)('%s has status %i and retry advice: %s', (code, status, retry) => {
    expect(problem(code).status).toBe(status)
    expect(bodyOf(code)).toMatchObject({ code, status, retry: RETRY[retry] })
  })

  it.each(PROBLEM_CODES)('%s matches the schema and has title, detail and advice', (code) => {
    const body = bodyOf(code)
    expect(Problem.strict().parse(body)).toEqual(body)
    for (const words of [PROBLEMS[code].title, PROBLEMS[code].detail, PROBLEMS[code].advice]) expect(words).not.toBe('')
    expect(problem(code).headers['content-type']).toBe('application/problem+json')
  })

  it('the type of each problem is the path of its documentation page', async () => {
    // A page of the whole app: the first import takes its time on a busy machine.
    const { generateStaticParams, dynamicParams } = await import('../../app/docs/problems/[code]/page')
    expect(dynamicParams).toBe(false)
    const pages = generateStaticParams().map((params) => `/docs/problems/${params.code}`)
    expect(PROBLEM_CODES.map((code) => bodyOf(code).type)).toEqual(pages)
  }, 60_000)

  it.each(PROBLEM_CODES)('%s has Retry-After exactly when its body names seconds', (code) => {
    const { afterSeconds } = bodyOf(code).retry
    expect(problem(code).headers['retry-after']).toBe(afterSeconds === null ? undefined : String(afterSeconds))
  })

  it.each([
    [0, 1],
    [0.2, 1],
    [1, 1],
    [1.2, 2],
    [30, 30],
  ])('a retry delay of %d s is rounded up to %d, and is never 0', (given, expected) => {
    expect(retryOf('later', given).afterSeconds).toBe(expected)
    expect(problem('rate_limited', { afterSeconds: given }).headers['retry-after']).toBe(String(expected))
  })

  it('retry advice can be overridden with none, as a GET does', () => {
    expect(JSON.parse(problem('order_not_found', { retry: 'none' }).body).retry).toEqual(RETRY.none)
  })

  it('only unauthenticated has a WWW-Authenticate header', () => {
    for (const code of PROBLEM_CODES)
      expect(problem(code).headers['www-authenticate']).toBe(code === 'unauthenticated' ? 'Bearer' : undefined)
  })
})
