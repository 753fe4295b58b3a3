// An API key in the clear: it spares a busy client's requests their hash, and is not in memory for longer than that.
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Store } from '../../lib/db/store'
import { hashSecret } from '../../lib/secret'
import { type Authenticator, openAuthenticator } from '../../lib/tenants/authenticate'

vi.mock('../../lib/secret', async (original) => {
  const real = await original<typeof import('../../lib/secret')>()
  return { ...real, hashSecret: vi.fn(real.hashSecret) }
})

const hashed = vi.mocked(hashSecret)
let authenticator: Authenticator
beforeEach(() => {
  vi.useFakeTimers()
  hashed.mockClear()
  authenticator = openAuthenticator({} as Store)
})
afterEach(() => vi.useRealTimers())

it('is hashed once for many requests, and again after three seconds', () => {
  for (let i = 0; i < 5; i++) authenticator.recall('oo_live_a')
  expect(hashed).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(3000)
  authenticator.recall('oo_live_a')
  expect(hashed).toHaveBeenCalledTimes(2)
})

it('is not kept where strangers have filled the room', () => {
  for (let i = 0; i < 10_000; i++) authenticator.recall(`oo_live_${i}`)
  hashed.mockClear()
  authenticator.recall('oo_live_0')
  expect(hashed).not.toHaveBeenCalled()
  authenticator.recall('oo_live_late')
  authenticator.recall('oo_live_late')
  expect(hashed).toHaveBeenCalledTimes(2)
})
