import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, changedPaths, fingerprint } from '../../lib/idempotency/fingerprint'

const vectors = new URL('../vectors/jcs/', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, vectors), 'utf8')

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const order = {
  customerId: 'cus_1042',
  currency: 'USD',
  items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
  paymentMethod: 'pm_ok',
}

const of = (body: unknown) => fingerprint({ method: 'POST', endpoint: 'POST /api/orders', params: {}, body })

// Names that JavaScript objects already know are the ones that go wrong. Well-formed strings: the contract answers lone
// surrogates with 400 before there is a fingerprint.
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'toJSON', 'length', 'a.b', ''),
)
const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    text,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.uniqueArray(fc.tuple(text, tie('value')), { maxLength: 4, selector: ([name]) => name }).map(Object.fromEntries),
  ),
})).value

// By a hash of the seed and the name, so that a failing order can be run again from its seed.
function shuffled(value: Json, seed: number): Json {
  if (Array.isArray(value)) return value.map((element) => shuffled(element, seed))
  if (value === null || typeof value !== 'object') return value
  const rank = (name: string) => createHash('sha256').update(`${seed} ${name}`).digest('hex')
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (rank(a) < rank(b) ? -1 : 1))
      .map(([name, member]) => [name, shuffled(member, seed)]),
  )
}

function leaves(value: Json, at: (string | number)[] = []): (string | number)[][] {
  if (Array.isArray(value)) return value.length ? value.flatMap((v, i) => leaves(v, [...at, i])) : [at]
  if (value === null || typeof value !== 'object') return [at]
  const members = Object.entries(value)
  return members.length ? members.flatMap(([name, v]) => leaves(v, [...at, name])) : [at]
}

function replaced(value: Json, [step, ...rest]: (string | number)[], leaf: Json): Json {
  if (step === undefined) return leaf
  if (Array.isArray(value)) return value.map((v, i) => (i === step ? replaced(v, rest, leaf) : v))
  return Object.fromEntries(
    Object.entries(value as Record<string, Json>).map(([name, v]) => [
      name,
      name === step ? replaced(v, rest, leaf) : v,
    ]),
  )
}

