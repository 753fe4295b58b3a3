// The contract's form of a problem, checked whole: a test names the row of the table and gets the rest for nothing.
import { expect } from 'vitest'
import type { Answer, ProblemView } from './client'

export type Advice = 'new' | 'same' | 'later' | 'none'

const RETRY = {
  new: { sameKey: false, newKey: true, afterSeconds: null },
  same: { sameKey: true, newKey: false, afterSeconds: null },
  later: { sameKey: true, newKey: false, afterSeconds: expect.any(Number) },
  none: { sameKey: false, newKey: false, afterSeconds: null },
} as const satisfies Record<Advice, unknown>

export function expectProblem(answer: Answer, status: number, code: string, advice: Advice): ProblemView {
  expect({ status: answer.status, body: answer.bytes.toString() }).toMatchObject({
    status,
    body: expect.stringContaining(`"code":"${code}"`),
  })
  expect(answer.headers['content-type']).toBe('application/problem+json')
  const problem = answer.json<ProblemView>()
  expect(problem).toMatchObject({
    type: expect.stringMatching(/\S/),
    title: expect.stringMatching(/\S/),
    detail: expect.stringMatching(/\S/),
    status,
    code,
  })
  expect(problem.retry).toStrictEqual(RETRY[advice])
  const { afterSeconds } = problem.retry
  if (afterSeconds !== null) {
    expect(Number.isInteger(afterSeconds)).toBe(true)
    expect(afterSeconds).toBeGreaterThanOrEqual(1)
  }
  expect(answer.headers['retry-after']).toBe(afterSeconds === null ? undefined : String(afterSeconds))
  return problem
}
