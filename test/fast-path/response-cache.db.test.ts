// The response cache: it finds a response without a statement, and does not find it as soon as that could be wrong.
import sql from 'sql-template-tag'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { observeDatabase, serverOfStore } from '../../lib/db/clock'
import { type Notifications, openNotifications } from '../../lib/db/notifications'
import { type CachedResponse, openResponseCache, type ResponseCache } from '../../lib/fast-path/response-cache'
import { expire } from '../../lib/idempotency/store/expire'
import { PLACE_ORDER } from '../../lib/orders/place-order'
import {
  type Bench,
  isSettle,
  newKey,
  openBench,
  orderOf,
  scriptedGateway,
  TENANT,
  tamperedAtEnd,
} from '../support/boundary'
import { type Line, openLine } from '../support/line'

const ORDER = orderOf()
const A_SECOND = 1000
/** Limits of waiting for what happens at once, but later on a busy machine. */
const SOON = { timeout: 30 * A_SECOND, interval: 5 }
const MANY_BYTES = 1024 * 1024

let bench: Bench
let wire: Line
beforeAll(async () => {
  bench = await openBench()
  wire = await openLine(bench.url)
})
afterAll(async () => {
  await wire.close()
  await bench.close()
})

let line: Notifications
let cache: ResponseCache
beforeEach(async () => {
  line = openNotifications(wire.url)
  cache = openResponseCache(line, { maxBytes: MANY_BYTES })
  expect(await line.listen()).toBe(true)
})
afterEach(async () => {
  await wire.heal()
  await line.close()
})

const find = (key: string) => cache.find(key)

/** As a request does: its ticket first, then the store, then it is kept. */
async function place(key: string, { store = bench.store, into = cache } = {}): Promise<void> {
  const ticket = into.ticket()
  const outcome = await bench.place(scriptedGateway(), ORDER, { key, boundary: { ...bench.boundary, store } })
  if (outcome.kind !== 'answered') throw new Error('an answer was expected')
  const { answer, source, expiresAt } = outcome
  into.keep(ticket, key, responseOf({ recordId: source.id, key, createdAt: source.createdAt, expiresAt }, answer))
}

function responseOf(
  stored: Omit<CachedResponse['stored'], 'tenantId' | 'endpoint'>,
  answer = { status: 201, headers: {}, body: '{}' },
): CachedResponse {
  return { stored: { ...stored, tenantId: TENANT, endpoint: PLACE_ORDER }, request: '{}', answer }
}
const expireNow = (key: string) =>
  expire(
    { store: bench.store },
    {
      due: sql`SELECT id, state FROM idempotency_records WHERE key = ${key} FOR UPDATE`,
      by: 'test',
      operations: new Map(),
    },
  )

/** A busy machine may miss a sign of life, and then nothing is kept: that is no fault. */
async function kept(key: string): Promise<void> {
  await vi.waitFor(async () => {
    await place(key)
    expect(find(key)).toBeDefined()
  }, SOON)
}

/** When a cached response of these keys was found last. A test that was itself held up does not count as a late use. */
async function lastUsedMs(...keys: string[]): Promise<number> {
  let lastMs = Number.NEGATIVE_INFINITY
  await vi.waitFor(() => {
    const askedMs = performance.now()
    const found = keys.filter(find)
    if (found.length > 0) lastMs = askedMs
    expect(found).toEqual([])
  }, SOON)
  return lastMs
}

async function placed(): Promise<string> {
  const key = newKey()
  await kept(key)
  return key
}

