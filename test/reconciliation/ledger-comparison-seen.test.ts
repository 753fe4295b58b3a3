import { describe, expect, it } from 'vitest'
import { SeenSet } from '../../lib/reconciliation/ledger-comparison-seen'

describe('a set of strings by their hash (SeenSet)', () => {
  it('contains exactly the added strings while it grows to 50,000', () => {
    const seen = new SeenSet()
    for (let i = 0; i < 50_000; i++) expect(seen.add(`ref_${i}`)).toBe(true)
    for (let i = 0; i < 50_000; i += 7) {
      expect(seen.has(`ref_${i}`)).toBe(true)
      expect(seen.add(`ref_${i}`)).toBe(false)
      expect(seen.has(`other_${i}`)).toBe(false)
    }
  })
})
