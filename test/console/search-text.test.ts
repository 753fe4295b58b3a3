import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KeyFilter } from '../../lib/console/keys-filter'
import { parseSearch, printSearch, tokensOf } from '../../lib/console/search-text'
import { STATES } from '../../lib/idempotency/states'

const DAY = 86_400

const read = (text: string): KeyFilter => {
  const parsed = parseSearch(text)
  if (!parsed.ok) throw new Error(parsed.issue.message)
  return parsed.filter
}

/** What is refused, and the part of the text that is to blame. */
const refused = (text: string): { message: string; part: string } => {
  const parsed = parseSearch(text)
  if (parsed.ok) throw new Error(`read as ${JSON.stringify(parsed.filter)}`)
  const { message, start, end } = parsed.issue
  return { message, part: text.slice(start, end) }
}

/** Trimmed, as every filter is; full of what could be taken for something else. */
const anyText = (min: number, max: number) =>
  fc
    .array(
      fc.oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }),
        fc.constantFrom(' ', '  ', '"', '\\', ':', 'state:', 'tenant:"', 'age:>', 'dead', 'DEAD', '\t', 'ord_', '’'),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join('').replaceAll('\0', '').trim())
    .filter((text) => [...text].length >= min && [...text].length <= max && text.isWellFormed())

const instant = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
  .map((at) => at.toISOString())
const age = fc.oneof(fc.integer({ min: 0, max: 3660 * DAY }), fc.constantFrom(0, 1, 60, 3600, DAY, 7 * DAY))

const filters: fc.Arbitrary<KeyFilter> = fc.record(
  {
    state: fc.subarray([...STATES], { minLength: 1 }),
    tenant: anyText(1, 255),
    endpoint: anyText(1, 255),
    error: anyText(1, 100),
    order: anyText(3, 255),
    ref: anyText(3, 255),
    q: anyText(3, 255),
    minAgeSeconds: age,
    maxAgeSeconds: age,
    deadLettered: fc.boolean(),
    createdFrom: instant,
    createdTo: instant,
  },
  { requiredKeys: [] },
)

describe('the text of a search', () => {
  it('is parsed into the filter that it was printed from', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        expect(read(printSearch(filter))).toEqual(filter)
      }),
      { numRuns: 2000 },
    )
  })

  it('is either refused or parsed into a valid filter', () => {
    fc.assert(
      fc.property(anyText(0, 300), (text) => {
        const parsed = parseSearch(text)
        if (parsed.ok) expect(KeyFilter.parse(parsed.filter)).toEqual(parsed.filter)
      }),
      { numRuns: 2000 },
    )
  })

  it('is printed in one form, however it was typed', () => {
    expect(printSearch(read('  Age:>600s   STATE:unknown,pending tenant:"acme"  '))).toBe(
      'state:pending state:unknown tenant:acme age:>10m',
    )
  })

  it('is one search term when it has no qualifier', () => {
    expect(read('8e03978e-40d5')).toEqual({ q: '8e03978e-40d5' })
    expect(read('my own key')).toEqual({ q: 'my own key' })
    expect(read('"my  own key"')).toEqual({ q: 'my  own key' })
    expect(read('invoice:2026:000123')).toEqual({ q: 'invoice:2026:000123' })
    expect(read('"order:not-an-order"')).toEqual({ q: 'order:not-an-order' })
    expect(read('')).toEqual({})
  })

  it('is parsed with each of the qualifiers', () => {
    expect(read('state:unknown tenant:acme endpoint:refunds error:timeout age:>10m age:<1.5h')).toEqual({
      state: ['unknown'],
      tenant: 'acme',
      endpoint: 'refunds',
      error: 'timeout',
      minAgeSeconds: 600,
      maxAgeSeconds: 5400,
    })
    expect(read('order:ord_01 ref:sbx_ch dead')).toEqual({ order: 'ord_01', ref: 'sbx_ch', deadLettered: true })
    expect(read('dead:false')).toEqual({ deadLettered: false })
    expect(read('"dead"')).toEqual({ q: 'dead' })
    expect(read('from:2026-11-16T14:00+01:00 to:2026-11-17')).toEqual({
      createdFrom: '2026-11-16T13:00:00.000Z',
      createdTo: '2026-11-17T00:00:00.000Z',
    })
    expect(read('state:failed state:in-progress')).toEqual({ state: ['in_progress', 'failed_retryable'] })
  })

  it.each([
    ['tenant:acme state:lost', 'state:lost', 'No state is called lost.'],
    ['state:', 'state:', 'state: needs a state.'],
    ['tenant: acme', 'tenant:', 'tenant: needs the name or the id of a tenant.'],
    ['tenant:acme tenant:kestrel', 'tenant:kestrel', 'tenant: is given twice.'],
    ['age:10m', 'age:10m', 'age: needs > or <'],
    ['age:>10y', 'age:>10y', 'age: needs > or <'],
    ['age:>1m age:>2m', 'age:>2m', 'age:> is given twice.'],
    ['age:>9999w', 'age:>9999w', 'No key is older than ten years.'],
    ['dead:maybe', 'dead:maybe', 'dead: is true or false.'],
    ['from:yesterday', 'from:yesterday', 'from: needs a day or an instant'],
    ['from:2026-13-45', 'from:2026-13-45', 'from: needs a day or an instant'],
    ['ab', 'ab', 'Type at least 3 characters'],
    ['order:or', 'order:or', 'Type at least 3 characters'],
    [`tenant:acme ${'x'.repeat(256)}`, 'x'.repeat(256), 'Nothing that can be found is longer'],
    ['key\0', 'key\0', 'This has a character that no key can have.'],
  ])('%j is refused for %j', (text, part, message) => {
    const said = refused(text)
    expect(said.part).toBe(part)
    expect(said.message).toContain(message)
  })

  it('is split into words with their positions, even while a quote is still open', () => {
    expect(tokensOf('tenant:"Big Co" abc state:"unk')).toEqual([
      { start: 0, end: 15, name: 'tenant', value: 'Big Co', valueStart: 7 },
      { start: 16, end: 19, name: null, value: 'abc', valueStart: 16 },
      { start: 20, end: 30, name: 'state', value: 'unk', valueStart: 26 },
    ])
  })
})