describe('a cached response', () => {
  it('is erased from memory when its key expires, even if no request asks for it', async () => {
    cache = openResponseCache(line, { maxBytes: MANY_BYTES, eraseAfterMs: 20 })
    const expiresAt = new Date(line.latestMs() + 300)
    await vi.waitFor(() => {
      const stored = { recordId: 'idem_1', key: 'short', createdAt: new Date(), expiresAt }
      cache.keep(cache.ticket(), 'short', responseOf(stored))
      expect(cache.bytes()).toBeGreaterThan(0)
    })
    await vi.waitFor(() => expect(cache.bytes()).toBe(0), SOON)
  })

  it('is the newer record’s when a key is used anew, also after the older record expires', async () => {
    const key = await placed()
    const earlier = find(key)!
    const later = { ...earlier, stored: { ...earlier.stored, recordId: 'idem_later' } }
    cache.keep(cache.ticket(), key, later)
    expect(find(key)).toBe(later)
    await expireNow(key)
    await vi.waitFor(() => expect(cache.ticket()).toBe(1), SOON)
    expect(find(key)).toBe(later)
  })

  it('is dropped within a second after its key is expired early, by the application or by SQL', async () => {
    const byOperator = await placed()
    const byHand = await placed()
    const stays = await placed()
    await expireNow(byOperator)
    await bench.endRetention(byHand)
    const expiredMs = performance.now()
    expect((await lastUsedMs(byOperator, byHand)) - expiredMs).toBeLessThan(A_SECOND)
    expect(find(stays)).toBeDefined()
  })

  it('is not kept when its key expires after the node read the record and before it cached it', async () => {
    const key = newKey()
    const other = await placed()
    let expired = false
    const store = tamperedAtEnd(bench.store, isSettle, async (send) => {
      const result = await send()
      // between what it reads and what it keeps
      await expireNow(key)
      await vi.waitFor(() => expect(cache.ticket()).toBe(1), SOON)
      expired = true
      return result
    })
    await place(key, { store })
    expect(expired).toBe(true)
    expect(find(key)).toBeUndefined()
    expect(find(other)).toBeDefined()
  })

  it('is not used after its expiry, nor kept when it was read while the LISTEN connection was down', async () => {
    const key = await placed()
    const endingIn = (ms: number): CachedResponse => {
      const found = find(key)!
      return { ...found, stored: { ...found.stored, expiresAt: new Date(line.latestMs() + ms) } }
    }
    cache.keep(cache.ticket(), key, endingIn(60_000))
    expect(find(key)).toBeDefined()
    cache.keep(cache.ticket(), key, endingIn(0))
    expect(find(key)).toBeUndefined()

    const again = await placed()
    const kept = find(again)!
    wire.cut()
    await vi.waitFor(() => expect(line.isCurrent()).toBe(false), SOON)
    const ticket = cache.ticket()
    await vi.waitFor(() => expect(line.isCurrent()).toBe(true), SOON)
    cache.keep(ticket, again, kept)
    expect(find(again)).toBeUndefined()
  })

  it('is not used while the store and the LISTEN connection reach different servers', async () => {
    const key = await placed()
    const before = serverOfStore()
    observeDatabase({ now: new Date(), server: 'elsewhere 1' })
    expect(find(key)).toBeUndefined()
    const [here] = await bench.rows<{ server: string }>(
      `SELECT current_database() || ' ' || extract(epoch FROM pg_postmaster_start_time()) AS server`,
    )
    observeDatabase({ now: new Date(), server: here!.server })
    expect(before === null || before === here!.server).toBe(true)
    await kept(key)
  })
})

it('with the record trigger disabled, an early expiry is not announced, and the cached response stays in use', async () => {
  const key = await placed()
  await bench.rows('ALTER TABLE idempotency_records DISABLE TRIGGER records_move')
  try {
    await expireNow(key)
    const told = await placed()
    await bench.rows('ALTER TABLE idempotency_records ENABLE TRIGGER records_move')
    await expireNow(told)
    await vi.waitFor(() => expect(find(told)).toBeUndefined(), SOON)
    // docs/decisions/0016 says so: whoever switches it off has to start the nodes anew.
    expect(find(key)).toBeDefined()
  } finally {
    await bench.rows('ALTER TABLE idempotency_records ENABLE TRIGGER records_move')
  }
})

describe('the LISTEN connection of the response cache', () => {
  it('empties the cache when it breaks, and the cache fills again once it is reconnected', async () => {
    const key = await placed()
    wire.cut()
    await vi.waitFor(() => expect(find(key)).toBeUndefined(), SOON)
    await vi.waitFor(() => expect(line.isCurrent()).toBe(true), SOON)
    expect(find(key)).toBeUndefined()
    await kept(key)
  })

  it('is trusted for less than a second after it falls silent: then no cached response is used', async () => {
    const key = await placed()
    wire.silence('down')
    const silentMs = performance.now()
    await expireNow(key)
    expect((await lastUsedMs(key)) - silentMs).toBeLessThan(A_SECOND)
    // And is given up, so that the next one can be had.
    await wire.heal()
    await vi.waitFor(() => expect(line.isCurrent()).toBe(true), SOON)
    expect(find(key)).toBeUndefined()
  })

  it('that can’t be opened leaves the cache empty', async () => {
    const nowhere = openNotifications('postgresql://postgres@127.0.0.1:1/nowhere')
    const deaf = openResponseCache(nowhere, { maxBytes: MANY_BYTES })
    const key = newKey()
    await place(key, { into: deaf })
    expect(deaf.find(key)).toBeUndefined()
    await nowhere.close()
  })
})
