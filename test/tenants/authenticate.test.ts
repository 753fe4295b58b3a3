// What a process remembers of API keys: whose a live one is. test/contract/tenants.test.ts shows for how long.
import { beforeEach, expect, it, vi } from 'vitest'
import type { Statement, Store } from '../../lib/db/store'
import { hashSecret } from '../../lib/secret'
import { type Authenticator, openAuthenticator } from '../../lib/tenants/authenticate'

const ROW = { id: 'ten_a', key_id: 'key_a', use_is_due: false, now: new Date(), server: 'here' }
const KNOWN = hashSecret('oo_live_a')
const query = vi.fn(async ({ values }: Statement) =>
  values.some((value) => value instanceof Buffer && KNOWN.equals(value)) ? [ROW] : [],
)
let authenticator: Authenticator
beforeEach(() => {
  query.mockClear()
  authenticator = openAuthenticator({ query } as unknown as Store)
})

it('a live API key is not looked up for each request', async () => {
  for (let i = 0; i < 5; i++) expect(await authenticator.authenticate('oo_live_a')).toMatchObject({ id: 'ten_a' })
  expect(query).toHaveBeenCalledTimes(1)
})

it('an unknown API key is looked up each time', async () => {
  for (let i = 0; i < 2; i++) expect(await authenticator.authenticate('oo_live_b')).toBeNull()
  expect(query).toHaveBeenCalledTimes(2)
})
