import { describe, expect, it } from 'vitest'
import { KINDS, planned, requestsOf, SHARES, samplePlan } from '../../lib/traffic/plan'

const plan = samplePlan()

describe('a portion of sample traffic', () => {
  it('has every kind of step in the stated number', () => {
    for (const kind of KINDS) expect(plan.filter((step) => step.kind === kind)).toHaveLength(SHARES[kind].steps)
  })

  it('states beforehand how many requests it sends', () => {
    const told = planned(plan)
    expect(told.map(({ words }) => words)).toEqual(KINDS.map((kind) => SHARES[kind].words))
    expect(told.reduce((sum, { requests }) => sum + requests, 0)).toBe(
      plan.reduce((sum, step) => sum + requestsOf(step), 0),
    )
    expect(told.every(({ requests }) => requests > 0)).toBe(true)
  })

  it('is mixed: no rare kind comes twice in a row, and every kind comes in both halves', () => {
    const rare = KINDS.filter((kind) => SHARES[kind].steps <= 12)
    for (const [i, step] of plan.entries()) if (rare.includes(step.kind)) expect(plan[i + 1]?.kind).not.toBe(step.kind)
    for (const kind of KINDS) {
      const places = plan.flatMap((step, i) => (step.kind === kind ? [i] : []))
      expect(places[0]).toBeLessThan(plan.length / 2)
      expect(places.at(-1)).toBeGreaterThanOrEqual(plan.length / 2)
    }
  })

  it('has every failure of the sandbox, retries, duplicates, reused keys and refunds', () => {
    const methods = new Set(plan.map(({ body }) => body.paymentMethod))
    for (const method of [
      'pm_ok',
      'pm_declined',
      'pm_refused_once',
      'pm_timeout_charged',
      'pm_timeout_lost_once',
      'pm_error_once',
      'pm_unreachable',
    ])
      expect(methods).toContain(method)
    expect(new Set(plan.flatMap(({ next }) => next?.do ?? []))).toEqual(
      new Set(['retry', 'duplicate', 'reuse', 'refund']),
    )
    expect(plan.some(({ respondAsync }) => respondAsync)).toBe(true)
  })
})
