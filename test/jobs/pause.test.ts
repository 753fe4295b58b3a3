import { describe, expect, it } from 'vitest'
import { pauseMs } from '../../lib/jobs/enqueue'

describe('the pause before the next run of an accepted request', () => {
  it.each([
    [1, 1000, 1000],
    [2, 1000, 2000],
    [9, 128_000, 256_000],
    [10, 150_000, 300_000],
    [5000, 150_000, 300_000],
  ])('after %d attempts is between %d and %d ms', (attempts, shortest, longest) => {
    expect(pauseMs(attempts, 0)).toBe(shortest)
    expect(pauseMs(attempts, 1)).toBe(longest)
  })
})
