// An attempt after the first asks the provider for the effect before it calls.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  answerOf,
  type Bench,
  found,
  newKey,
  openBench,
  orderOf,
  refused,
  type ScriptedGateway,
  scriptedGateway,
  timedOut,
  toldBy,
} from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

let gateway: ScriptedGateway
let key: string
let body: ReturnType<typeof orderOf>
const place = () => bench.place(gateway, body, { key })

/** A first attempt that was refused before anything was sent; and the record is in doubt, as after any other end. */
beforeEach(async () => {
  gateway = scriptedGateway()
  key = newKey()
  body = orderOf()
  gateway.nextCall(refused)
  expect(toldBy(await place())).toBe('not_executed')
  expect(gateway.lookUps).toEqual([])
  await bench.doubt(key)
})

const orders = () =>
  bench.rows(
    `SELECT o.status, l.status AS ledger, l.provider_ref AS ref
     FROM orders o LEFT JOIN ledger_entries l ON l.order_id = o.id WHERE o.customer_id = $1`,
    [body.customerId],
  )

describe('a second attempt whose lookup', () => {
  it('finds nothing: calls once, with the same provider key, for the same order', async () => {
    const outcome = await place()
    expect(toldBy(outcome)).toBe('201')
    expect(gateway.lookUps).toHaveLength(1)
    expect(gateway.calls).toHaveLength(2)
    const [first, second] = gateway.calls
    expect(second).toEqual(first)
    expect(gateway.lookUps[0]!.providerKey).toBe(first!.providerKey)
    const record = await bench.recordOf(key)
    expect(record).toMatchObject({ state: 'completed', attempt: 2 })
    expect(record.timeline.map(({ event }) => event)).toEqual(['reserved', 'released', 'claimed', 'settled'])
    expect(await orders()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: expect.any(String) }])
    expect(JSON.parse(answerOf(outcome).body).id).toBe(first!.orderId)
  })

  it('finds a charge: settles with it and does not call', async () => {
    gateway.nextLookUp(() => found('ch_found'))
    const outcome = await place()
    expect(toldBy(outcome)).toBe('201')
    expect(JSON.parse(answerOf(outcome).body).payment.providerRef).toBe('ch_found')
    expect(gateway.calls).toHaveLength(1)
    expect(await orders()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: 'ch_found' }])
    expect(toldBy(await place())).toBe('201 replayed')
  })

  it('finds a decline: settles with it and does not call', async () => {
    gateway.nextLookUp(() => ({ kind: 'declined', providerRef: 'ch_declined' }))
    expect(toldBy(await place())).toBe('402')
    expect(gateway.calls).toHaveLength(1)
    expect(await orders()).toEqual([{ status: 'declined', ledger: 'failed', ref: 'ch_declined' }])
    expect(toldBy(await place())).toBe('402 replayed')
  })

  it('finds an undecided payment: leaves the outcome unknown and does not call', async () => {
    gateway.nextLookUp(() => ({ kind: 'pending', providerRef: 'ch_pending' }))
    expect(toldBy(await place())).toBe('outcome_unknown')
    expect(gateway.calls).toHaveLength(1)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', last_error_code: 'provider_pending' })
    expect(toldBy(await place())).toBe('unknown')
  })

  it('gets no answer: releases the record, and the next attempt repeats the lookup', async () => {
    gateway.nextLookUp(() => ({ kind: 'unreachable', code: 'timeout' }))
    expect(toldBy(await place())).toBe('not_executed')
    expect(gateway.calls).toHaveLength(1)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', attempt: 2 })
    expect(toldBy(await place())).toBe('201')
    expect(gateway.lookUps).toHaveLength(2)
    expect(gateway.calls).toHaveLength(2)
    expect((await bench.recordOf(key)).attempt).toBe(3)
  })

  it('throws: releases the record, because nothing was called', async () => {
    const bug = new TypeError('a bug')
    gateway.nextLookUp(() => Promise.reject(bug))
    await expect(place()).rejects.toBe(bug)
    expect(gateway.calls).toHaveLength(1)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', last_error_code: 'internal_error' })
    expect(toldBy(await place())).toBe('201')
  })
})

describe('a provider call', () => {
  it('that throws leaves the outcome unknown, because it may have been sent', async () => {
    const bug = new TypeError('a bug')
    gateway.nextCall(() => Promise.reject(bug))
    await expect(place()).rejects.toBe(bug)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', last_error_code: 'internal_error' })
    expect(toldBy(await place())).toBe('unknown')
  })

  it('that times out leaves the outcome unknown, and no retry calls again', async () => {
    gateway.nextCall(timedOut)
    expect(toldBy(await place())).toBe('outcome_unknown')
    for (let retry = 0; retry < 3; retry++) expect(toldBy(await place())).toBe('unknown')
    expect(gateway.calls).toHaveLength(2)
    expect(await orders()).toEqual([{ status: 'pending_payment', ledger: null, ref: null }])
  })
})

describe('a second attempt', () => {
  it('is not started for a client that has disconnected: there is no lookup and no call', async () => {
    expect(toldBy(await bench.place(gateway, body, { key, signal: () => AbortSignal.abort() }))).toBe('not_executed')
    expect(gateway.calls).toHaveLength(1)
    expect(gateway.lookUps).toEqual([])
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', attempt: 1 })
  })
})
