import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parsePrefer, preferenceApplied } from '../../lib/http/prefer'

const none = { waitSeconds: null, respondAsync: false, busy503: false }
const wait = (waitSeconds: number) => ({ ...none, waitSeconds })
const async = { ...none, respondAsync: true }

describe('the Prefer header', () => {
  it.each<[string | null, ReturnType<typeof parsePrefer>]>([
    [null, none],
    ['', none],
    [' , ,', none],
    ['respond-async', async],
    ['wait=5', wait(5)],
    ['respond-async, wait=5', { ...none, waitSeconds: 5, respondAsync: true }],
    ['wait=5,respond-async', { ...none, waitSeconds: 5, respondAsync: true }],
    ['handling=lenient, wait=10, respond-async', { ...none, waitSeconds: 10, respondAsync: true }],
    ['busy=503', { ...none, busy503: true }],
    ['wait=5, Busy="503"', { ...wait(5), busy503: true }],
    ['Respond-Async, WAIT=5', { ...none, waitSeconds: 5, respondAsync: true }],
  ])('is parsed: %s', (header, expected) => expect(parsePrefer(header)).toEqual(expected))

  it.each([
    'wait="5"',
    'wait="\\5"',
    'wait = 5',
    '\twait=\t"5"\t',
    'wait=05',
    'wait=5;foo',
    'wait=5 ; foo="bar, wait=9; respond-async"',
    'wait=5;',
    ',,wait=5,,',
  ])('is accepted in other spellings of the grammar: %s', (header) => expect(parsePrefer(header)).toEqual(wait(5)))

  it.each(['respond-async=""', 'respond-async;foo=bar', 'respond-async ; foo'])(
    'may have an empty value or parameters, which are ignored: %s',
    (header) => expect(parsePrefer(header)).toEqual(async),
  )

  it.each([
    'wait',
    'wait=',
    'wait=""',
    'wait=abc',
    'wait=-1',
    'wait=+1',
    'wait=1.5',
    'wait=1e1',
    'wait=0x5',
    'wait=5 5',
    'wait=5s',
    'wait="5',
    'wait=5"',
    'wait="5"x',
    'wait=٥',
    'respond-async=false',
    'respond-async=true',
    'respond-async foo',
    'return=minimal',
    'x-wait=5',
    'foo; wait=5',
    'foo;respond-async',
    'foo="wait=5, respond-async"',
    'foo="a\\", wait=5, respond-async"',
    'foo="never closed, wait=5, respond-async',
  ])('is ignored if unknown, malformed or out of place: %s', (header) => expect(parsePrefer(header)).toEqual(none))

  it.each([
    ['wait=0', 0],
    ['wait=30', 30],
    ['wait=31', 30],
    ['wait=99999999999999999999', 30],
    [`wait=${'9'.repeat(400)}`, 30],
  ])('asks for 30 seconds at most: %s', (header, seconds) => expect(parsePrefer(header)).toEqual(wait(seconds)))

  it('counts only at the first occurrence of a preference, even if that is invalid', () => {
    expect(parsePrefer('wait=5, wait=9')).toEqual(wait(5))
    expect(parsePrefer('Wait=5, wait=9')).toEqual(wait(5))
    expect(parsePrefer('wait=abc, wait=9')).toEqual(none)
    expect(parsePrefer('respond-async=x, respond-async')).toEqual(none)
    expect(parsePrefer('respond-async, respond-async=x')).toEqual(async)
  })

  it('is read as one when it is sent several times', () => {
    const headers = new Headers([
      ['prefer', 'respond-async'],
      ['prefer', 'wait=7'],
    ])
    expect(parsePrefer(headers.get('prefer'))).toEqual({ ...none, waitSeconds: 7, respondAsync: true })
  })

  it('never makes the parser throw or wait outside 0 to 30 seconds', () => {
    const header = fc.array(fc.constantFrom('wait', 'respond-async', '=', ',', ';', '"', '\\', ' ', '7', '42', 'x'))
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          header.map((parts) => parts.join('')),
        ),
        (value) => {
          const { waitSeconds } = parsePrefer(value)
          if (waitSeconds !== null)
            expect(Number.isInteger(waitSeconds) && waitSeconds >= 0 && waitSeconds <= 30).toBe(true)
        },
      ),
    )
  })
})

describe('the Preference-Applied header', () => {
  it.each([
    [none, null],
    [async, 'respond-async'],
    [wait(0), 'wait=0'],
    [wait(30), 'wait=30'],
    [{ ...wait(1), busy503: true }, 'wait=1, busy=503'],
    [{ ...none, waitSeconds: 5, respondAsync: true }, 'respond-async, wait=5'],
  ])('for %j is %s', (honoured, header) => expect(preferenceApplied(honoured)).toBe(header))

  it('is parsed back into the honoured preferences', () => {
    const honoured = fc.record({
      waitSeconds: fc.option(fc.integer({ min: 0, max: 30 }), { nil: null }),
      respondAsync: fc.boolean(),
      busy503: fc.boolean(),
    })
    fc.assert(
      fc.property(honoured, (value) => {
        expect(parsePrefer(preferenceApplied(value))).toEqual(value)
      }),
    )
  })
})
