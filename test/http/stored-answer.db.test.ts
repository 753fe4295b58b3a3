// What a keyed route says of its answer beside its parts: which record stores it, or that none does.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { KEYED_ROUTES } from '../../app/api/keyed-routes'
import { fromWeb } from '../../lib/http/incoming'
import { type Counted, ORDERS, openCounted } from '../metrics/counted'
import { orderOf } from '../metrics/node'

let site: Counted
beforeAll(async () => {
  site = await openCounted()
})
afterAll(() => site.close())

function answer(key: string, body: unknown) {
  const headers = {
    authorization: `Bearer ${site.tenant.apiKey}`,
    'content-type': 'application/json',
    'idempotency-key': key,
  }
  const request = new Request('http://localhost/api/orders', { method: 'POST', headers, body: JSON.stringify(body) })
  return KEYED_ROUTES[ORDERS]!.answer(fromWeb(request), {})
}

it('a stored answer names its record, whether the request executed it or replays it', async () => {
  const key = randomUUID()
  const order = orderOf()
  const first = await answer(key, order)
  const [row] = await site.sqlOf<{ id: string; created_at: Date; expires_at: Date }>(
    'SELECT id, created_at, expires_at FROM idempotency_records WHERE key = $1',
    key,
  )
  const { id: recordId, created_at: createdAt, expires_at: expiresAt } = row!
  const stored = { recordId, tenantId: site.tenant.id, endpoint: ORDERS, key, createdAt, expiresAt }
  expect(first).toMatchObject({ status: 201, stored })
  expect((await answer(`"${key}"`, order)).stored).toEqual(stored)
})

it.each([
  [
    'a key that is used for another request',
    422,
    async () => {
      const key = randomUUID()
      await answer(key, orderOf())
      return answer(key, orderOf())
    },
  ],
  ['an invalid request', 400, () => answer(randomUUID(), {})],
  ['an unknown outcome', 504, () => answer(randomUUID(), orderOf('pm_timeout_charged'))],
  ['a call that the provider refused to take', 503, () => answer(randomUUID(), orderOf('pm_refused_once'))],
])('the answer to %s is not stored', async (_, status, ask) => {
  const answered = await ask()
  expect(answered.status).toBe(status)
  expect(answered.stored).toBeUndefined()
})
