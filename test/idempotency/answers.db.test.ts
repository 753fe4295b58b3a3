// Answers at hand: found without asking anybody, and not found as soon as that could be wrong.
import sql from 'sql-template-tag'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { observeDatabase, serverOfStore } from '../../lib/db/clock'
import { type Notifications, openNotifications } from '../../lib/db/notifications'
import { type Answers, type Finished, openAnswers } from '../../lib/idempotency/answers'
import { expire } from '../../lib/idempotency/sql/expire'
import { PLACE_ORDER } from '../../lib/orders/place-order'
import { answerOf, type Bench, newKey, openBench, orderOf, scriptedGateway, TENANT } from '../support/boundary'
import { type Line, openLine } from '../support/line'

const ORDER = orderOf()
const A_SECOND = 1000
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
  expire(bench.store, { due: sql`SELECT id, state FROM idempotency_records WHERE key = ${key} FOR UPDATE`, by: 'test' })

/** A busy machine may miss a sign of life, and then nothing is kept: that is no fault. */
async function kept(key: string): Promise<void> {
  await vi.waitFor(
    async () => {
      await place(key)
      expect(find(key)).toBeDefined()
    },
    { timeout: 8 * A_SECOND, interval: 20 },
  )
}

async function placed(): Promise<string> {
  const key = newKey()
  await kept(key)
  return key
}

