import { describe, expect, it } from 'vitest'
import { offersOf } from '../../app/(console)/keys/[id]/_words/offers'
import { verdictOf } from '../../app/(console)/keys/[id]/_words/verdict'
import { STATES } from '../../lib/idempotency/states'
import { aKey, aRefund, at, discrepancy, event, evidence, lookedUp, RESERVED, TIMED_OUT } from './a-key'

const PAST = at(0)
const SOON = new Date(Date.now() + 30_000).toISOString()
const answered = (status: number) => ({ response: { status } })

describe('the verdict shown on a key', () => {
  const order = aKey('completed').order!

  it.each([
    ['pending', aKey('pending'), 'Accepted, and waiting for a worker. Nothing has been sent to the provider.'],
    [
      'pending past its expiry',
      aKey('pending', { record: { expiresAt: PAST } }),
      'Accepted, and nobody ran it in time. The sweeper stores a 408 for it.',
    ],
    [
      'in progress',
      aKey('in_progress', { record: { lockedUntil: SOON } }),
      'Being worked on. It may charge USD 184.50 at any moment.',
    ],
    [
      'in progress, of a refund',
      aRefund('in_progress', { record: { lockedUntil: SOON } }),
      'Being worked on. It may give back USD 5.00 at any moment.',
    ],
    [
      'in progress, with a lease that ran out',
      aKey('in_progress', { record: { lockedUntil: PAST } }),
      'Its lease ran out. May have charged USD 184.50: the sweeper or the next request moves it on.',
    ],
    [
      'in progress, with a lease that ran out before the provider was called',
      aKey('in_progress', {
        record: { lockedUntil: PAST },
        nextReplay: { kind: 'runs', status: null, headers: null, body: null, code: null, retry: null },
      }),
      'Its lease ran out before the provider was called. Nothing was charged.',
    ],
    ['charged', aKey('completed', { record: answered(201) }), 'Charged USD 184.50 once, and answered 201.'],
    [
      'charged and partly given back',
      aKey('completed', { record: answered(201), order: { ...order, refundedCents: 500 } }),
      'Charged USD 184.50 once, and answered 201. USD 5.00 of it was given back since.',
    ],
    [
      'charged and all given back',
      aKey('completed', { record: answered(201), order: { ...order, refundedCents: 18_450 } }),
      'Charged USD 184.50 once, and answered 201. All of it was given back since.',
    ],
    ['refunded', aRefund('completed', { record: answered(201) }), 'Gave back USD 5.00 once, and answered 201.'],
    [
      'charged, with an open discrepancy',
      aKey('completed', { record: answered(201), discrepancies: [discrepancy('duplicate_charge')] }),
      'Charged USD 184.50, and answered 201. The provider says otherwise: see Evidence.',
    ],
    [
      'charged, with a closed discrepancy',
      aKey('completed', { record: answered(201), discrepancies: [discrepancy('duplicate_charge', at(90))] }),
      'Charged USD 184.50 once, and answered 201.',
    ],
    [
      'declined',
      aKey('completed', { record: answered(402) }),
      'Declined by the provider, and answered 402. Nothing was charged.',
    ],
    [
      'declined, of a refund',
      aRefund('completed', { record: answered(402) }),
      'Declined by the provider, and answered 402. Nothing was given back.',
    ],
    [
      'abandoned',
      aKey('completed', { record: answered(408) }),
      'Abandoned: nobody ran it in time, and it answered 408. Nothing was charged.',
    ],
    [
      'refused, no such order',
      aRefund('completed', { record: { ...answered(404), resource: null }, order: null, refund: null }),
      'Refused: there is no such order, and answered 404. Nothing was given back.',
    ],
    [
      'refused, not refundable',
      aRefund('completed', { record: { ...answered(409), resource: null }, refund: null }),
      'Refused: the order can’t be refunded so, and answered 409. Nothing was given back.',
    ],
    [
      'completed past its expiry',
      aKey('completed', { record: { ...answered(201), expiresAt: PAST } }),
      'Charged USD 184.50 once, and answered 201. Its time is over: the next request gets 410.',
    ],
    ['retryable', aKey('failed_retryable'), 'Proven: nothing was charged. The next request with this key runs it.'],
    [
      'retryable, of a refund',
      aRefund('failed_retryable'),
      'Proven: nothing was given back. The next request with this key runs it.',
    ],
    [
      'retryable by a worker',
      aKey('failed_retryable', { record: { async: true } }),
      'Proven: nothing was charged. A worker runs it again.',
    ],
    [
      'retryable, as a dead letter',
      aKey('failed_retryable', { record: { async: true, deadLetteredAt: at(90) } }),
      'Proven: nothing was charged. No worker runs it again by itself any more: a person can have it run again, until it expires.',
    ],
    [
      'retryable past its expiry',
      aKey('failed_retryable', { record: { expiresAt: PAST } }),
      'Proven: nothing was charged. Its time is over: the next request gets 410.',
    ],
    [
      'retryable, with evidence of a charge',
      aKey('failed_retryable', { evidence: [evidence(90)] }),
      'Taken for not executed, yet the provider has a charge. The next request settles it.',
    ],
    [
      'unknown, with the provider not asked yet',
      aKey('unknown', { timeline: [RESERVED, TIMED_OUT] }),
      'May have charged USD 184.50. The provider has not been asked yet.',
    ],
    [
      'unknown, with the provider unreachable',
      aKey('unknown', { timeline: [RESERVED, TIMED_OUT, lookedUp(40, 'unreachable')] }),
      'May have charged USD 184.50. The provider could not be asked so far.',
    ],
    [
      'unknown, with the provider undecided',
      aRefund('unknown', { timeline: [RESERVED, TIMED_OUT, lookedUp(40, 'pending')] }),
      'May have given back USD 5.00. The provider has it and has not decided.',
    ],
    [
      'unknown, with nothing found before the settle window is over',
      aKey('unknown', { timeline: [RESERVED, TIMED_OUT, lookedUp(40, 'too_early')] }),
      'May have charged USD 184.50. The provider has nothing yet, which is no proof: the call may still arrive.',
    ],
    [
      'unknown, with a look-up that is being continued',
      aKey('unknown', { timeline: [RESERVED, TIMED_OUT, lookedUp(40, 'unfinished')] }),
      'May have charged USD 184.50. The provider’s list is being read, with nothing found so far: the next look-up continues it.',
    ],
    [
      'unknown, with the provider asked about an earlier attempt only',
      aKey('unknown', {
        timeline: [RESERVED, TIMED_OUT, lookedUp(40, 'unreachable'), event(50, 'claimed', { attempt: 2 })],
      }),
      'May have charged USD 184.50. The provider has not been asked yet.',
    ],
    [
      'unknown, with one of several attempts declined',
      aKey('unknown', { record: { attempt: 2 }, evidence: [evidence(40, { verdict: 'declined' })] }),
      'May have charged USD 184.50. One attempt was declined, which is no proof for the others.',
    ],
    [
      'unknown, with evidence',
      aKey('unknown', { evidence: [evidence(40)] }),
      'May have charged USD 184.50. The provider has a charge: the next look-up or request settles it.',
    ],
    [
      'unknown, with evidence that can’t be booked',
      aKey('unknown', { evidence: [evidence(40)], discrepancies: [discrepancy('unbookable_evidence')] }),
      'May have charged USD 184.50. The provider has a charge that the ledger refuses: another key has booked it.',
    ],
    [
      'a dead letter',
      aKey('unknown', { record: { deadLetteredAt: at(900), reconcileAttempts: 12 } }),
      'May have charged USD 184.50. 12 look-ups and no answer: a person resolves it, or resumes its look-ups.',
    ],
    [
      'expired after a charge',
      aKey('expired', { record: answered(201), request: null }),
      'Charged USD 184.50 once, and answered 201. It has expired since.',
    ],
    [
      'expired after a decline',
      aKey('expired', { record: answered(402), request: null }),
      'Declined by the provider, and answered 402. Nothing was charged. It has expired since.',
    ],
    [
      'expired without an answer',
      aKey('expired', { request: null }),
      'Proven: nothing was charged. It has expired since.',
    ],
  ])('is right for a key that is %s', (_, detail, sentence) => {
    expect(verdictOf(detail)).toBe(sentence)
  })

  it('is a sentence for every state', () => {
    for (const state of STATES) expect(verdictOf(aKey(state))).toMatch(/\.$/)
  })
})

