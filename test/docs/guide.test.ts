// What the guide says in tables is what the code does.
import { describe, expect, it } from 'vitest'
import { EXAMPLES, exampleText, RETRIES } from '../../app/docs/_examples/text'
import { PAIRS } from '../../app/docs/_guide/same-request-pairs'
import { span } from '../../app/docs/_parts/spans'
import { CLIENT_CODES, nextStep } from '../../app/docs/_reference/next-step'
import { PROBLEM_CODES } from '../../lib/http/openapi-problem'
import { PROBLEMS } from '../../lib/http/problem'
import { fingerprint } from '../../lib/idempotency/fingerprint'
import { RefundRequest } from '../../lib/orders/schema'

const refundFingerprint = (body: string): string =>
  fingerprint({
    method: 'POST',
    endpoint: 'POST /api/orders/{id}/refunds',
    params: { id: 'ord_1' },
    body: RefundRequest.parse(JSON.parse(body)),
  })

describe('two refund requests in the guide have the same fingerprint', () => {
  it.each(PAIRS)('$name: $same', ({ one, other, same }) => {
    expect(one).not.toBe(other)
    expect(refundFingerprint(one) === refundFingerprint(other)).toBe(same)
  })
})

describe('a setting in the guide', () => {
  it.each([
    [604_800, '7 days'],
    [86_400, '24 hours'],
    [3600, '1 hour'],
    [5400, '90 minutes'],
    [10, '10 seconds'],
    [0.5, '0.5 seconds'],
  ])('of %d s is written as “%s”', (seconds, words) => {
    expect(span(seconds)).toBe(words)
  })
})

describe('the guide’s advice after a problem', () => {
  it.each([...CLIENT_CODES])('%s: says whether anything was charged', (code) => {
    expect(nextStep(code).charged).toEqual(expect.any(String))
  })

  it('tells a program to retry by itself exactly when the problem’s retry is “later”', () => {
    for (const code of PROBLEM_CODES)
      expect(nextStep(code).again === 'Yes, by itself.', code).toBe(PROBLEMS[code].retry === 'later')
  })

  it('never offers a new key when the request may have been executed', () => {
    for (const code of PROBLEM_CODES)
      if (PROBLEMS[code].retry === 'later' || PROBLEMS[code].retry === 'same')
        expect(nextStep(code).key, code).toMatch(/^The same\b/)
  })

  it('calls a reused key a bug and not a retry', () => {
    expect(nextStep('idempotency_key_reused').again).toMatch(/^No\. It is a bug/)
    expect(PROBLEMS.idempotency_key_reused.advice).toContain('no program go on with a new key')
  })
})

describe('the guide’s examples', () => {
  it.each([...EXAMPLES, ...RETRIES])('%s fits into its frame', (name) => {
    for (const line of exampleText(name).split('\n')) expect(line.length, line).toBeLessThanOrEqual(97)
  })

  it('contain no API key and no URL', () => {
    for (const name of [...EXAMPLES, ...RETRIES]) expect(exampleText(name)).not.toMatch(/oo_(live|demo)_\w|https?:\/\//)
  })
})