describe('an answer at hand', () => {
  it('is erased from memory when its key has run out, whether anybody asks for it or not', async () => {
    answers = openAnswers(line, { maxBytes: MANY_BYTES, eraseAfterMs: 20 })
    const soon = new Date(line.latestMs() + 300)
    const finished = { id: 'idem_1', tenantId: TENANT, endpoint: PLACE_ORDER, fingerprint: '', createdAt: new Date() }
    const answer = { status: 201, headers: {}, body: '{}' }
    await vi.waitFor(() => {
      answers.keep(answers.ticket(), { ...finished, key: 'short', answer, expiresAt: soon })
      expect(answers.bytes()).toBeGreaterThan(0)
    })
    await vi.waitFor(() => expect(answers.bytes()).toBe(0), { timeout: 8 * A_SECOND, interval: 20 })
  })

  it('is the one that was given, by who gave it and by who found it', async () => {
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

  it('is nobody else’s: another tenant, endpoint or key finds nothing', async () => {
    const key = await placed()
    expect(answers.find('ten_other', PLACE_ORDER, key)).toBeUndefined()
    expect(answers.find(TENANT, 'POST /api/other', key)).toBeUndefined()
    expect(find(`${key}x`)).toBeUndefined()
  })

  it('is that of the later record where a key was taken anew, also when the earlier one goes', async () => {
    const key = await placed()
    const { prepared: _, ...earlier } = find(key)!
    const later = { ...earlier, id: 'idem_later', answer: { ...earlier.answer, body: '{"later":true}' } }
    answers.keep(answers.ticket(), later)
    expect(find(key)).toBe(later)
    await expireNow(key)
    await vi.waitFor(() => expect(answers.ticket()).toBe(1), { timeout: A_SECOND, interval: 5 })
    expect(find(key)).toBe(later)
  })

  it('is only ever a finished one', async () => {
    const key = newKey()
    const lost = scriptedGateway()
    lost.nextCall(() => ({ kind: 'unclear', code: 'no_answer' }))
    await bench.place(lost, ORDER, { key, boundary: { ...bench.boundary, answers } })
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown' })
    expect(find(key)).toBeUndefined()
  })

  it('is forgotten within a second of its key’s early end, whoever ends it', async () => {
    const byOperator = await placed()
    const byHand = await placed()
    const stays = await placed()
    await expireNow(byOperator)
    await bench.endRetention(byHand)
    await vi.waitFor(() => expect([find(byOperator), find(byHand)]).toEqual([undefined, undefined]), {
      timeout: A_SECOND,
      interval: 5,
    })
    expect(find(stays)).toBeDefined()
  })

  it('is not kept by somebody who read it before it was to be forgotten', async () => {
    const key = newKey()
    const other = await placed()
    let expired = false
    const store = {
      ...bench.store,
      query: async <Row>(statement: Parameters<typeof bench.store.query>[0]) => {
        const rows = await bench.store.query<Row>(statement)
        if (!statement.text.includes("state = 'completed', version")) return rows
        // between what it reads and what it keeps
        await expireNow(key)
        await vi.waitFor(() => expect(answers.ticket()).toBe(1), { timeout: A_SECOND, interval: 5 })
        expired = true
        return rows
      },
    }
    await bench.place(scriptedGateway(), ORDER, { key, boundary: { ...bench.boundary, store, answers } })
    expect(expired).toBe(true)
    expect(find(key)).toBeUndefined()
    expect(find(other)).toBeDefined()
  })

  it('is left to the database from the end of its time on, and so is what was read while nobody listened', async () => {
    const key = await placed()
    const endingIn = (ms: number): Finished => ({ ...find(key)!, expiresAt: new Date(line.latestMs() + ms) })
    answers.keep(answers.ticket(), endingIn(60_000))
    expect(find(key)).toBeDefined()
    answers.keep(answers.ticket(), endingIn(0))
    expect(find(key)).toBeUndefined()

    const again = await placed()
    const kept = find(again)!
    wire.cut()
    await vi.waitFor(() => expect(line.isCurrent()).toBe(false), { timeout: A_SECOND, interval: 5 })
    const ticket = answers.ticket()
    await vi.waitFor(() => expect(line.isCurrent()).toBe(true), { timeout: 8 * A_SECOND, interval: 20 })
    answers.keep(ticket, kept)
    expect(find(again)).toBeUndefined()
  })

  it('is not used while the store is seen to reach another server than the line', async () => {
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

it('with its trigger switched off, an early end is not told: the memory lasts as long as the answer would have', async () => {
  const key = await placed()
  await bench.rows('ALTER TABLE idempotency_records DISABLE TRIGGER records_move')
  try {
    await expireNow(key)
    const told = await placed()
    await bench.rows('ALTER TABLE idempotency_records ENABLE TRIGGER records_move')
    await expireNow(told)
    await vi.waitFor(() => expect(find(told)).toBeUndefined(), { timeout: A_SECOND, interval: 5 })
    // What is known of is docs/decisions/0016: whoever switches it off has to start the nodes anew.
    expect(find(key)).toBeDefined()
  } finally {
    await bench.rows('ALTER TABLE idempotency_records ENABLE TRIGGER records_move')
  }
})

describe('the line', () => {
  it('that breaks takes all answers with it, and those of its next connection are kept', async () => {
    const key = await placed()
    wire.cut()
    await vi.waitFor(() => expect(find(key)).toBeUndefined(), { timeout: A_SECOND, interval: 5 })
    await vi.waitFor(() => expect(line.isCurrent()).toBe(true), { timeout: 8 * A_SECOND, interval: 20 })
    expect(find(key)).toBeUndefined()
    await kept(key)
  })

  it('that falls silent is not believed for longer than a second', async () => {
    const key = await placed()
    wire.silence('down')
    const silentMs = performance.now()
    await expireNow(key)
    await vi.waitFor(() => expect(find(key)).toBeUndefined(), { timeout: 2 * A_SECOND, interval: 5 })
    expect(performance.now() - silentMs).toBeLessThan(A_SECOND)
    // And is given up, so that the next one can be had.
    await wire.heal()
    await vi.waitFor(() => expect(line.isCurrent()).toBe(true), { timeout: 8 * A_SECOND, interval: 20 })
    expect(find(key)).toBeUndefined()
  })

  it('that is not there keeps nothing', async () => {
    const deaf = openAnswers(openNotifications('postgresql://postgres@127.0.0.1:1/nowhere'), { maxBytes: MANY_BYTES })
    const key = newKey()
    await bench.place(scriptedGateway(), ORDER, { key, boundary: { ...bench.boundary, answers: deaf } })
    expect(deaf.find(TENANT, PLACE_ORDER, key)).toBeUndefined()
  })
})

it.each([
  ['at once', 0, [true, false, false, true]],
  ['not again within a step', 3_600_000, [false, false, true, true]],
])('what does not fit makes room of what was used longest ago, which is noted %s', async (_, useStepMs, stay) => {
  answers = openAnswers(line, { maxBytes: 5300, useStepMs })
  const keys = [newKey(), newKey(), newKey(), newKey()]
  for (const key of keys) {
    await place(key)
    find(keys[0]!)
  }
  expect(keys.map((key) => find(key) !== undefined)).toEqual(stay)
})