describe('the actions offered on a key', () => {
  const offered = (detail: ReturnType<typeof aKey>, role: 'viewer' | 'operator' | 'admin' = 'operator') => {
    const { ask, resolve, expire } = offersOf(detail, role)
    return Object.entries({ ask, resolve, expire })
      .filter(([, offer]) => offer.offered)
      .map(([name]) => name)
  }

  it.each([
    ['pending', []],
    ['in_progress', ['ask']],
    ['completed', ['ask', 'expire']],
    ['failed_retryable', ['ask', 'expire']],
    ['unknown', ['ask', 'resolve']],
    ['expired', []],
  ] as const)('are right for the state %s', (state, actions) => {
    expect(offered(aKey(state))).toEqual(actions)
    expect(offered(aKey(state), 'admin')).toEqual(actions)
  })

  it('come with a sentence, and with the reason where one is off', () => {
    for (const state of STATES)
      for (const offer of [offersOf(aKey(state), 'operator')].flatMap(({ ask, resolve, expire }) => [
        ask,
        resolve,
        expire,
      ]))
        expect(offer.sentence).toMatch(offer.offered ? /^[A-Z].*\.$/ : /^Off: .*\.$/)
    expect(offersOf(aKey('unknown'), 'operator').expire.sentence).toBe(
      'Off: the customer may have been charged. Resolve it first.',
    )
  })

  it('are none for a viewer', () => {
    for (const state of STATES) expect(offered(aKey(state), 'viewer')).toEqual([])
    expect(offersOf(aKey('unknown'), 'viewer').resolve.sentence).toBe(
      'Off: this takes the role operator; yours is viewer.',
    )
    expect(offersOf(aKey('unknown'), 'viewer').unmask.offered).toBe(false)
  })

  it('exclude asking about a refused request, and expiring a key with evidence of a charge', () => {
    expect(offered(aRefund('completed', { record: { resource: null } }))).toEqual(['expire'])
    expect(offered(aKey('failed_retryable', { evidence: [evidence(9)] }))).toEqual(['ask'])
  })

  it('exclude unmasking when the request is erased', () => {
    expect(offersOf(aKey('expired', { request: null }), 'admin').unmask.offered).toBe(false)
  })

  it('offer admins to reverse a booking that a verdict made, until it is reversed', () => {
    const entry = {
      id: 'pay_1',
      kind: 'charge',
      status: 'succeeded',
      amountCents: 18_450,
      currency: 'USD',
      providerRef: 'ch_typed',
      recordId: 'idem_01jcq2h8j1s7u2w5y8a1c4e7g0',
      own: true,
      reversalOf: null,
      reversedAt: null,
      createdAt: at(60),
    } as const
    const said = evidence(60, { source: 'operator', ref: 'ch_typed' })
    const reverse = (ledger: object, by: typeof said, role: 'operator' | 'admin') =>
      offersOf(aKey('completed', { ledger: [{ ...entry, ...ledger }], evidence: [by] }), role).reverse
    expect(reverse({}, said, 'admin')).toMatchObject({ offered: true })
    expect(reverse({}, said, 'operator')).toMatchObject({ offered: false })
    expect(reverse({}, { ...said, source: 'look_up' }, 'admin')).toBeNull()
    expect(reverse({ reversedAt: at(90) }, said, 'admin')).toBeNull()
    expect(reverse({ own: false }, said, 'admin')).toBeNull()
  })
})
