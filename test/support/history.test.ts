// The judge is judged first: histories that could have happened are let pass, and each rule has one that it refuses.
import { describe, expect, it } from 'vitest'
import { type Call, contradictions, type Ending, saidBy, type Told } from './history'

const ORDER = '{"id":"ord_1","status":"paid"}'
const EXPIRES = 1_000_000

const told = (status: number, code: string | null, changes: Partial<Told> = {}): Told => ({
  status,
  code,
  replayed: false,
  location: null,
  contentType: code ? 'application/problem+json' : 'application/json',
  expiresAt: EXPIRES,
  body: JSON.stringify(code ? { code } : {}),
  ...changes,
})
const PAID = told(201, null, { body: ORDER, location: '/api/orders/ord_1' })
const REPLAY: Told = { ...PAID, replayed: true }
const DECLINED = told(402, 'payment_declined')
const RUNNING = told(409, 'idempotency_key_in_progress')
const UNKNOWN = told(409, 'idempotency_outcome_unknown')
const NOT_CLEAR = told(504, 'payment_outcome_unknown')
const UNREACHED = told(503, 'payment_provider_unavailable')
const REUSED = told(422, 'idempotency_key_reused')
const STORE_AWAY = told(503, 'idempotency_store_unavailable', { expiresAt: null })
const ACCEPTED = told(202, null, { body: '{"state":"pending","response":null,"resource":{"id":"ord_1"}}' })
const expired = (status: number | null, id = 'ord_1', expiresAt = 0) =>
  told(410, 'idempotency_key_expired', {
    expiresAt,
    body: JSON.stringify({ code: 'idempotency_key_expired', resource: { id }, response: status && { status } }),
  })
const record = (state: string, status: number | null, id = 'ord_1') =>
  told(200, null, { body: JSON.stringify({ state, response: status && { status }, resource: { id } }) })

/** Asked and answered at these times; without the second, its answer never came. */
const at = (asked: number, answered: number | null, told: Told | null, changes: Partial<Call> = {}): Call => ({
  key: 'k',
  request: 'A',
  askedAt: asked,
  answeredAt: answered ?? Number.POSITIVE_INFINITY,
  told,
  ...changes,
})
const other = { request: 'B' }
const look = { request: null }
const ended = (asked: number, answered: number, done = true): Ending => ({
  key: 'k',
  askedAt: asked,
  answeredAt: answered,
  done,
})

describe('the history checker accepts a possible history', () => {
  it.each<[string, Call[], Ending[]?]>([
    ['one call', [at(0, 1, PAID)]],
    ['a replay', [at(0, 1, PAID), at(2, 3, REPLAY)]],
    [
      'a 409 while the first call runs, and a replay that arrives before the first answer',
      [at(0, 9, PAID), at(1, 2, RUNNING), at(3, 4, REPLAY)],
    ],
    ['a duplicate that was sent before the first answer and got its 409 after it', [at(0, 5, PAID), at(4, 9, RUNNING)]],
    ['a first call whose answer never arrived', [at(0, null, null), at(2, 3, RUNNING), at(4, 5, REPLAY)]],
    ['an unknown outcome that is settled later', [at(0, 1, NOT_CLEAR), at(2, 3, UNKNOWN), at(4, 5, REPLAY)]],
    ['a second attempt after the first one was proven not executed', [at(0, 1, UNREACHED), at(2, 3, PAID)]],
    [
      'a store that is briefly unavailable, also after the first answer',
      [at(0, 1, STORE_AWAY), at(2, 3, PAID), at(4, 5, STORE_AWAY)],
    ],
    [
      'a reused key, both before and after the first answer',
      [at(0, 5, PAID), at(1, 2, REUSED, other), at(6, 7, REUSED, other)],
    ],
    ['a reused key whose first request got no answer', [at(0, null, null), at(1, 2, REUSED, other)]],
    ['two different requests at once, the later of which got the key', [at(0, 3, REUSED), at(1, 2, PAID, other)]],
    [
      'an accepted request',
      [at(0, 1, ACCEPTED, { async: true }), at(2, 3, ACCEPTED, { async: false }), at(4, 5, REPLAY)],
    ],
    ['an accepted request whose outcome is unknown', [at(0, 1, ACCEPTED), at(2, 3, UNKNOWN), at(4, 5, ACCEPTED)]],
    ['a key that an operator expired', [at(0, 1, PAID), at(5, 6, expired(201))], [ended(2, 3)]],
    [
      'a 410 for a client before the operator’s expiry of the key is answered',
      [at(0, 1, PAID), at(3, 4, expired(201))],
      [ended(2, 9)],
    ],
    [
      'a replay within a second after an operator expired the key',
      [at(0, 1, PAID), at(3, 4, expired(201)), at(900, 901, REPLAY)],
      [ended(2, 3)],
    ],
    ['a key past its retention', [at(0, 1, PAID), at(EXPIRES + 1, EXPIRES + 2, expired(201, 'ord_1', EXPIRES))]],
    [
      'a lookup while the request runs and another one after it ended',
      [at(0, 9, PAID), at(1, 2, record('in_progress', null), look), at(10, 11, record('completed', 201), look)],
    ],
    ['a lookup before the key exists', [at(0, 1, told(404, 'idempotency_key_not_found'), look), at(2, 3, PAID)]],
    ['two keys, each with its own first answer', [at(0, 1, PAID), at(0, 1, DECLINED, { key: 'other' })]],
  ])('%s', (_, calls, endings) => {
    expect(contradictions(calls, endings)).toStrictEqual([])
  })
})

