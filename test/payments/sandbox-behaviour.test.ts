import { describe, expect, it } from 'vitest'
import {
  type Behaviour,
  behaviourOf,
  courseOf,
  happensOnce,
  LATE_MAX_MS,
  SLOW_MAX_MS,
} from '../../lib/payments/sandbox-behaviour'

const NAMES: [string, Behaviour][] = [
  ['ok', { kind: 'ok' }],
  ['declined', { kind: 'declined' }],
  ['slow_0', { kind: 'slow', ms: 0 }],
  ['slow_250', { kind: 'slow', ms: 250 }],
  ['slow_60001', { kind: 'slow', ms: SLOW_MAX_MS }],
  [`slow_${'9'.repeat(400)}`, { kind: 'slow', ms: SLOW_MAX_MS }],
  ['timeout_charged', { kind: 'timeout_charged' }],
  ['timeout_lost_once', { kind: 'timeout_lost_once' }],
  ['late_500_once', { kind: 'late_once', ms: 500 }],
  ['late_90000_once', { kind: 'late_once', ms: 90_000 }],
  [`late_${'9'.repeat(400)}_once`, { kind: 'late_once', ms: LATE_MAX_MS }],
  ['refused_once', { kind: 'refused_once' }],
  ['error_once', { kind: 'error_once' }],
  ['unreachable', { kind: 'unreachable' }],
]

const UNLISTED = ['', 'card_visa', 'slow_', 'slow_-1', 'slow_1.5', 'slow_1e3', 'slow_abc', 'slow_ 5', 'late_500']
const MALFORMED = [
  'late__once',
  'late_x_once',
  'late_-5_once',
  'declined ',
  'DECLINED',
  'timeout_charged\n',
  'slow_5\n',
]

describe('behaviourOf', () => {
  it.each(NAMES)('reads %s from a payment method and from a reason', (name, behaviour) => {
    expect(behaviourOf({ kind: 'charge', paymentMethod: `pm_${name}` })).toEqual(behaviour)
    expect(behaviourOf({ kind: 'refund', paymentMethod: 'pm_ok', reason: `sandbox:${name}` })).toEqual(behaviour)
  })

  it.each([...UNLISTED, ...MALFORMED])('takes the unlisted %j as ok', (name) => {
    expect(behaviourOf({ kind: 'charge', paymentMethod: `pm_${name}` })).toEqual({ kind: 'ok' })
    expect(behaviourOf({ kind: 'refund', paymentMethod: 'pm_ok', reason: `sandbox:${name}` })).toEqual({ kind: 'ok' })
  })

  it('steers a charge by its payment method alone and a refund by its reason alone', () => {
    expect(behaviourOf({ kind: 'charge', paymentMethod: 'pm_ok', reason: 'sandbox:declined' }).kind).toBe('ok')
    expect(behaviourOf({ kind: 'charge', paymentMethod: 'declined' }).kind).toBe('ok')
    for (const reason of [undefined, null, 'declined', 'pm_declined', 'sandbox:pm_declined', ' sandbox:declined']) {
      expect(behaviourOf({ kind: 'refund', paymentMethod: 'pm_declined', reason }).kind).toBe('ok')
    }
  })
})

describe('courseOf', () => {
  it('takes the plain course from the second attempt on, for exactly the behaviours that happen once', () => {
    const plain = courseOf({ kind: 'ok' }, 1)
    for (const [name, behaviour] of NAMES) {
      expect(happensOnce(behaviour)).toBe(name.endsWith('_once'))
      const expected = happensOnce(behaviour) ? plain : courseOf(behaviour, 1)
      expect(courseOf(behaviour, 2)).toEqual(expected)
      expect(courseOf(behaviour, 3)).toEqual(expected)
    }
  })
})
