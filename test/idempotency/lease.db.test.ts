// The check before the call: a process that slept must not wake up and charge, whichever of its clocks stood still.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { LeaseClock } from '../../lib/idempotency/lease'
import { type Bench, newKey, openBench, orderOf, refused, scriptedGateway, tampered, toldBy } from '../support/boundary'
import { advance, CLOCKS, type Clock } from '../support/clock'

afterEach(() => vi.restoreAllMocks())

describe('the clock of a lease', () => {
  it.each(CLOCKS)('counts the time of the %s clock when that clock is ahead', (clock) => {
    const lease = new LeaseClock(60_000)
    expect(lease.outlasts(10_000)).toBe(true)
    advance(clock, 50_001)
    expect(lease.outlasts(10_000)).toBe(false)
    expect(lease.leftMs()).toBeLessThanOrEqual(9_999)
  })

  it('does not extend the lease when the wall clock is set back', () => {
    const lease = new LeaseClock(60_000)
    advance('wall', -3_600_000)
    expect(lease.leftMs()).toBeLessThanOrEqual(60_000)
    advance('monotonic', 55_000)
    expect(lease.outlasts(10_000)).toBe(false)
  })

  it('does not outlast a call that takes all of the remaining time', () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    vi.spyOn(Date, 'now').mockReturnValue(0)
    const lease = new LeaseClock(1000)
    now.mockReturnValue(600)
    expect([399, 400, 401].map((ms) => lease.outlasts(ms))).toEqual([true, false, false])
  })
})

describe('an owner whose process was suspended', () => {
  let bench: Bench
  beforeAll(async () => {
    bench = await openBench({ leaseMs: 60_000 })
  })
  afterAll(() => bench.close())

  const sleepAfter = (clock: Clock, verb: string) => ({
    ...bench.boundary,
    store: tampered(bench.store, async (send, statement) => {
      const rows = await send()
      if (statement.text.includes(verb)) advance(clock, 59_500)
      return rows
    }),
  })

  it.each(CLOCKS)('after its reservation releases the key without a provider call, by the %s clock', async (clock) => {
    const gateway = scriptedGateway(1000)
    const key = newKey()
    const body = orderOf()
    const boundary = sleepAfter(clock, 'INSERT INTO idempotency_records')
    expect(toldBy(await bench.place(gateway, body, { key, boundary }))).toBe('not_executed')
    expect(gateway.calls).toEqual([])
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', last_error_code: 'lease_too_short' })
    vi.restoreAllMocks()
    expect(toldBy(await bench.place(gateway, body, { key }))).toBe('201')
  })

  it.each(CLOCKS)(
    'during its reservation makes no provider call: its lease counts from before the statement was sent, by the %s clock',
    async (clock) => {
      const gateway = scriptedGateway(1000)
      const key = newKey()
      const boundary = {
        ...bench.boundary,
        store: tampered(bench.store, (send, statement) => {
          if (statement.text.includes('INSERT INTO idempotency_records')) advance(clock, 59_500)
          return send()
        }),
      }
      expect(toldBy(await bench.place(gateway, orderOf(), { key, boundary }))).toBe('not_executed')
      expect(gateway.calls).toEqual([])
    },
  )

  it.each(CLOCKS)('after its claim makes no provider lookup and no call, by the %s clock', async (clock) => {
    const gateway = scriptedGateway(1000)
    gateway.nextCall(refused)
    const key = newKey()
    const body = orderOf()
    await bench.place(gateway, body, { key })
    const boundary = sleepAfter(clock, "state = 'in_progress', attempt")
    expect(toldBy(await bench.place(gateway, body, { key, boundary }))).toBe('not_executed')
    expect(gateway.lookUps).toEqual([])
    expect(gateway.calls).toHaveLength(1)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', attempt: 2 })
  })

  it.each(CLOCKS)('during its provider lookup makes no provider call, by the %s clock', async (clock) => {
    const gateway = scriptedGateway(1000)
    gateway.nextCall(refused)
    gateway.nextLookUp(() => {
      advance(clock, 59_500)
      return { kind: 'not_found' }
    })
    const key = newKey()
    const body = orderOf()
    await bench.place(gateway, body, { key })
    await bench.doubt(key)
    expect(toldBy(await bench.place(gateway, body, { key }))).toBe('not_executed')
    expect(gateway.calls).toHaveLength(1)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', last_error_code: 'lease_too_short' })
  })

  it('makes no provider call when too little of the lease is left by the database’s clock', async () => {
    const gateway = scriptedGateway(1000)
    gateway.nextCall(refused)
    const key = newKey()
    const body = orderOf()
    gateway.nextLookUp(async () => {
      await bench.db.query(
        `UPDATE idempotency_records SET locked_until = clock_timestamp() + interval '900 ms' WHERE key = $1`,
        [key],
      )
      return { kind: 'not_found' }
    })
    await bench.place(gateway, body, { key })
    await bench.doubt(key)
    expect(toldBy(await bench.place(gateway, body, { key }))).toBe('not_executed')
    expect(gateway.calls).toHaveLength(1)
  })
})
