// What is answered from memory, and what is left to the route: on a LISTEN connection that is always current.
import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Notifications } from '../../lib/db/notifications'
import { type Head, openReplays, prepare, type Replays } from '../../lib/fast-path/replays'
import { type CachedResponse, openResponseCache } from '../../lib/fast-path/response-cache'

const API_KEY = 'oo_live_a'
const BODY = Buffer.from('{"note":"plain"}')
const STORED = {
  recordId: 'idem_1',
  tenantId: 'ten_a',
  endpoint: 'POST /api/orders',
  key: 'key-of-sixteen-characters',
  createdAt: new Date(0),
  expiresAt: new Date(1e12),
}
const ANSWER = { status: 201, headers: { 'x-request-id': 'req_first', location: '/api/orders/1' }, body: '{}' }
const HEADERS = {
  authorization: `Bearer ${API_KEY}`,
  'idempotency-key': STORED.key,
  'content-type': 'application/json',
  'content-length': String(BODY.length),
}

const currentAt = (clock: { ms: number }) =>
  ({
    isCurrent: () => true,
    currentMs: () => clock.ms,
    latestMs: () => clock.ms,
    on() {},
    onLost() {},
  }) as unknown as Notifications

const replayed = vi.fn()
let replays: Replays
beforeEach(() => {
  vi.useFakeTimers()
  replayed.mockClear()
  replays = open()
})
afterEach(() => vi.useRealTimers())

const open = (maxRequestAgeMs: number | null = null) =>
  openReplays({ config: { maxRequestAgeMs }, notifications: currentAt({ ms: 0 }), metrics: { replayed } })

const headOf = (headers: Record<string, string> = {}, url = '/api/orders') =>
  replays.headOf({ url, headers: { ...HEADERS, ...headers } } as unknown as IncomingMessage)

const find = (head: Head | undefined, body = BODY) => head && replays.find(head, body, performance.now())

function answerOnce(head: Head, answer: object = { stored: STORED }): void {
  replays.begin(head, performance.now())(BODY, { ...ANSWER, ...answer })
}

describe('a replay', () => {
  it('has the first answer’s headers and body, says that it is a replay, and has a request id of its own', () => {
    answerOnce(headOf()!)
    const { head, ...rest } = find(headOf({ 'x-request-id': 'again' }))!
    expect(rest).toEqual({ status: 201, body: '{}', encoding: 'latin1' })
    const pairs = Array.from({ length: head.length / 2 }, (_, i) => [head[2 * i], head[2 * i + 1]])
    expect(Object.fromEntries(pairs)).toEqual({
      location: '/api/orders/1',
      'idempotent-replayed': 'true',
      'content-length': '2',
      'x-request-id': 'again',
    })
    expect(pairs).toHaveLength(4)
  })

  it('is counted for its record', () => {
    answerOnce(headOf()!)
    expect(replayed).not.toHaveBeenCalled()
    find(headOf())
    expect(replayed).toHaveBeenCalledExactlyOnceWith(STORED, expect.any(Number))
  })

  it.each([
    ['another API key', { authorization: 'Bearer oo_live_b' }],
    ['another Idempotency-Key', { 'idempotency-key': 'another-of-sixteen-characters' }],
    ['another spelling of the Idempotency-Key', { 'idempotency-key': `"${STORED.key}"` }],
    ['another Content-Type', { 'content-type': 'application/json; charset=utf-8' }],
    ['a Prefer header', { prefer: 'wait=1' }],
  ])('is left to the route with %s', (_, headers) => {
    answerOnce(headOf()!)
    // Also where that caller is known.
    const known = headOf({ ...headers, 'idempotency-key': 'known-of-sixteen-characters' })
    if (known) answerOnce(known, { stored: { ...STORED, recordId: 'idem_2' } })
    expect(find(headOf())).toBeDefined()
    expect(find(headOf(headers))).toBeUndefined()
  })

  it('is left to the route with another path or another body', () => {
    answerOnce(headOf()!)
    expect(find(headOf({}, '/api/orders/ord_1/refunds'))).toBeUndefined()
    expect(find(headOf(), Buffer.from('{"note":"other"}'))).toBeUndefined()
    expect(replays.mayFind(headOf()!)).toBe(true)
    expect(replays.mayFind(headOf({ 'content-length': '17' })!)).toBe(false)
  })

  it('is left to the route while MAX_REQUEST_AGE_SECONDS is set', () => {
    replays = open(60_000)
    expect(headOf()).toBeUndefined()
  })

  it('of an answer that is not stored is left to the route', () => {
    answerOnce(headOf()!, { status: 409, stored: undefined })
    expect(find(headOf())).toBeUndefined()
  })
})

describe('an API key', () => {
  it('is accepted for one second from the arrival of the last request that the route accepted', () => {
    answerOnce(headOf()!)
    vi.advanceTimersByTime(999)
    expect(find(headOf())).toBeDefined()
    vi.advanceTimersByTime(1)
    expect(find(headOf())).toBeUndefined()
    answerOnce(headOf()!)
    expect(find(headOf())).toBeDefined()
  })

  it('is accepted no longer because an earlier request is answered later', () => {
    const slow = replays.begin(headOf()!, performance.now())
    vi.advanceTimersByTime(800)
    answerOnce(headOf()!)
    slow(BODY, { ...ANSWER, stored: STORED })
    vi.advanceTimersByTime(999)
    expect(find(headOf())).toBeDefined()
    vi.advanceTimersByTime(1)
    expect(find(headOf())).toBeUndefined()
  })

  it('is not kept in the clear', () => {
    expect(JSON.stringify(headOf())).not.toContain(API_KEY)
  })
})

describe('the response cache', () => {
  const of = (recordId: string): CachedResponse => ({
    stored: { ...STORED, recordId },
    request: String(BODY),
    answer: ANSWER,
  })
  const cacheOf = (maxBytes: number) => openResponseCache(currentAt({ ms: 0 }), { maxBytes })

  it('replaces the response of a request at once by that of a later record', () => {
    const cache = cacheOf(1e6)
    cache.keep(cache.ticket(), 'a', of('idem_1'))
    const bytes = cache.bytes()
    cache.keep(cache.ticket(), 'a', of('idem_2'))
    expect(cache.find('a')?.stored.recordId).toBe('idem_2')
    expect(cache.bytes()).toBe(bytes)
  })

  it('holds one response of a record, that of the request that was answered last', () => {
    const cache = cacheOf(1e6)
    cache.keep(cache.ticket(), 'a', of('idem_1'))
    cache.keep(cache.ticket(), 'b', of('idem_1'))
    expect([cache.find('a'), cache.find('b')?.stored.recordId]).toEqual([undefined, 'idem_1'])
  })

  it('drops the least recently used response when it is full', () => {
    const cache = cacheOf(3000)
    cache.keep(cache.ticket(), 'a', of('idem_1'))
    cache.keep(cache.ticket(), 'b', of('idem_2'))
    expect(cache.find('a')).toBeDefined()
    cache.keep(cache.ticket(), 'c', of('idem_3'))
    expect(['a', 'b', 'c'].map((head) => cache.find(head) !== undefined)).toEqual([true, false, true])
  })
})

it('a replay is encoded as latin1 only when its headers are ASCII too', () => {
  const encodingOf = (answer: CachedResponse['answer']) => prepare({ answer }).encoding
  expect(encodingOf(ANSWER)).toBe('latin1')
  expect(encodingOf({ ...ANSWER, headers: { 'x-note': 'Grüße' } })).toBe('utf8')
  expect(encodingOf({ ...ANSWER, body: '{"note":"世界"}' })).toBe('utf8')
})