describe('the history checker refuses an impossible history', () => {
  it.each<[string, string, Call[], Ending[]?]>([
    [
      'two calls that both got the first answer',
      '2 calls were told that they were the first',
      [at(0, 9, PAID), at(1, 8, PAID)],
    ],
    [
      'a replay with another body',
      '2 different final answers',
      [at(0, 9, PAID), at(1, 8, { ...REPLAY, body: '{ "id":"ord_1"}' })],
    ],
    [
      'a replay with another Location',
      '2 different final answers',
      [at(0, 9, PAID), at(1, 8, { ...REPLAY, location: '/api/orders/ord_1/' })],
    ],
    [
      'a replay with another media type',
      '2 different final answers',
      [at(0, 9, PAID), at(1, 8, { ...REPLAY, contentType: 'text/plain' })],
    ],
    [
      'a replay with another status',
      '2 different final answers',
      [at(0, 9, PAID), at(1, 8, { ...DECLINED, replayed: true })],
    ],
    [
      'a replay with another expiry',
      'said to expire at different times',
      [at(0, 9, PAID), at(1, 8, { ...REPLAY, expiresAt: EXPIRES + 1000 })],
    ],
    [
      'in progress after the final answer',
      'told 409 idempotency_key_in_progress after 201 was known',
      [at(0, 1, PAID), at(2, 3, RUNNING)],
    ],
    [
      'unknown after the final answer',
      'told 409 idempotency_outcome_unknown after 201 was known',
      [at(0, 1, PAID), at(2, 3, UNKNOWN)],
    ],
    [
      'accepted with 202 after the final answer',
      'told 202  after 201 was known',
      [at(0, 1, REPLAY), at(2, 3, ACCEPTED)],
    ],
    [
      'a first answer after a replay',
      'told as the first after it had been told before',
      [at(0, 1, REPLAY), at(2, 3, PAID)],
    ],
    [
      'the key’s own request refused as a reuse',
      'the request that it stands for was refused as another: A',
      [at(0, 1, PAID), at(2, 3, REUSED)],
    ],
    [
      'a request refused as a reuse although the key has no other request',
      'refused as another where there was no other: A',
      [at(0, 1, REUSED)],
    ],
    [
      'a request refused as a reuse before the other request was sent',
      'refused as another where there was no other: A',
      [at(0, 1, REUSED), at(2, 3, PAID, other)],
    ],
    [
      'two different requests that got the answer of one key',
      'it stands for 2 requests: A | B',
      [at(0, 1, PAID), at(2, 3, REPLAY, other)],
    ],
    [
      'two different requests treated as one before the final answer',
      'it stands for 2 requests: A | B',
      [at(0, 1, UNREACHED), at(2, 3, RUNNING, other)],
    ],
    [
      'accepted with 202, then answered 503',
      'accepted with 202, and yet somebody was told 503',
      [at(0, 1, ACCEPTED), at(2, 3, UNREACHED)],
    ],
    [
      'accepted with 202, then answered 409 in progress',
      'accepted with 202, and yet somebody was told 409',
      [at(0, 1, ACCEPTED), at(2, 3, RUNNING)],
    ],
    [
      'accepted with 202 although no client sent respond-async',
      'accepted although nobody asked for that',
      [at(0, 1, ACCEPTED, { async: false })],
    ],
    [
      'in progress although there is no other call',
      'running when nobody else had asked',
      [at(0, 1, RUNNING), at(2, 3, PAID)],
    ],
    [
      'replayed more than a second after a 410',
      'told 201 after it had expired',
      [at(0, 1, PAID), at(3, 4, expired(201)), at(1005, 1006, REPLAY)],
      [ended(2, Number.POSITIVE_INFINITY)],
    ],
    [
      'replayed more than a second after an operator expired the key',
      'told 201 after it had expired',
      [at(0, 1, PAID), at(2000, 2001, REPLAY)],
      [ended(2, 3)],
    ],
    [
      'run again after a 410',
      'told 503 after it had expired',
      [at(0, 1, expired(null)), at(2, 3, UNREACHED)],
      [ended(0, 1)],
    ],
    [
      'replayed more than a second past its retention',
      'when it expired',
      [at(0, 1, PAID), at(EXPIRES + 1001, EXPIRES + 1002, REPLAY)],
    ],
    ['expired before the end of its retention', 'expired before its time', [at(0, 1, PAID), at(2, 3, expired(201))]],
    [
      'expired before an operator expired it',
      'expired before its time',
      [at(0, 1, PAID), at(2, 3, expired(201))],
      [ended(4, 5)],
    ],
    [
      'expired with another status than its answer',
      'expired as 402 although it was answered 201',
      [at(0, 1, PAID), at(4, 5, expired(402))],
      [ended(2, 3)],
    ],
    [
      'expired with another resource than its answer',
      'it made 2 things: ord_1, ord_2',
      [at(0, 1, PAID), at(4, 5, expired(201, 'ord_2'))],
      [ended(2, 3)],
    ],
    [
      'a lookup with another resource than the answer',
      'it made 2 things: ord_1, ord_2',
      [at(0, 9, PAID), at(4, 5, record('in_progress', null, 'ord_2'), look)],
    ],
    [
      'a lookup that does not find an existing key',
      'not found when it was looked up',
      [at(0, 1, UNREACHED), at(2, 3, told(404, 'idempotency_key_not_found'), look)],
    ],
    [
      'a lookup as in_progress after the final answer',
      'looked up as in_progress  after 201 was known',
      [at(0, 1, PAID), at(2, 3, record('in_progress', null), look)],
    ],
    [
      'a lookup with another status than the answer',
      'looked up as completed 402 after 201 was known',
      [at(0, 1, PAID), at(2, 3, record('completed', 402), look)],
    ],
    [
      'an answer with another status than an earlier lookup',
      'told 402 after 201 was known',
      [at(0, 1, record('completed', 201), look), at(2, 3, DECLINED)],
    ],
    [
      'in progress after a lookup as completed',
      'told 409 idempotency_key_in_progress after 201 was known',
      [at(0, null, null), at(1, 2, record('completed', 201), look), at(3, 4, RUNNING)],
    ],
    [
      'an internal error (500)',
      'an answer that the contract does not name: 500',
      [at(0, 1, told(500, 'internal_error'))],
    ],
    [
      'a status that the contract does not name (502)',
      'an answer that the contract does not name: 502',
      [at(0, 1, told(502, null))],
    ],
  ])('%s', (_, sentence, calls, endings) => {
    const found = contradictions(calls, endings)
    expect(found.join('\n')).toContain(`k: `)
    expect(found.join('\n')).toContain(sentence)
  })
})

it('the history checker names the key of each contradiction', () => {
  const calls = [at(0, 1, PAID), at(2, 3, RUNNING, { key: 'fine' }), at(1, 4, PAID, { key: 'fine' }), at(2, 3, PAID)]
  expect(contradictions(calls).every((sentence) => sentence.startsWith('k: '))).toBe(true)
})

it('each answer is classified as final, open, reused, expired or saying nothing about its key', () => {
  const all = [PAID, DECLINED, RUNNING, UNKNOWN, NOT_CLEAR, UNREACHED, ACCEPTED, REUSED, expired(201), STORE_AWAY]
  const said = ['final', 'final', 'open', 'open', 'open', 'open', 'open', 'reused', 'expired', 'nothing']
  expect(all.map(saidBy)).toStrictEqual(said)
})
