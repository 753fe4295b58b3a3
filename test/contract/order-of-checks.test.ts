// A request that is wrong in every way is told of the first: authentication, media type, size, JSON, header, age,
// validation, store. And what counts as too old, on a node that asks.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countCharges, freshKey, type Headers, orderBody } from '../support/client'
import { expectProblem } from '../support/problem'
import { openSite, type Site } from '../support/site'

let site: Site
beforeAll(async () => {
  site = await openSite({ MAX_REQUEST_AGE_SECONDS: '60' })
})
afterAll(() => site?.close())

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toUTCString()

describe('a request with several errors gets the first error in the contract’s order', () => {
  const usedKey = freshKey()
  beforeAll(async () => {
    const first = await site.client.order(usedKey, orderBody(), { date: ago(0) })
    expect(first.status).toBe(201)
  })

  const wrong = {
    authorization: { authorization: 'Bearer nobody' },
    mediaType: { 'content-type': 'text/plain' },
    header: { 'idempotency-key': 'short' },
    age: { date: ago(3600) },
  }
  const right = { header: { 'idempotency-key': usedKey }, age: { date: ago(0) } }
  const tooLarge = '{'.repeat(256 * 1024 + 1)
  const notValid = JSON.stringify({ ...orderBody(), currency: 'nothing' })
  const notTheSame = JSON.stringify(orderBody())

  test.each<[string, number, string, 'new' | 'same', string, Headers]>([
    [
      'authentication',
      401,
      'unauthenticated',
      'same',
      tooLarge,
      { ...wrong.authorization, ...wrong.mediaType, ...wrong.header, ...wrong.age },
    ],
    [
      'media type',
      415,
      'unsupported_media_type',
      'same',
      tooLarge,
      { ...wrong.mediaType, ...wrong.header, ...wrong.age },
    ],
    ['size', 413, 'body_too_large', 'same', tooLarge, { ...wrong.header, ...wrong.age }],
    ['JSON', 400, 'malformed_json', 'same', '{', { ...wrong.header, ...wrong.age }],
    ['an invalid key header', 400, 'idempotency_key_invalid', 'new', notValid, { ...wrong.header, ...wrong.age }],
    ['no key header', 400, 'idempotency_key_missing', 'new', notValid, wrong.age],
    ['age', 400, 'request_too_old', 'same', notValid, { ...right.header, ...wrong.age }],
    ['validation', 400, 'invalid_request', 'same', notValid, { ...right.header, ...right.age }],
    ['a reused key', 422, 'idempotency_key_reused', 'new', notTheSame, { ...right.header, ...right.age }],
  ])('when the first is: %s', async (_title, status, code, advice, body, headers) => {
    expectProblem(await site.client.order(undefined, body, headers), status, code, advice)
  })
})

describe('where MAX_REQUEST_AGE_SECONDS is set, a request', () => {
  test.each([
    ['without a Date', undefined],
    ['with a Date that is too old', ago(65)],
    ['with a Date that can’t be parsed', 'yesterday'],
    ['with a Date more than five minutes ahead', ago(-600)],
    ['with a Date in the year 2100', 'Fri, 01 Jan 2100 00:00:00 GMT'],
  ])('%s is refused and leaves no record', async (_title, date) => {
    const key = freshKey()
    const body = orderBody()
    expectProblem(await site.client.order(key, body, { date }), 400, 'request_too_old', 'same')
    expect((await site.client.record(key)).status).toBe(404)
    expect(await countCharges(site.url, body.customerId)).toBe(0)
    expect((await site.client.order(key, body, { date: ago(0) })).status).toBe(201)
  })

  test('with a Date younger than the limit is accepted', async () => {
    expect((await site.client.order(freshKey(), orderBody(), { date: ago(50) })).status).toBe(201)
  })

  test('with a Date less than five minutes ahead is accepted', async () => {
    expect((await site.client.order(freshKey(), orderBody(), { date: ago(-270) })).status).toBe(201)
  })

  test('to be replayed is refused when its Date is too old or too far ahead', async () => {
    const key = freshKey()
    const body = orderBody()
    expect((await site.client.order(key, body, { date: ago(0) })).status).toBe(201)
    for (const date of [ago(120), ago(-600)])
      expectProblem(await site.client.order(key, body, { date }), 400, 'request_too_old', 'same')
  })

  test('for a read is accepted with an old Date', async () => {
    expect((await site.client.get('/api/orders', { date: ago(3600) })).status).toBe(200)
  })
})
