import { describe, expect, it } from 'vitest'
import { boundCovering, percentile } from '../../lib/metrics/percentile'

describe('a percentile estimated from histogram buckets', () => {
  it.each([
    ['no measurements: no value', {}, 0.5, null],
    ['the middle of the only bucket', { '0.1': 100 }, 0.5, 0.075],
    ['the end of the only bucket', { '0.1': 100 }, 1, 0.1],
    ['the first bucket, from zero', { '0.001': 10 }, 0.5, 0.0005],
    ['the end of the first of two', { '0.1': 50, '0.25': 50 }, 0.5, 0.1],
    ['the second of two', { '0.1': 50, '0.25': 50 }, 0.75, 0.175],
    ['a share past empty buckets', { '0.001': 99, '10': 1 }, 0.995, 7.5],
    ['a share beyond the last bound: the last bound', { '0.1': 1, '+Inf': 9 }, 0.99, 60],
  ] as const)('is right for %s', (_, buckets, share, expected) => {
    const found = percentile('duration', buckets, share)
    if (expected === null) expect(found).toBeNull()
    else expect(found).toBeCloseTo(expected, 10)
  })
})

describe('the upper bound for a share of a histogram', () => {
  it('is the end of the bucket that covers the share', () => {
    expect(boundCovering('replay_delay', { '1': 998, '3600': 2 }, 0.999)).toBe(3600)
    expect(boundCovering('replay_delay', { '1': 999, '3600': 1 }, 0.999)).toBe(1)
  })

  it('is unknown beyond the last bucket and without measurements', () => {
    expect(boundCovering('replay_delay', { '1': 1, '+Inf': 9 }, 0.999)).toBeNull()
    expect(boundCovering('replay_delay', {}, 0.999)).toBeNull()
  })
})
