// The Idempotency-Key header on the wire: two spellings of one key, and everything that is not exactly one key.
import { beforeAll, describe, expect, test } from 'vitest'
import { countCharges, freshKey, orderBody, type RecordView } from '../support/client'
import { expectProblem } from '../support/problem'
import { type SharedSite, shareSite } from '../support/site'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

let serial = 0
/** A key of a given length that no other test has. */
const keyOf = (length: number) => `${++serial}-`.padEnd(length, 'k')

describe('bare and quoted Idempotency-Key headers mean the same key', () => {
  test.each(['bare first', 'quoted first'])('%s', async (first) => {
    const key = freshKey()
    const body = orderBody()
    const spellings = first === 'bare first' ? [key, `"${key}"`] : [`"${key}"`, key]
    const [created, replay] = [await site.client.order(spellings[0], body), await site.client.order(spellings[1], body)]
    expect(created.status).toBe(201)
    expect(replay.headers['idempotent-replayed']).toBe('true')
    expect(replay.bytes).toEqual(created.bytes)
    for (const answer of [created, replay]) expect(answer.headers['idempotency-key']).toBe(`"${key}"`)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('parameters and white space around the key are ignored', async () => {
    const key = freshKey()
    const body = orderBody()
    const first = await site.client.order(key, body)
    for (const spelling of [
      `  ${key} `,
      ` "${key}" `,
      `"${key}";a`,
      `"${key}"; a=1;b="x, y";c=?0;d=:aGk=:;e=tok/en;f=1.5;g=@1659578233`,
    ]) {
      const replay = await site.client.order(spelling, body)
      expect({ spelling, status: replay.status }).toEqual({ spelling, status: 201 })
      expect(replay.bytes).toEqual(first.bytes)
      expect(replay.headers['idempotency-key']).toBe(`"${key}"`)
    }
  })
})

describe('an Idempotency-Key header is accepted', () => {
  test.each([
    ['bare, 16 characters', () => keyOf(16)],
    ['bare, 255 characters', () => keyOf(255)],
    ['bare, every character that a bare key may have', () => `${keyOf(16)}!#$%&'()*+-./:<=>?@[\\]^_\`{|}~`],
    ['digits that fail the Luhn check', () => '4242424242424241'],
    ['20 digits, whatever the Luhn check says', () => '42424242424242424242'],
  ])('%s', async (_title, make) => {
    const key = make()
    const answer = await site.client.order(key, orderBody())
    expect(answer.status).toBe(201)
    expect((await site.client.record(key)).json<RecordView>().key).toBe(key)
    expect(answer.headers['idempotency-key']).toBe(`"${key.replaceAll('\\', '\\\\')}"`)
  })

  test.each([
    ['quoted, 16 characters', () => keyOf(16)],
    ['quoted, 255 characters', () => keyOf(255)],
    ['quoted, 255 characters, not counting escapes', () => `${keyOf(200)}${'"\\'.repeat(27)}x`],
    [
      'quoted, every printable character',
      () => `${keyOf(16)}${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}`,
    ],
  ])('%s', async (_title, make) => {
    const key = make()
    const spelling = `"${key.replace(/["\\]/g, '\\$&')}"`
    const answer = await site.client.order(spelling, orderBody())
    expect(answer.status).toBe(201)
    expect(answer.headers['idempotency-key']).toBe(spelling)
    expect((await site.client.record(key)).json<RecordView>().key).toBe(key)
  })
})

describe('an Idempotency-Key header is refused with a reason', () => {
  test.each([
    ['15 characters, bare', 'k'.repeat(15), /15/],
    ['256 characters, bare', 'k'.repeat(256), /256/],
    ['15 characters, quoted', `"${'k'.repeat(15)}"`, /15/],
    ['256 characters, quoted', `"${'k'.repeat(256)}"`, /256/],
    ['15 characters, not counting escapes', `"${'\\"'.repeat(15)}"`, /15/],
    ['empty', '', /empty/],
    ['empty, quoted', '""', /\b0\b/],
    ['a quote that does not close', `"${'k'.repeat(20)}`, /String/],
    ['text after the closing quote', `"${'k'.repeat(20)}"x`, /String/],
    ['an invalid escape', `"${'k'.repeat(20)}\\n"`, /String/],
    ['a list of strings', `"${'k'.repeat(20)}", "${'l'.repeat(20)}"`, /String/],
    ['a string with a broken parameter', `"${'k'.repeat(20)}";A=1`, /String/],
    ['a bare key with a space', `${'k'.repeat(10)} ${'k'.repeat(10)}`, /space/],
    ['a bare key with a quote', `${'k'.repeat(10)}"${'k'.repeat(10)}`, /quote/],
    ['a bare key with a comma', `${'k'.repeat(10)},${'k'.repeat(10)}`, /comma/],
    ['a bare key with a semicolon', `${'k'.repeat(10)};${'k'.repeat(10)}`, /semicolon/],
    ['beyond ASCII, bare', `${'k'.repeat(20)}é`, /ASCII/],
    ['beyond ASCII, quoted', `"${'k'.repeat(20)}é"`, /ASCII/],
    ['an e-mail address', 'jane.doe@example.com', /e-mail/],
    ['an e-mail address, quoted', '"jane.doe+shop@mail.example.org"', /e-mail/],
    ['a phone number', '+123456789012345', /phone/],
    ['a phone number, quoted', '"+123456789012345"', /phone/],
    ['a phone number shorter than a key', '+4915112', /phone/],
    ['a card number', '4242424242424242', /Luhn/],
    ['a card number, quoted', '"4242424242424242"', /Luhn/],
    ['19 digits that pass the Luhn check', '6304000000000000000', /Luhn/],
    ['13 digits that pass the Luhn check', '4222222222222', /Luhn/],
  ])('%s', async (_title, header, reason) => {
    const body = orderBody()
    const answer = await site.client.order(header, body)
    expect(expectProblem(answer, 400, 'idempotency_key_invalid', 'new').detail).toMatch(reason)
    expect(await countCharges(site.url, body.customerId)).toBe(0)
  })

  test('the value itself is not repeated in the answer', async () => {
    const answer = await site.client.order('jane.doe@example.com', orderBody())
    expect(answer.bytes.toString()).not.toContain('jane')
    expect(JSON.stringify(answer.headers)).not.toContain('jane')
  })

  test.each([
    ['the same key twice, bare', (key: string) => [key, key]],
    ['the same key twice, quoted', (key: string) => [`"${key}"`, `"${key}"`]],
    ['both spellings', (key: string) => [key, `"${key}"`]],
    ['two keys', (key: string) => [key, freshKey()]],
    ['an empty line and a key', (key: string) => ['', key]],
  ])('the header sent twice: %s', async (_title, lines) => {
    const key = freshKey()
    expectProblem(await site.client.order(lines(key), orderBody()), 400, 'idempotency_key_invalid', 'new')
    expect((await site.client.record(key)).status).toBe(404)
  })
})

test('refunds require the Idempotency-Key header too', async () => {
  const order = (await site.client.order(freshKey(), orderBody())).json<{ id: string }>()
  const answer = await site.client.send(`/api/orders/${order.id}/refunds`, { method: 'POST', body: {} })
  expectProblem(answer, 400, 'idempotency_key_missing', 'new')
  expectProblem(await site.client.refund(order.id, 'short'), 400, 'idempotency_key_invalid', 'new')
})

test.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])('%s never requires an Idempotency-Key', async (method) => {
  const answer = await site.client.send('/api/orders', { method })
  expect(answer.bytes.toString()).not.toContain('idempotency_key')
  expect(answer.status === 200 || answer.status === 204 || answer.status === 405).toBe(true)
})
