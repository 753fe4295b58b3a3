// The wall clock is Node's own, also for a bundle that comes when somebody has put a Date of theirs in its place.
import { afterEach, expect, it, vi } from 'vitest'
import { wallMs } from '../lib/wall-clock'

afterEach(() => vi.unstubAllGlobals())

it('the wall clock reads Node’s own Date after Date is replaced, even from a module loaded later', async () => {
  const before = wallMs()
  vi.stubGlobal('Date', { now: () => 0 })
  vi.resetModules()
  const later = await import('../lib/wall-clock')
  expect(later.wallMs).not.toBe(wallMs)
  expect([later.wallMs() >= before, wallMs() >= before]).toEqual([true, true])
})
