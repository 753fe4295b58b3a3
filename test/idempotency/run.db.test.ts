// One keyed request, seen from its client: what it is told, and what it may count as.
import { beforeEach, describe, expect, it } from 'vitest'
import { barrier, charged, newKey, refused, timedOut, toldBy } from '../support/boundary'
import { bench, body, gateway, key, place } from './one-key'

describe('an idempotency key', () => {
  it('belongs to its tenant: another tenant’s same key is independent', async () => {
    expect(toldBy(await place())).toBe('201')
    expect(toldBy(await place({ tenantId: 'ten_other' }))).toBe('201')
    expect(gateway.calls).toHaveLength(2)
    expect(gateway.calls[0]!.providerKey).not.toBe(gateway.calls[1]!.providerKey)
    expect(toldBy(await place({ tenantId: 'ten_other' }))).toBe('201 replayed')
  })

  it('belongs to its endpoint: the same key on another endpoint is independent', async () => {
    expect(toldBy(await place())).toBe('201')
    const orderId = await bench.paidOrder()
    expect(toldBy(await bench.refund(gateway, orderId, {}, { key }))).toBe('201')
  })

  it('belongs to its request path: the same key for another order is misuse', async () => {
    const [one, other] = [await bench.paidOrder(), await bench.paidOrder()]
    expect(toldBy(await bench.refund(gateway, one, {}, { key }))).toBe('201')
    expect(toldBy(await bench.refund(gateway, other, {}, { key }))).toBe('misuse')
    expect(gateway.calls).toHaveLength(1)
  })
})

describe('a different request with the same key', () => {
  const misuse = () => bench.place(gateway, { ...body, note: 'changed' }, { key, waitMs: 20_000 })

  it('is misuse while the first is in progress and once it is unknown, and leaves the record unchanged', async () => {
    const call = barrier()
    gateway.nextCall(async () => {
      await call.pass()
      return refused()
    })
    const owner = place()
    await call.reached
    const states: string[] = []
    const misused = async () => {
      const before = await bench.recordOf(key)
      expect(toldBy(await misuse())).toBe('misuse')
      expect(await bench.recordOf(key)).toEqual(before)
      states.push(before.state)
    }
    await misused()
    await bench.endLease(key)
    expect(toldBy(await misuse())).toBe('misuse')
    expect((await bench.recordOf(key)).state).toBe('in_progress')
    expect(toldBy(await place())).toBe('unknown')
    await misused()
    call.open()
    await owner
    expect(states).toEqual(['in_progress', 'unknown'])
  })

  it.each([
    ['completed', charged],
    ['failed_retryable', refused],
    ['unknown', timedOut],
  ] as const)('is misuse of a record that is %s, and leaves it unchanged', async (state, outcome) => {
    gateway.nextCall(() => outcome())
    await place()
    const before = await bench.recordOf(key)
    expect(before.state).toBe(state)
    expect(toldBy(await misuse())).toBe('misuse')
    expect(await bench.recordOf(key)).toEqual(before)
    expect(gateway.calls).toHaveLength(1)
  })
})

describe('the reserved callback', () => {
  const heard: boolean[] = []
  beforeEach(() => void heard.splice(0))
  const listening = { reserved: (created: boolean) => void heard.push(created) }

  it('is called as soon as the record is created or found, before the provider call', async () => {
    const call = barrier()
    gateway.nextCall(async () => {
      await call.pass()
      return charged()
    })
    const owner = place(listening)
    await call.reached
    expect(heard).toEqual([true])
    expect(toldBy(await place({ ...listening, waitMs: 0 }))).toBe('in_progress')
    expect(heard).toEqual([true, false])
    call.open()
    await owner
    expect(heard).toEqual([true, false])
  })

  it('is called before a duplicate waits', async () => {
    const call = barrier()
    gateway.nextCall(async () => {
      await call.pass()
      return charged()
    })
    const owner = place()
    await call.reached
    const waiting = place({ ...listening, waitMs: 20_000 })
    while (!(await bench.recordOf(key)).awaited);
    expect(heard).toEqual([false])
    call.open()
    await Promise.all([owner, waiting])
    expect(heard).toEqual([false])
  })

  it('is also called for a request that then throws, is refused or re-claims its record', async () => {
    const bug = new Error('a bug')
    gateway.nextCall(() => Promise.reject(bug))
    await expect(place(listening)).rejects.toBe(bug)
    const another = { ...listening, key: newKey() }
    gateway.nextCall(refused)
    await place(another)
    await place(another)
    expect(toldBy(await place({ ...listening, key: newKey(), mayCreate: false }))).toBe('not_allowed')
    expect(heard).toEqual([true, true, false, false])
  })
})

describe('a tenant at its limit of keys', () => {
  it('can’t create a key, but can still retry and replay existing ones', async () => {
    const atLimit = { mayCreate: false }
    expect(toldBy(await place(atLimit))).toBe('not_allowed')
    gateway.nextCall(refused)
    await place()
    // a re-claim creates nothing
    expect(toldBy(await place(atLimit))).toBe('201')
    expect(toldBy(await place(atLimit))).toBe('201 replayed')
  })
})
