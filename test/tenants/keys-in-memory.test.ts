// An API key in the clear: it spares a busy client's requests their hash, and is not in memory for longer than that.
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Statement, Store } from '../../lib/db/store'
import { hashSecret } from '../../lib/secret'
import { type Authenticator, openAuthenticator } from '../../lib/tenants/authenticate'

vi.mock('../../lib/secret', async (original) => {
  const real = await original<typeof import('../../lib/secret')>()
  return { ...real, hashSecret: vi.fn(real.hashSecret) }
})

const hashed = vi.mocked(hashSecret)
const ROW = { id: 'ten_a', key_id: 'key_a', use_is_due: false, now: new Date(), server: 'here' }
const KNOWN = hashSecret('oo_live_a')
let authenticator: Authenticator
beforeEach(() => {
  vi.useFakeTimers()
  const query = async ({ values }: Statement) =>
    values.some((value) => value instanceof Buffer && KNOWN.equals(value)) ? [ROW] : []
  authenticator = openAuthenticator({ query } as unknown as Store)
  hashed.mockClear()
})
afterEach(() => vi.useRealTimers())

it('an API key is recalled without hashing for three seconds after its look-up', async () => {
  expect(authenticator.recall('Bearer oo_live_a')).toBeUndefined()
  await authenticator.authenticate('oo_live_a')
  for (let i = 0; i < 5; i++) expect(authenticator.recall('Bearer oo_live_a')).toMatchObject({ id: 'ten_a' })
  expect(hashed).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(3000)
  expect(authenticator.recall('Bearer oo_live_a')).toBeUndefined()
})

it('an API key is recalled no longer than its look-up is fresh, even if it is authenticated again meanwhile', async () => {
  vi.advanceTimersByTime(2900)
  await authenticator.authenticate('oo_live_a')
  // By then what was in the clear is gone, and comes from the look-up of before.
  vi.advanceTimersByTime(101)
  await authenticator.authenticate('oo_live_a')
  vi.advanceTimersByTime(2890)
  expect(authenticator.recall('Bearer oo_live_a')).toMatchObject({ id: 'ten_a' })
  vi.advanceTimersByTime(20)
  expect(authenticator.recall('Bearer oo_live_a')).toBeUndefined()
})

it('an API key is recalled by no other header than “Bearer” with the exact key', async () => {
  await authenticator.authenticate('oo_live_a')
  for (const other of [null, undefined, '', 'oo_live_a', 'bearer oo_live_a', 'Bearer oo_live_a ', 'Bearer oo_live_A'])
    expect(authenticator.recall(other)).toBeUndefined()
})

it('an unknown API key is not kept in memory', async () => {
  expect(await authenticator.authenticate('oo_live_b')).toBeNull()
  expect(authenticator.recall('Bearer oo_live_b')).toBeUndefined()
})