const pathOf = (steps: (string | number)[]) =>
  steps.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`
    return /^[A-Za-z_]\w*$/.test(step) ? `${path}.${step}` : `${path}[${JSON.stringify(step)}]`
  }, '$')

describe('the canonical form', () => {
  it.each(readdirSync(new URL('input', vectors)))('equals the expected output of RFC 8785’s test data: %s', (file) => {
    expect(canonicalJson(JSON.parse(read(`input/${file}`)))).toBe(read(`output/${file}`))
  })

  it('stays the same when it is parsed and canonicalized again', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(JSON.parse(canonicalJson(value)))).toBe(canonicalJson(value))
      }),
    )
  })

  it('orders members by UTF-16 code units and not by code points', () => {
    expect(canonicalJson({ '\ufb33': 1, '\u{1f600}': 2, '10': 3, '9': 4 })).toBe(
      '{"10":3,"9":4,"\u{1f600}":2,"\ufb33":1}',
    )
  })

  it('omits an undefined member, and keeps a null member', () => {
    expect(canonicalJson({ a: 1, note: undefined })).toBe('{"a":1}')
    expect(canonicalJson({ a: 1, note: null })).toBe('{"a":1,"note":null}')
  })

  it('accepts a body that was parsed in another JavaScript realm', () => {
    expect(canonicalJson(runInNewContext('JSON.parse(\'{"b":[1],"a":{}}\')'))).toBe('{"a":{},"b":[1]}')
  })

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['an undefined element', [undefined]],
    ['a hole', new Array(1)],
    ['a function', { a: () => 1 }],
    ['a symbol', { a: Symbol('a') }],
    ['a bigint', { a: 1n }],
    ['NaN', { a: Number.NaN }],
    ['Infinity', [Number.POSITIVE_INFINITY]],
    ['a Map', { a: new Map([[1, 2]]) }],
    ['a Date', { a: new Date(0) }],
    ['an object with toJSON', { a: { toJSON: () => 1 } }],
    ['a lone surrogate', { a: '\ud800' }],
    ['a lone surrogate in a name', { '\udc00': 1 }],
  ])('throws on what is not JSON: %s', (_, value) => {
    expect(() => canonicalJson(value)).toThrow()
  })
})

describe('the canonicalize library without our guard', () => {
  it('serializes functions, Maps and undefined elements without an error', () => {
    expect(canonicalize({ a: () => 1 })).toBe('{"a":undefined}')
    expect(canonicalize(new Map([[1, 2]]))).toBe('{}')
    expect(canonicalize([undefined])).toBe('[null]')
    expect(canonicalize(undefined)).toBeUndefined()
  })
})

describe('the fingerprint', () => {
  it('is “v1:” and the SHA-256 of the canonical form', () => {
    const canonical =
      '{"body":{"currency":"USD","customerId":"cus_1042","items":[{"quantity":2,"sku":"SKU-1","unitPriceCents":1250}],' +
      '"paymentMethod":"pm_ok"},"endpoint":"POST /api/orders","method":"POST","params":{}}'
    expect(of(order)).toBe(`v1:${createHash('sha256').update(canonical).digest('hex')}`)
  })

  it('does not change between releases, because stored fingerprints are compared across them', () => {
    expect(of(order)).toBe('v1:0447a7aa32b1e10386290cf6cc87e05b6ed98d1cfaaaf0e5854ca8996e24fbee')
    expect(of({ note: 'Grüße, 東京 \u{1f600}', n: 1e21 })).toBe(
      'v1:3199f3fe6e6ee1232ecd3252b76595e9923caf3c515bc8110435a121ecde247a',
    )
  })

  it('ignores member order, white space and the notation of numbers and characters', () => {
    const a = JSON.parse('{"a":100,"b":[1.5,0,-0],"c":"\\u00e9/"}')
    const b = JSON.parse(' { "c" : "é\\/" , "b" : [ 15e-1 , 0.0 , 0 ] ,\n "a" : 1.00E2 } ')
    expect(of(a)).toBe(of(b))
  })

  it('is the same for any order of members, at any depth', () => {
    fc.assert(
      fc.property(json, fc.integer(), (body, seed) => {
        expect(of(shuffled(body, seed))).toBe(of(body))
      }),
    )
  })

  it('changes when any leaf of the body changes', () => {
    const changed = fc
      .tuple(json, json)
      .chain(([body, leaf]) =>
        fc.constantFrom(...leaves(body)).map((at) => ({ body, at, leaf, other: replaced(body, at, leaf) })),
      )
    fc.assert(
      fc.property(changed, ({ body, at, leaf, other }) => {
        const before = at.reduce<Json>((value, step) => (value as Record<string | number, Json>)[step] as Json, body)
        fc.pre(canonicalJson(before) !== canonicalJson(leaf))
        expect(of(other)).not.toBe(of(body))
      }),
      { numRuns: 300 },
    )
  })

  it('is the same for two bodies exactly when their canonical forms are the same', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(of(a) === of(b)).toBe(canonicalJson(a) === canonicalJson(b))
      }),
    )
  })

  it.each([
    ['method', { method: 'PATCH' }],
    ['endpoint', { endpoint: 'POST /api/orders/{id}/refunds' }],
    ['path parameters', { params: { id: 'ord_2' } }],
    ['body', { body: {} }],
    ['an absent body', { body: undefined }],
    ['a null body', { body: null }],
    ['array order', { body: { tags: ['b', 'a'] } }],
    ['a number as text', { body: { tags: ['a', 'b'], n: '1' } }],
  ])('changes when the request differs in: %s', (_, change) => {
    const base = {
      method: 'POST',
      endpoint: 'POST /api/orders',
      params: { id: 'ord_1' },
      body: { tags: ['a', 'b'], n: 1 },
    }
    expect(fingerprint({ ...base, ...change })).not.toBe(fingerprint(base))
  })

  it('differs between a path parameter and the same value in the body', () => {
    const base = { method: 'POST', endpoint: 'e' }
    expect(fingerprint({ ...base, params: { a: '1' }, body: {} })).not.toBe(
      fingerprint({ ...base, params: {}, body: { a: '1' } }),
    )
  })
})

describe('changed paths', () => {
  it('name members and elements, never values', () => {
    const other = { ...order, items: [{ ...order.items[0], quantity: 3 }], note: 'secret' }
    expect(changedPaths(order, other)).toEqual(['$.items[0].quantity', '$.note'])
    expect(changedPaths(other, order)).toEqual(['$.items[0].quantity', '$.note'])
  })

  it('stop at the outermost difference', () => {
    expect(changedPaths({ a: { b: 1, c: [1, 2] } }, { a: [1] })).toEqual(['$.a'])
    expect(changedPaths({ a: [1] }, { a: [1, { b: { c: 1 } }, 2] })).toEqual(['$.a[1]', '$.a[2]'])
    expect(changedPaths({ a: { b: { c: 1 } } }, {})).toEqual(['$.a'])
    expect(changedPaths(1, '1')).toEqual(['$'])
    expect(changedPaths([], {})).toEqual(['$'])
    expect(changedPaths(null, {})).toEqual(['$'])
  })

  it('treat an undefined member as absent, and a null member as present', () => {
    expect(changedPaths({ note: undefined }, {})).toEqual([])
    expect(changedPaths({ note: null }, {})).toEqual(['$.note'])
    expect(changedPaths([null], [])).toEqual(['$[0]'])
  })

  it('treat 0 and -0 as equal', () => {
    expect(changedPaths({ n: -0 }, { n: 0 })).toEqual([])
  })

  it('put names that are not identifiers in brackets, and include own members named like inherited ones', () => {
    expect(changedPaths({ 'a.b': 1, '': 1, 'x"y': 1 }, {})).toEqual(['$[""]', '$["a.b"]', '$["x\\"y"]'])
    expect(changedPaths(JSON.parse('{"__proto__":{},"constructor":1}'), {})).toEqual(['$.__proto__', '$.constructor'])
  })

  it('are limited to the first 50 in sorted order', () => {
    const many = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`m${String(i).padStart(2, '0')}`, i]))
    const paths = changedPaths(many, {})
    expect(paths).toHaveLength(50)
    expect(paths[0]).toBe('$.m00')
    expect(paths[49]).toBe('$.m49')
  })

  it('are none exactly when the canonical forms are equal', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(changedPaths(a, b).length === 0).toBe(canonicalJson(a) === canonicalJson(b))
        expect(changedPaths(a, shuffled(a, 1))).toEqual([])
      }),
    )
  })

  it('are the same in both directions, sorted and without duplicates', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const paths = changedPaths(a, b)
        expect(changedPaths(b, a)).toEqual(paths)
        expect([...new Set(paths)].sort()).toEqual(paths)
      }),
    )
  })

  it('name exactly the one leaf that has changed', () => {
    fc.assert(
      fc.property(
        json.chain((body) => fc.record({ body: fc.constant(body), at: fc.constantFrom(...leaves(body)) })),
        ({ body, at }) => {
          expect(changedPaths(body, replaced(body, at, 'a leaf no arbitrary makes'))).toEqual([pathOf(at)])
        },
      ),
    )
  })
})
