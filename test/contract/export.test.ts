// Keys as a file, over real HTTP.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_TOKEN, freshKey, orderBody, send } from '../support/client'
import { expectProblem } from '../support/problem'
import { openSite, type Site } from '../support/site'

let site: Site
const KEYS = [freshKey(), freshKey(), freshKey()]
beforeAll(async () => {
  site = await openSite()
  for (const key of KEYS) await site.client.order(key, orderBody())
  await site.client.order(freshKey(), orderBody({ paymentMethod: 'pm_refused_once' }))
})
afterAll(() => site?.close())

const exported = (query: string, token: string | undefined = ADMIN_TOKEN) =>
  send(`${site.url}/api/admin/keys/export?${query}`, { headers: { authorization: token && `Bearer ${token}` } })

test('a CSV export has the keys that match the filter, newest first, as an attachment', async () => {
  const { status, headers, bytes } = await exported('format=csv&state=completed')
  expect(status).toBe(200)
  expect(headers['content-type']).toMatch(/^text\/csv/)
  expect(headers['content-disposition']).toMatch(/^attachment; filename="onceover-keys-.*\.csv"$/)
  expect(headers['cache-control']).toBe('no-store')
  const [head, ...lines] = bytes.toString().trimEnd().split('\r\n')
  const at = head!.split(',').indexOf('key')
  expect(lines.map((line) => line.split(',')[at])).toEqual([...KEYS].reverse())
})

test('a JSON export has the keys that match the filter, each with its tenant, order and currency', async () => {
  const answer = await exported('format=json&state=completed&sort=createdAt')
  expect(answer.headers['content-type']).toBe('application/json')
  const keys = answer.json<{ key: string; tenant: string; orderId: string; currency: string }[]>()
  expect(keys.map(({ key }) => key)).toEqual(KEYS)
  for (const key of keys)
    expect(key).toMatchObject({ tenant: 'demo', orderId: expect.stringMatching(/^ord_/), currency: 'USD' })
})

test('an export by ids has only the named keys', async () => {
  const all = (await exported('format=json')).json<{ id: string }[]>()
  expect(all).toHaveLength(4)
  const [, second, , last] = all.map(({ id }) => id)
  const some = (await exported(`format=json&id=${last}&id=${second}`)).json<{ id: string }[]>()
  expect(some.map(({ id }) => id)).toEqual([last, second])
})

test('an export without matching keys is an empty file, not an error', async () => {
  expect((await exported('format=json&tenant=nobody')).json()).toEqual([])
  expect((await exported('tenant=nobody')).bytes.toString().split('\r\n')).toHaveLength(2)
})

test('an export is 401 with an unknown token and 400 with an invalid query', async () => {
  expectProblem(await exported('format=csv', 'nobody'), 401, 'unauthenticated', 'same')
  expectProblem(await exported('format=xml'), 400, 'invalid_request', 'same')
  expectProblem(await exported('sort=-replayCount'), 400, 'invalid_request', 'same')
  expectProblem(await exported('id=ord_1'), 400, 'invalid_request', 'same')
})
