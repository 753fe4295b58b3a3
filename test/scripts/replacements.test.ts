// A process that ended is replaced, at first at once, and not for ever.
import { expect, it } from 'vitest'
import { countReplacements } from '../../scripts/replacements'

it('ended processes are replaced at once as often as there are processes, then after growing delays, then no more', () => {
  const replacements = countReplacements(2, () => 0)
  const delays = Array.from({ length: 8 }, () => replacements.delayMs())
  expect(delays).toEqual([0, 0, 500, 1000, 2000, 4000, 8000, null])
})

it('a process end no longer delays replacements after a minute', () => {
  let nowMs = 0
  const replacements = countReplacements(1, () => nowMs)
  expect([replacements.delayMs(), replacements.delayMs()]).toEqual([0, 500])
  nowMs = 60_000
  expect(replacements.delayMs()).toBe(0)
})
