// The benchmark's own arithmetic: a table that rounds in its own favour would be worse than none.
import { expect, test } from 'vitest'
import type { Rates, Trial } from './rounds'
import { isMet, rateRow } from './row'
import { median, spread } from './statistics'

test('the median of an even number of rounds lies between the middle two', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(median([10, 1, 3])).toBe(3)
})

test('a spread names the median and both ends', () => {
  expect(spread([0.9, 0.8, 1.1], 2)).toBe('0.90 (0.80–1.10)')
})

test('a row is met by what the table shows of it: at its limit, and not a hundredth beyond', () => {
  expect(isMet({ atLeast: 0.8 }, { ratios: [0.8] })).toBe(true)
  expect(isMet({ atLeast: 0.8 }, { ratios: [0.79] })).toBe(false)
  expect(isMet({ atMost: 1.5 }, { ratios: [1.5] })).toBe(true)
  expect(isMet({ atMost: 1.5 }, { ratios: [1.51] })).toBe(false)
})

test('a ratio is one of neighbours in the same round, never of two medians', async () => {
  const sample: Record<string, number[]> = { ours: [100, 10, 300], unguarded: [200, 10, 400] }
  const of: Trial = { contender: 'ours', kind: 'fresh' }
  const by: Trial = { contender: 'unguarded', kind: 'fresh' }
  const row = rateRow({ name: 'x', what: '', against: '', reach: { atLeast: 1 }, of, by })
  const rates: Rates = { of: (trial) => sample[trial.contender]!, all: () => [] }
  const measured = await row.measure({ rates } as Parameters<typeof row.measure>[0])
  expect(measured.ratios).toEqual([0.5, 1, 0.75])
})
