import { decodeTime } from 'ulid'
import { expect, it } from 'vitest'
import { isId, newId, newUlid } from '../../lib/db/id'

it('newId gives a different id on every call, across refills of its random bytes', () => {
  const ids = Array.from({ length: 10_000 }, () => newId('req'))
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.every((id) => isId('req', id))).toBe(true)
})

it('a ULID contains its creation time', () => {
  const before = Date.now()
  const at = decodeTime(newUlid().toUpperCase())
  expect(at).toBeGreaterThanOrEqual(before)
  expect(at).toBeLessThanOrEqual(Date.now())
})

it('the random part of a ULID has each of the 32 characters equally often', () => {
  const counts = new Map<string, number>()
  const each = 3000
  for (let i = 0; i < (each * 32) / 16; i++)
    for (const character of newUlid().slice(-16)) counts.set(character, (counts.get(character) ?? 0) + 1)
  expect([...counts.keys()].sort().join('')).toBe('0123456789abcdefghjkmnpqrstvwxyz')
  // eight standard deviations
  for (const count of counts.values()) expect(Math.abs(count - each)).toBeLessThan(8 * Math.sqrt(each))
})
