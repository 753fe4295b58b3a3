// What the page of one key and the queue of unknown ones read from the store.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findNeighbours } from '../../lib/console/key-neighbours'
import { findOperatorRecord } from '../../lib/console/record-view'
import { readUnknownQueue } from '../../lib/console/unknown-queue'
import { RECONCILER, reconcile } from '../../lib/reconciliation/reconcile'
import { type Desk, OLGA, openDesk, UNREACHABLE } from '../reconciliation/desk'
import { type Bench, charged, found, newKey, openBench, orderOf } from '../support/boundary'

let bench: Bench
let desk: Desk
beforeAll(async () => {
  bench = await openBench()
  desk = openDesk(bench)
})
afterAll(() => bench.close())

const newestRecord = async (id: string) => (await findOperatorRecord(bench.store, id))!

describe('the neighbours of a key in the operators’ list', () => {
  it('are the next older and the next newer key that match the list’s filter', async () => {
    const place = async () => {
      const key = newKey()
      await bench.place(desk.gateway, orderOf(), { key })
      return (await bench.recordOf(key)).id
    }
    const oldest = await desk.unknown()
    const done = await place()
    const middle = await desk.unknown()
    const newest = await desk.unknown()
    const around = async (id: string, filter = {}) =>
      findNeighbours(bench.store, { filter, ...(await newestRecord(id)) })
    expect(await around(middle.id)).toEqual({ newer: newest.id, older: done })
    expect(await around(middle.id, { state: ['unknown'] })).toEqual({ newer: newest.id, older: oldest.id })
    expect(await around(newest.id)).toMatchObject({ newer: null })
    expect(await around(oldest.id)).toMatchObject({ older: null })
    expect(await around(middle.id, { tenant: 'nobody' })).toEqual({ newer: null, older: null })
  })
})

describe('the queue of unknown keys', () => {
  const read = (order: 'next' | 'oldest' = 'next') => readUnknownQueue(bench.store, { order, maxLookUps: 3 })
  const ask = async (id: string) => {
    desk.gateway.nextLookUp(() => UNREACHABLE)
    expect(await reconcile(desk.reconciliation, id, RECONCILER)).not.toBeNull()
  }

  it('has the amount, the number of lookups and the verdict of the last one', async () => {
    const key = await desk.unknown()
    await ask(key.id)
    const { waiting, counts } = await read()
    expect(waiting.find(({ id }) => id === key.id)).toMatchObject({
      key: key.key,
      amountCents: 2500,
      currency: 'USD',
      code: 'timeout',
      lookUps: 1,
      lastLookUp: { verdict: 'unreachable' },
      deadLetteredAt: null,
    })
    expect(counts.waiting).toBe(waiting.length)
  })

  it('has the amount of a refund, not that of its order', async () => {
    const key = await desk.unknownRefund(400, 1000)
    expect((await read()).waiting.find(({ id }) => id === key.id)).toMatchObject({ amountCents: 400 })
  })

  it('lists dead letters, which have no next lookup, apart from waiting keys', async () => {
    const key = await desk.unknown()
    for (let i = 0; i < 3; i++) await ask(key.id)
    const { deadLetters, waiting, counts } = await read()
    expect(deadLetters).toMatchObject([{ id: key.id, lookUps: 3, nextAt: null }])
    expect(waiting.map(({ id }) => id)).not.toContain(key.id)
    expect(counts.deadLetters).toBe(1)
  })

  it('is sorted by the time of the next lookup, or by age', async () => {
    const { waiting: next } = await read()
    expect(next.map(({ nextAt }) => nextAt)).toEqual(next.map(({ nextAt }) => nextAt).toSorted())
    const { waiting: oldest, oldestSince } = await read('oldest')
    expect(oldest.map(({ since }) => since)).toEqual(oldest.map(({ since }) => since).toSorted())
    expect(oldestSince).toBe(oldest[0]!.since)
  })

  it('counts accepted keys that the worker has given up on', async () => {
    const before = (await read()).counts.givenUp
    const key = await desk.unknown()
    await bench.rows(
      `UPDATE idempotency_records SET state = 'failed_retryable', version = version + 1, reconcile_after = NULL,
         dead_lettered_at = clock_timestamp(),
         timeline = timeline || jsonb_build_array(jsonb_build_object('at', clock_timestamp(), 'event', 'released', 'by', 'test'))
       WHERE id = $1`,
      [key.id],
    )
    expect((await read()).counts.givenUp).toBe(before + 1)
  })
})

describe('the provider’s object that a lookup fetched', () => {
  it('is stored with the evidence, and returned to the operator', async () => {
    const key = await desk.unknown()
    const createdAt = new Date('2026-11-16T13:58:03.046Z')
    const fetched = { amountCents: 2500, currency: 'USD', createdAt: createdAt.toISOString() }
    desk.gateway.nextLookUp(() => ({ ...found('ch_seen'), createdAt }) as ReturnType<typeof found>)
    expect(await desk.reconcileKey(OLGA, { id: key.id })).toMatchObject({
      verdict: 'succeeded',
      ref: 'ch_seen',
      object: fetched,
      evidence: [{ ref: 'ch_seen', object: fetched }],
    })
  })

  it('is returned but not stored when the outcome of the key is known', async () => {
    const key = newKey()
    desk.gateway.nextCall(() => charged('ch_there'))
    await bench.place(desk.gateway, orderOf(), { key })
    const { id } = await bench.recordOf(key)
    desk.gateway.nextLookUp(() => found('ch_there'))
    expect(await desk.reconcileKey(OLGA, { id })).toMatchObject({
      ref: 'ch_there',
      object: { amountCents: 2500, currency: 'USD' },
      evidence: [],
    })
  })
})
