// The wall clock is Node's own, whoever puts a Date of theirs in its place later.
import { afterEach, expect, it, vi } from 'vitest'
import { wallMs } from '../lib/wall-clock'

afterEach(() => vi.unstubAllGlobals())

it('is read past a Date that came after it', () => {
  const before = Date.now()
  vi.stubGlobal('Date', { now: () => expect.unreachable() })
  const read = wallMs()
  vi.unstubAllGlobals()
  expect(read).toBeGreaterThanOrEqual(before)
  expect(read).toBeLessThanOrEqual(Date.now())
})
