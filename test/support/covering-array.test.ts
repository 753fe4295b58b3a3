import { describe, expect, it } from 'vitest'
import { coverPairs, missingPairs } from './covering-array'

const STEPS = ['one', 'two', 'three', 'four']
const FAULTS = ['cut', 'late', 'twice']
const KINDS = ['sync', 'async']
const ALL = STEPS.flatMap((step) => FAULTS.flatMap((fault) => KINDS.map((kind) => ({ step, fault, kind }))))
const own = (cell: (typeof ALL)[number]) => cell

describe('a covering array of value pairs', () => {
  it('covers every pair with fewer than all cells', () => {
    const chosen = coverPairs(ALL, own)
    expect(missingPairs(ALL, chosen, own)).toEqual([])
    expect(chosen.length).toBeLessThan(ALL.length)
    for (const step of STEPS)
      for (const fault of FAULTS)
        expect(
          chosen.some((cell) => cell.step === step && cell.fault === fault),
          `${step} & ${fault}`,
        ).toBe(true)
  })

  it('misses a pair when a needed cell is left out', () => {
    const chosen = coverPairs(ALL, own)
    const without = chosen.map((_, i) => missingPairs(ALL, chosen.toSpliced(i, 1), own).length)
    expect(without.filter((missing) => missing > 0).length).toBeGreaterThanOrEqual(STEPS.length * FAULTS.length - 1)
  })

  it('does not include pairs that can’t occur', () => {
    const possible = ALL.filter(({ step, fault }) => !(step === 'one' && fault === 'cut'))
    const chosen = coverPairs(possible, own)
    expect(missingPairs(possible, chosen, own)).toEqual([])
    expect(chosen.every((cell) => possible.includes(cell))).toBe(true)
  })

  it('consists of the same cells in every run', () => {
    expect(coverPairs(ALL, own)).toEqual(coverPairs(ALL, own))
  })
})
