// Answers at hand: found without asking anybody, and not found as soon as that could be wrong.
import sql from 'sql-template-tag'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { observeDatabase, serverOfStore } from '../../lib/db/clock'
import { type Notifications, openNotifications } from '../../lib/db/notifications'
import { type Answers, type Finished, openAnswers } from '../../lib/idempotency/answers'
import { expire } from '../../lib/idempotency/store/expire'
import { PLACE_ORDER } from '../../lib/orders/place-order'
import {
  answerOf,
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
let answers: Answers
beforeEach(async () => {
  line = openNotifications(wire.url)
  answers = openAnswers(line, { maxBytes: MANY_BYTES })
  expect(await line.listen()).toBe(true)
})
afterEach(async () => {
  await wire.heal()
  await line.close()
})

const find = (key: string) => answers.find(TENANT, PLACE_ORDER, key)
const place = (key: string) => bench.place(scriptedGateway(), ORDER, { key, boundary: { ...bench.boundary, answers } })
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
    answers = openAnswers(line, { maxBytes: MANY_BYTES, eraseAfterMs: 20 })
    const soon = new Date(line.latestMs() + 300)
    const finished = { id: 'idem_1', tenantId: TENANT, endpoint: PLACE_ORDER, fingerprint: '', createdAt: new Date() }
    const answer = { status: 201, headers: {}, body: '{}' }
    await vi.waitFor(() => {
      answers.keep(answers.ticket(), { ...finished, key: 'short', answer, expiresAt: soon })
      expect(answers.bytes()).toBeGreaterThan(0)
    })
    await vi.waitFor(() => expect(answers.bytes()).toBe(0), SOON)
  })

  it('equals the answer that was sent, whether the node executed the request or replayed it', async () => {
    const key = newKey()
    const first = answerOf(await bench.place(scriptedGateway(), ORDER, { key }))
    expect(find(key)).toBeUndefined()
    expect(answerOf(await place(key))).toEqual(first)
    expect(find(key)).toMatchObject({ key, answer: first })
    const own = newKey()
    expect(find(own)).toBeUndefined()
    const answer = answerOf(await place(own))
    expect(find(own)).toMatchObject({ key: own, answer })
  })

  it('is not found for another tenant, endpoint or key', async () => {
    const key = await placed()
    expect(answers.find('ten_other', PLACE_ORDER, key)).toBeUndefined()
    expect(answers.find(TENANT, 'POST /api/other', key)).toBeUndefined()
    expect(find(`${key}x`)).toBeUndefined()
  })

  it('is the newer record’s when a key is used anew, also after the older record expires', async () => {
    const key = await placed()
    const { prepared: _, ...earlier } = find(key)!
    const later = { ...earlier, id: 'idem_later', answer: { ...earlier.answer, body: '{"later":true}' } }
    answers.keep(answers.ticket(), later)
    expect(find(key)).toBe(later)
    await expireNow(key)
    await vi.waitFor(() => expect(answers.ticket()).toBe(1), SOON)
    expect(find(key)).toBe(later)
  })

  it('does not exist while the outcome is unknown', async () => {
    const key = newKey()
    const lost = scriptedGateway()
    lost.nextCall(() => ({ kind: 'unclear', code: 'no_answer' }))
    await bench.place(lost, ORDER, { key, boundary: { ...bench.boundary, answers } })
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown' })
    expect(find(key)).toBeUndefined()
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
      await vi.waitFor(() => expect(answers.ticket()).toBe(1), SOON)
      expired = true
      return result
    })
    await bench.place(scriptedGateway(), ORDER, { key, boundary: { ...bench.boundary, store, answers } })
    expect(expired).toBe(true)
    expect(find(key)).toBeUndefined()
    expect(find(other)).toBeDefined()
  })

  it('is not used after its expiry, nor kept when it was read while the LISTEN connection was down', async () => {
    const key = await placed()
    const endingIn = (ms: number): Finished => ({ ...find(key)!, expiresAt: new Date(line.latestMs() + ms) })
    answers.keep(answers.ticket(), endingIn(60_000))
    expect(find(key)).toBeDefined()
    answers.keep(answers.ticket(), endingIn(0))
    expect(find(key)).toBeUndefined()

    const again = await placed()
    const kept = find(again)!
    wire.cut()
    await vi.waitFor(() => expect(line.isCurrent()).toBe(false), SOON)
    const ticket = answers.ticket()
    await vi.waitFor(() => expect(line.isCurrent()).toBe(true), SOON)
    answers.keep(ticket, kept)
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
    // What is known of is docs/decisions/0016: whoever switches it off has to start the nodes anew.
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
    const deaf = openAnswers(openNotifications('postgresql://postgres@127.0.0.1:1/nowhere'), { maxBytes: MANY_BYTES })
    const key = newKey()
    await bench.place(scriptedGateway(), ORDER, { key, boundary: { ...bench.boundary, answers: deaf } })
    expect(deaf.find(TENANT, PLACE_ORDER, key)).toBeUndefined()
  })
})

it.each([
  ['for every use', 0, [true, false, false, true]],
  ['at most once per step', 3_600_000, [false, false, true, true]],
])('a full cache drops the least recently used response; the last use is updated %s', async (_, useStepMs, stay) => {
  answers = openAnswers(line, { maxBytes: 5300, useStepMs })
  const keys = [newKey(), newKey(), newKey(), newKey()]
  for (const key of keys) {
    await place(key)
    find(keys[0]!)
  }
  expect(keys.map((key) => find(key) !== undefined)).toEqual(stay)
})
