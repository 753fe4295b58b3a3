// The sentences of a key's page. What they say of money has to be exact: each situation has its own.
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { curlOf } from '../../app/(console)/keys/[id]/_words/curl'
import { readable } from '../../app/(console)/keys/[id]/_words/json'
import { type Part, wordsOf } from '../../app/(console)/keys/[id]/_words/moment'
import { ownWordsIn, unmaskBody } from '../../app/(console)/keys/[id]/_words/own-words'
import { discrepancyWords } from '../../app/(console)/reconciliation/_words/discrepancy'
import { storyOf } from '../../lib/console/key-story'
import { maskedAnswer } from '../../lib/orders/masking'
import { act, aKey, at, event, evidence, lookedUp, RESERVED, TIMED_OUT } from './a-key'

const _PAST = at(0)
const _SOON = new Date(Date.now() + 30_000).toISOString()
const _answered = (status: number) => ({ response: { status } })

describe('the curl command of a key', () => {
  const request = { params: {}, body: { customerId: "O'Hara", currency: 'USD', paymentMethod: 'pm_ok', note: '$HOME' } }
  const retried = { origin: 'http://localhost:3000', endpoint: 'POST /api/orders', quotedKey: '"8e03"', request }
  /** What a shell makes of it. */
  const words = (line: string) =>
    execFileSync('sh', ['-c', `curl() { for word in "$@"; do printf '%s\\n' "$word"; done; }\n${line}`], {
      env: { ...process.env, ONCEOVER_API_KEY: 'the-key' },
    })
      .toString()
      .split('\n')

  it('repeats the client’s request, with the API key from the environment', () => {
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

  it('leaves out masked members and names them in a comment', () => {
    const line = curlOf({ ...retried, unmasked: false })
    expect(line).toMatch(/^# Without paymentMethod and note, /)
    expect(words(line)).toContain(JSON.stringify({ customerId: "O'Hara", currency: 'USD' }))
  })

  it('fills in the path parameters', () => {
    const refund = { ...retried, endpoint: 'POST /api/orders/{id}/refunds', unmasked: true }
    expect(curlOf({ ...refund, request: { params: { id: 'ord_1' }, body: {} } })).toContain('/api/orders/ord_1/refunds')
  })
})

describe('JSON formatted for display', () => {
  it('differs from the original in white space only', () => {
    const body = JSON.stringify({ a: { b: true, c: [1, { d: 'x y' }], e: {} }, f: 'a'.repeat(80), g: [], h: null })
    expect(JSON.stringify(JSON.parse(readable(body)))).toBe(body)
    expect(readable(body).split('\n').length).toBeGreaterThan(3)
  })

  it('keeps a small object on one line', () => {
    expect(readable('{"retry":{"sameKey":true,"afterSeconds":3}}')).toBe(
      '{\n  "retry": { "sameKey": true, "afterSeconds": 3 }\n}',
    )
  })

  it('stays unchanged when the text is not JSON', () => {
    expect(readable('none')).toBe('none')
  })
})

describe('a client’s free text in a response', () => {
  const body = JSON.stringify({ id: 'ord_1', note: 'leave at the door', status: 'paid' })

  it('is masked, and restored from the unmasked request', () => {
    expect(ownWordsIn(body)).toEqual(['note'])
    expect(maskedAnswer({ body }).body).not.toContain('door')
    expect(unmaskBody(maskedAnswer({ body }).body, { params: {}, body: { note: 'leave at the door' } })).toBe(body)
  })

  it('is not masked when there is none: the response stays the same, byte for byte', () => {
    for (const other of ['{"note": null, "id":1}', 'no JSON', '[]', '"text"'])
      expect(maskedAnswer({ body: other }).body).toBe(other)
  })
})

describe('the timeline in words', () => {
  const about = { noun: 'charge', done: 'charged', async: false }
  const text = (parts: readonly Part[]) => parts.map((part) => (typeof part === 'string' ? part : part.at)).join('')
  const lines = (detail: ReturnType<typeof aKey>, acts: ReturnType<typeof act>[] = []) =>
    storyOf(detail, acts)
      .map((moment) => wordsOf(moment, about))
      .map(({ title, rest }) => `${title} | ${text(rest)}`)

  it('says that unfinished lookups are continued, with the first and the last time of many', () => {
    const unfinished = (count: number) =>
      lines(
        aKey('unknown', {
          timeline: [RESERVED, TIMED_OUT, ...Array.from({ length: count }, (_, n) => lookedUp(40 + n, 'unfinished'))],
        }),
      ).at(-1)
    const rest = 'the provider’s list is not read to its end: the next look-up continues it'
    expect(unfinished(1)).toBe(`Look-up: nothing so far | ${rest}`)
    expect(unfinished(20)).toBe(`20 look-ups: nothing so far | ${at(40)} to ${at(59)}, ${rest}`)
  })

  it('describes a key that timed out and was resolved by an operator', () => {
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

  it('describes every other kind of event', () => {
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

  it('have the amounts of provider and ledger', () => {
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
    'restored_differs',
    'of_a_later_release',
  ])('of kind %s contain no “undefined”, “null” or “NaN” when their details are empty', (kind) => {
    const { title, sentence } = discrepancyWords({ kind, subject: 'ch_1', detail: {} })
    expect([title, sentence].join()).not.toMatch(/undefined|null|NaN/)
  })

  it('name the evidence that contradicts a final response', () => {
    const detail = { verdict: 'succeeded', source: 'webhook', ref: 'ch_2', responseStatus: 402, effectRef: 'ch_1' }
    expect(discrepancyWords({ kind: 'contradicting_evidence', subject: 'x', detail }).sentence).toBe(
      'A webhook says charged, and the key was answered 402, ch_1.',
    )
  })
})
