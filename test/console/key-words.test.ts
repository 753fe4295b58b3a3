// The sentences of a key's page. What they say of money has to be exact: each situation has its own.
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { curlOf } from '../../app/(console)/keys/[id]/_words/curl'
import { readable } from '../../app/(console)/keys/[id]/_words/json'
import { type Part, wordsOf } from '../../app/(console)/keys/[id]/_words/moment'
import { offersOf } from '../../app/(console)/keys/[id]/_words/offers'
import { maskBody, ownWordsIn, unmaskBody } from '../../app/(console)/keys/[id]/_words/own-words'
import { verdictOf } from '../../app/(console)/keys/[id]/_words/verdict'
import { discrepancyWords } from '../../app/(console)/reconciliation/_words/discrepancy'
import { storyOf } from '../../lib/console/key-story'
import { STATES } from '../../lib/idempotency/states'
import { act, aKey, aRefund, at, discrepancy, event, evidence, lookedUp, RESERVED, TIMED_OUT } from './a-key'

const PAST = at(0)
const SOON = new Date(Date.now() + 30_000).toISOString()
const answered = (status: number) => ({ response: { status } })

describe('the verdict', () => {
  const order = aKey('completed').order!

  it.each([
    ['pending', aKey('pending'), 'Accepted, and waiting for a worker. Nothing has been sent to the provider.'],
    [
      'pending past its time',
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
      'a lease that ran out',
      aKey('in_progress', { record: { lockedUntil: PAST } }),
      'Its lease ran out. May have charged USD 184.50: the sweeper or the next request moves it on.',
    ],
    [
      'a lease that ran out before anything was sent',
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
      'charged, and somebody doubts it',
      aKey('completed', { record: answered(201), discrepancies: [discrepancy('duplicate_charge')] }),
      'Charged USD 184.50, and answered 201. The provider says otherwise: see Evidence.',
    ],
    [
      'charged, and nobody doubts it any more',
      aKey('completed', { record: answered(201), discrepancies: [discrepancy('duplicate_charge', at(90))] }),
      'Charged USD 184.50 once, and answered 201.',
    ],
    [
      'declined',
      aKey('completed', { record: answered(402) }),
      'Declined by the provider, and answered 402. Nothing was charged.',
    ],
    [
      'a decline of a refund',
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
      'completed past its time',
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
      'retryable, and given up',
      aKey('failed_retryable', { record: { async: true, deadLetteredAt: at(90) } }),
      'Proven: nothing was charged. The worker has given up: only a person moves it on.',
    ],
    [
      'retryable past its time',
      aKey('failed_retryable', { record: { expiresAt: PAST } }),
      'Proven: nothing was charged. Its time is over: the next request gets 410.',
    ],
    [
      'retryable, and charged after all',
      aKey('failed_retryable', { evidence: [evidence(90)] }),
      'Taken for not executed, yet the provider has a charge. The next request settles it.',
    ],
    [
      'unknown, not asked',
      aKey('unknown', { timeline: [RESERVED, TIMED_OUT] }),
      'May have charged USD 184.50. The provider has not been asked yet.',
    ],
    [
      'unknown, unreachable',
      aKey('unknown', { timeline: [RESERVED, TIMED_OUT, lookedUp(40, 'unreachable')] }),
      'May have charged USD 184.50. The provider could not be asked so far.',
    ],
    [
      'unknown, not decided',
      aRefund('unknown', { timeline: [RESERVED, TIMED_OUT, lookedUp(40, 'pending')] }),
      'May have given back USD 5.00. The provider has it and has not decided.',
    ],
    [
      'unknown, too early',
      aKey('unknown', { timeline: [RESERVED, TIMED_OUT, lookedUp(40, 'too_early')] }),
      'May have charged USD 184.50. The provider has nothing yet, which is no proof: the call may still arrive.',
    ],
    [
      'unknown, asked about an attempt before',
      aKey('unknown', {
        timeline: [RESERVED, TIMED_OUT, lookedUp(40, 'unreachable'), event(50, 'claimed', { attempt: 2 })],
      }),
      'May have charged USD 184.50. The provider has not been asked yet.',
    ],
    [
      'unknown, one of several attempts declined',
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
      'May have charged USD 184.50. 12 look-ups and no answer: only a person moves it on.',
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
  ])('of one that is %s', (_, detail, sentence) => {
    expect(verdictOf(detail)).toBe(sentence)
  })

  it('is there for every state', () => {
    for (const state of STATES) expect(verdictOf(aKey(state))).toMatch(/\.$/)
  })
})

describe('what is offered', () => {
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
  ] as const)('of a key that is %s', (state, actions) => {
    expect(offered(aKey(state))).toEqual(actions)
    expect(offered(aKey(state), 'admin')).toEqual(actions)
  })

  it('says why wherever it is not', () => {
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

  it('is nothing for a viewer', () => {
    for (const state of STATES) expect(offered(aKey(state), 'viewer')).toEqual([])
    expect(offersOf(aKey('unknown'), 'viewer').resolve.sentence).toBe(
      'Off: this takes the role operator; yours is viewer.',
    )
    expect(offersOf(aKey('unknown'), 'viewer').unmask.offered).toBe(false)
  })

  it('never is to ask about what was refused, nor to expire what was charged after all', () => {
    expect(offered(aRefund('completed', { record: { resource: null } }))).toEqual(['expire'])
    expect(offered(aKey('failed_retryable', { evidence: [evidence(9)] }))).toEqual(['ask'])
  })

  it('is no unmasking where the request is erased', () => {
    expect(offersOf(aKey('expired', { request: null }), 'admin').unmask.offered).toBe(false)
  })
})

describe('the curl line', () => {
  const request = { params: {}, body: { customerId: "O'Hara", currency: 'USD', paymentMethod: 'pm_ok', note: '$HOME' } }
  const retried = { origin: 'http://localhost:3000', endpoint: 'POST /api/orders', quotedKey: '"8e03"', request }
  /** What a shell makes of it. */
  const words = (line: string) =>
    execFileSync('sh', ['-c', `curl() { for word in "$@"; do printf '%s\\n' "$word"; done; }\n${line}`], {
      env: { ...process.env, ONCEOVER_API_KEY: 'the-key' },
    })
      .toString()
      .split('\n')

  it('is what the client sends again, with the secret from the environment', () => {
    const line = curlOf({ ...retried, unmasked: true })
    expect(line).not.toContain('the-key')
    expect(words(line)).toEqual(
      expect.arrayContaining([
        'http://localhost:3000/api/orders',
        'Authorization: Bearer the-key',
        'Idempotency-Key: "8e03"',
        JSON.stringify(request.body),
      ]),
    )
  })

  it('leaves out what is masked, and says so', () => {
    const line = curlOf({ ...retried, unmasked: false })
    expect(line).toMatch(/^# Without paymentMethod and note, /)
    expect(words(line)).toContain(JSON.stringify({ customerId: "O'Hara", currency: 'USD' }))
  })

  it('fills the path in', () => {
    const refund = { ...retried, endpoint: 'POST /api/orders/{id}/refunds', unmasked: true }
    expect(curlOf({ ...refund, request: { params: { id: 'ord_1' }, body: {} } })).toContain('/api/orders/ord_1/refunds')
  })
})

describe('JSON to be read', () => {
  it('differs from what is sent in white space only', () => {
    const body = JSON.stringify({ a: { b: true, c: [1, { d: 'x y' }], e: {} }, f: 'a'.repeat(80), g: [], h: null })
    expect(JSON.stringify(JSON.parse(readable(body)))).toBe(body)
    expect(readable(body).split('\n').length).toBeGreaterThan(3)
  })

  it('keeps what is small on its line', () => {
    expect(readable('{"retry":{"sameKey":true,"afterSeconds":3}}')).toBe(
      '{\n  "retry": { "sameKey": true, "afterSeconds": 3 }\n}',
    )
  })

  it('leaves what is no JSON alone', () => {
    expect(readable('none')).toBe('none')
  })
})

describe('own words in an answer', () => {
  const body = JSON.stringify({ id: 'ord_1', note: 'leave at the door', status: 'paid' })

  it('are masked, and given back to whoever has read the request', () => {
    expect(ownWordsIn(body)).toEqual(['note'])
    expect(maskBody(body)).not.toContain('door')
    expect(unmaskBody(maskBody(body), { params: {}, body: { note: 'leave at the door' } })).toBe(body)
  })

  it('leave an answer without any as it is, to the byte', () => {
    for (const other of ['{"note": null, "id":1}', 'no JSON', '[]', '"text"']) expect(maskBody(other)).toBe(other)
  })
})

describe('what happened, in words', () => {
  const about = { noun: 'charge', done: 'charged', async: false }
  const text = (parts: readonly Part[]) => parts.map((part) => (typeof part === 'string' ? part : part.at)).join('')
  const lines = (detail: ReturnType<typeof aKey>, acts: ReturnType<typeof act>[] = []) =>
    storyOf(detail, acts)
      .map((moment) => wordsOf(moment, about))
      .map(({ title, rest }) => `${title} | ${text(rest)}`)

  it('of a key that hung and was resolved by a person', () => {
    const timeline = [
      RESERVED,
      TIMED_OUT,
      lookedUp(20, 'too_early'),
      ...[40, 100].map((s) => lookedUp(s, 'unreachable')),
      event(500, 'settled', {
        by: 'operator:opr_mara',
        source: 'operator',
        verdict: 'succeeded',
        requestId: 'req_r',
        status: 201,
      }),
    ]
    const acts = [
      act(500, { action: 'key.resolve', requestId: 'req_r', reason: 'ticket 48213' }),
      act(600, { reason: 'a call' }),
      act(700, { action: 'key.expire', outcome: 'forbidden', actorName: 'Vera', reason: null }),
    ]
    const detail = aKey('completed', {
      timeline,
      evidence: [evidence(500, { source: 'operator', ref: 'ch_word' })],
      misuse: [
        {
          id: 'mis_1',
          at: at(450),
          tenantId: 't',
          endpoint: 'e',
          key: 'k',
          recordId: 'r',
          changedPaths: ['$.currency'],
          requestId: 'q',
        },
      ],
      record: { replayCount: 2, lastReplayedAt: at(800) },
    })
    expect(lines(detail, acts)).toEqual([
      'Reserved | attempt 1, owner node-1, recovery point charging',
      'Time limit reached, client got 504 | timeout. The charge may have gone through.',
      'Look-up: nothing yet | too early to be proof: the call may still arrive',
      `Look-ups 1 and 2: unreachable | ${at(40)}, ${at(100)}`,
      'Misuse: same key, other request | 422. $.currency differs.',
      'Resolved as charged by Mara Lindqvist | ch_word, 201 stored, “ticket 48213”',
      'Mara Lindqvist unmasked the request | “a call”',
      'Vera tried to expire it, and may not | ',
      '2 replays, the last one here | each got the stored answer',
    ])
  })

  it('of every other event', () => {
    const detail = (...timeline: ReturnType<typeof event>[]) => lines(aKey('completed', { timeline })).slice(0, 1)[0]
    expect(detail(event(0, 'accepted'))).toMatch(/^Accepted, to be run by a worker/)
    expect(detail(event(0, 'claimed', { attempt: 1 }))).toMatch(/^Taken up by a worker/)
    expect(detail(event(0, 'claimed', { attempt: 2 }))).toMatch(/^Claimed again/)
    expect(detail(event(0, 'phase', { recoveryPoint: 'charging' }))).toMatch(/^Went on to charging/)
    expect(detail(event(0, 'settled', { status: 201 }))).toMatch(/^Answered 201/)
    expect(detail(event(0, 'settled', { by: 'webhook', verdict: 'succeeded' }))).toMatch(/^Webhook settled it: charged/)
    expect(detail(event(0, 'settled', { by: 'reconciler', verdict: 'declined' }))).toMatch(
      /^Look-up found it: declined/,
    )
    expect(detail(event(0, 'released', { code: 'connection_refused' }))).toBe(
      'Not executed, client got 503 | connection_refused',
    )
    expect(detail(event(0, 'released', { by: 'reconciler', verdict: 'not_found' }))).toMatch(/^Look-up: nothing there/)
    expect(detail(event(0, 'abandoned'))).toMatch(/^Abandoned, 408 stored/)
    expect(detail(event(0, 'evidence', { by: 'webhook', source: 'webhook', verdict: 'declined' }))).toMatch(
      /^Webhook: declined/,
    )
    expect(detail(event(0, 'dead_lettered'))).toMatch(/^Dead letter/)
    expect(detail(event(0, 'expired', { by: 'reaper' }))).toMatch(/^Expired/)
    expect(detail(event(0, 'something_new', { by: 'a later release' }))).toBe('Something happened | a later release')
  })
})

describe('discrepancies in words', () => {
  const provider = { ref: 'ch_1', kind: 'charge', amountCents: 19_095, currency: 'USD' }
  const ledger = { status: 'succeeded', amountCents: 18_450, currency: 'USD' }

  it('have the amounts of both sides', () => {
    expect(discrepancyWords({ kind: 'amount_differs', subject: 'ch_1', detail: { provider, ledger } })).toMatchObject({
      sentence: 'The provider took USD 190.95, we booked USD 184.50.',
      ours: 'USD 184.50',
      provider: 'USD 190.95',
      ref: 'ch_1',
    })
  })

  it.each([
    'charge_without_order',
    'paid_without_charge',
    'amount_differs',
    'currency_differs',
    'duplicate_charge',
    'contradicting_evidence',
    'unbookable_evidence',
    'refund_exceeds_order',
    'of_a_later_release',
  ])('of kind %s survive details that nobody wrote', (kind) => {
    const { title, sentence } = discrepancyWords({ kind, subject: 'ch_1', detail: {} })
    expect([title, sentence].join()).not.toMatch(/undefined|null|NaN/)
  })

  it('say what a final answer is contradicted by', () => {
    const detail = { verdict: 'succeeded', source: 'webhook', ref: 'ch_2', responseStatus: 402, effectRef: 'ch_1' }
    expect(discrepancyWords({ kind: 'contradicting_evidence', subject: 'x', detail }).sentence).toBe(
      'A webhook says charged, and the key was answered 402, ch_1.',
    )
  })
})
