// What a request may do about a record that it finds: every state with every flag that could sway it.
import { describe, expect, it } from 'vitest'
import { type Decision, decide } from '../../lib/idempotency/decide'
import type { KeyRecord } from '../../lib/idempotency/record'
import { STATES, type State } from '../../lib/idempotency/states'

const MINE = `v1:${'a'.repeat(64)}`
const OTHER = `v1:${'b'.repeat(64)}`

interface Flags {
  leaseOver: boolean
  effectEvidence: boolean
  pastExpiry: boolean
  async: boolean
}

const BOTH = [false, true]
const ALL_FLAGS: Flags[] = BOTH.flatMap((leaseOver) =>
  BOTH.flatMap((effectEvidence) =>
    BOTH.flatMap((pastExpiry) => BOTH.map((async) => ({ leaseOver, effectEvidence, pastExpiry, async }))),
  ),
)

const recordOf = (state: State, flags: Flags): KeyRecord => ({
  id: 'idem_1',
  tenantId: 'ten_1',
  endpoint: 'POST /api/orders',
  key: 'a-key-of-this-tenant',
  fingerprint: MINE,
  state,
  async: flags.async,
  attempt: 1,
  version: 1,
  recoveryPoint: 'charging',
  effectEvidence: flags.effectEvidence,
  moneyDiffers: false,
  inDoubt: false,
  lookUp: { until: new Date(), isPast: false, progress: null },
  leaseLeftMs: state === 'in_progress' ? (flags.leaseOver ? 0 : 1) : null,
  reconcileInMs: null,
  beingAsked: false,
  pastExpiry: flags.pastExpiry,
  answer: state === 'completed' ? { status: 201, headers: {}, body: '{}' } : null,
  responseStatus: state === 'completed' ? 201 : null,
  resource: { type: 'order', id: 'ord_1' },
  createdAt: new Date(0),
  completedAt: null,
  expiresAt: new Date(0),
})

/** The contract's words, one line a case: the first that fits is meant. */
function expected(state: State, { leaseOver, effectEvidence, pastExpiry, async }: Flags): Decision {
  if (state === 'expired') return 'expired'
  if (state === 'completed') return pastExpiry ? 'expired' : 'replay'
  if (state === 'pending') return 'running'
  if (state === 'in_progress') return leaseOver ? 'lease_over' : 'running'
  // unknown never expires by itself, and evidence settles it and failed_retryable at once
  if (effectEvidence) return 'settle_by_evidence'
  if (state === 'unknown') return 'unknown'
  if (pastExpiry) return 'expired'
  return async ? 'running' : 'claim'
}

const cases = STATES.flatMap((state) =>
  ALL_FLAGS.map((flags) => {
    const named = Object.entries(flags).flatMap(([name, set]) => (set ? [name] : []))
    return { state, flags, named: named.join(', ') || 'nothing else', decision: expected(state, flags) }
  }),
)

describe('the decision for the same request', () => {
  it.each(cases)('on a record in $state with $named: $decision', ({ state, flags, decision }) => {
    expect(decide(recordOf(state, flags), MINE)).toBe(decision)
  })

  it('has every value but misuse in this table', () => {
    const decisions = new Set(cases.map(({ decision }) => decision))
    expect([...decisions].sort()).toEqual(
      ['claim', 'expired', 'lease_over', 'replay', 'running', 'settle_by_evidence', 'unknown'].sort(),
    )
  })

  it('is lease_over from the exact end of the lease', () => {
    const flags = { leaseOver: false, effectEvidence: false, pastExpiry: false, async: false }
    const decisionAt = (leaseLeftMs: number) => decide({ ...recordOf('in_progress', flags), leaseLeftMs }, MINE)
    expect([0.001, 0, -0.001].map(decisionAt)).toEqual(['running', 'lease_over', 'lease_over'])
  })
})

describe('the decision for another request with the same key', () => {
  it.each(cases)('is misuse on a record in $state with $named', ({ state, flags }) => {
    expect(decide(recordOf(state, flags), OTHER)).toBe('misuse')
  })
})
