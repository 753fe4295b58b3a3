import { describe, expect, it } from 'vitest'
import { boundCovering, percentile } from '../../lib/metrics/percentile'

describe('a percentile', () => {
  it.each([
    ['nothing', {}, 0.5, null],
    ['the middle of the only bucket', { '0.1': 100 }, 0.5, 0.075],
    ['the end of the only bucket', { '0.1': 100 }, 1, 0.1],
    ['the first bucket, from zero', { '0.001': 10 }, 0.5, 0.0005],
    ['the end of the first of two', { '0.1': 50, '0.25': 50 }, 0.5, 0.1],
    ['the second of two', { '0.1': 50, '0.25': 50 }, 0.75, 0.175],
    ['past empty buckets', { '0.001': 99, '10': 1 }, 0.995, 7.5],
    ['beyond the last bound: at least that', { '0.1': 1, '+Inf': 9 }, 0.99, 60],
  ] as const)('of %s', (_, buckets, share, expected) => {
    const found = percentile('duration', buckets, share)
    if (expected === null) expect(found).toBeNull()
    else expect(found).toBeCloseTo(expected, 10)
  })
})

describe('a bound', () => {
  it('covers the share for certain: it is the end of the bucket', () => {
    expect(boundCovering('replay_delay', { '1': 998, '3600': 2 }, 0.999)).toBe(3600)
    expect(boundCovering('replay_delay', { '1': 999, '3600': 1 }, 0.999)).toBe(1)
  })

  it('is unknown beyond the last one, and where nothing was measured', () => {
    expect(boundCovering('replay_delay', { '1': 1, '+Inf': 9 }, 0.999)).toBeNull()
    expect(boundCovering('replay_delay', {}, 0.999)).toBeNull()
  })
})
