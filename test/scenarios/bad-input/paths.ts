// Where a request goes: ids that are none, addresses that no parser likes, cursors that somebody changed.
import fc from 'fast-check'

const cursorOf = (position: unknown): string => Buffer.from(JSON.stringify(position)).toString('base64url')
const AT = '2026-01-01T00:00:00.000Z'

const ODD_SEGMENTS = [
  '',
  '.',
  '..',
  '%2e%2e',
  '%2F',
  '%00',
  'ord_%00',
  '%',
  '%zz',
  '%E0%A4%A',
  '%ff',
  '%ED%A0%80',
  '%F0%9F%98%80',
  '\xf0\x9f\x98\x80',
  '\xff',
  '@order@%00',
  '@order@/',
  '@order@;x',
  '@record@',
  '@other-order@',
  'null',
  'undefined',
  '__proto__',
  '-1',
  "'%20OR%201=1--",
  '[id]',
  '\\',
  '*',
  '{id}',
  'x'.repeat(3000),
  'x'.repeat(20_000),
]

export const segment = (...right: string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...right) },
    { weight: 3, arbitrary: fc.constantFrom(...ODD_SEGMENTS) },
    {
      weight: 1,
      arbitrary: fc.string({ unit: 'binary', maxLength: 40 }).map((text) => encodeURIComponent(wellFormed(text))),
    },
  )
const wellFormed = (text: string): string => text.toWellFormed()

const CURSORS = [
  cursorOf({ createdAt: AT, id: 'ord_1' }),
  cursorOf({ createdAt: '0000-01-01T00:00:00.000Z', id: 'ord_1' }),
  cursorOf({ createdAt: '9999-12-31T23:59:59.999999999999Z', id: 'ord_1' }),
  cursorOf({ createdAt: '2026-02-30T00:00:00Z', id: 'ord_1' }),
  cursorOf({ createdAt: '2026-01-01T23:59:60Z', id: 'ord_1' }),
  cursorOf({ createdAt: '2026-01-01T24:00:00Z', id: 'ord_1' }),
  cursorOf({ createdAt: '2026-01-01T00:00Z', id: 'ord_1' }),
  cursorOf({ createdAt: AT, id: '\0' }),
  cursorOf({ createdAt: AT, id: '\ud800' }),
  cursorOf({ createdAt: AT, id: 'x'.repeat(65) }),
  cursorOf({ createdAt: AT }),
  cursorOf({ startedAt: AT, id: 'run_1' }),
  cursorOf({ at: '2026-01-01T00:00:00+23:59', id: 'x' }),
  cursorOf({ at: '0001-01-01T00:00:00+15:00', id: 'x' }),
  cursorOf({ seq: 9_007_199_254_740_991 }),
  cursorOf({ seq: -1 }),
  cursorOf({ sort: '-createdAt', value: AT, id: 'x' }),
  cursorOf({ sort: 'createdAt', createdAt: AT, id: 'x' }),
  cursorOf({ sort: '-replayCount', value: 1e300, createdAt: AT, id: 'x' }),
  cursorOf(1_000_000),
  cursorOf(null),
  cursorOf([]),
  'bm90IGpzb24',
  '%00',
  '',
  'x'.repeat(9000),
]

const ODD_VALUES = [
  '',
  '0',
  '-1',
  '1.5',
  '1e3',
  '0x10',
  'NaN',
  'Infinity',
  '99999999999999999999',
  '%00',
  '%',
  '%zz',
  '%ff',
  '%ED%A0%80',
  '%20',
  '+',
  'true',
  'null',
  '[object%20Object]',
  '%25',
  '_%25_',
  "'",
  '\\',
  '(',
  '%7B%7D',
  '0000-01-01T00:00:00Z',
  '2026-01-01T00:00:00%2B23:59',
  '2026-01-01T00:00:00-23:59',
  '9999-12-31T23:59:59.999999999Z',
  '0001-01-01T00:00:00%2B15:00',
  'x'.repeat(300),
]

const ODD_NAMES = ['__proto__', 'constructor', 'x', '', '%00', '%', 'limit[]', 'limit', 'cursor']

const pair = (names: readonly string[], right: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom(...(names.length ? names : ODD_NAMES)) },
        { weight: 1, arbitrary: fc.constantFrom(...ODD_NAMES) },
      ),
      fc.oneof(
        fc.constantFrom(...(right.length ? right : ODD_VALUES)),
        fc.constantFrom(...ODD_VALUES),
        fc.constantFrom(...CURSORS),
      ),
    )
    .map(([name, value]) => `${name}=${value}`)

/** A query of the names, in any number and order, each with a value that may be right. */
export const query = (names: readonly string[], right: readonly string[] = []): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant('') },
    {
      weight: 5,
      arbitrary: fc.array(pair(names, right), { minLength: 1, maxLength: 4 }).map((some) => `?${some.join('&')}`),
    },
    { weight: 1, arbitrary: fc.constantFrom('?', '??', '?&&&', '?=', '#x', '?x#y', `?${'a=1&'.repeat(2000)}`) },
  )

/** Addresses of nothing, and forms of an address that only a proxy would send. */
export const NOWHERE = [
  '/',
  '//',
  '/api',
  '/api/',
  '/api//orders',
  '/api/orders/',
  '//api/orders',
  '//evil.example/api/orders',
  '/api/./orders',
  '/api/x/../orders',
  '/api/%6frders',
  '/API/ORDERS',
  '/api/orders%00',
  '/api/orders%2F',
  '/api\\orders',
  '/api/no/such/path',
  '/_next/',
  '/_next/data/x/index.json',
  '/_next/image?url=%2Fx&w=1&q=1',
  '/_next/image?url=http://localhost&w=64&q=75',
  '/_next/static/%',
  '/_next/static/../../package.json',
  '/%',
  '/%ff',
  '/\xff',
  '/%00',
  '*',
  'x',
  'http://evil.example/api/orders',
  'http://',
  'http://[/',
  '?',
  `/${'a/'.repeat(3000)}`,
  `/${'x'.repeat(17_000)}`,
  '/docs',
  '/docs/problems/%00',
  '/docs/problems/__proto__',
  '/login?next=//evil.example',
  '/keys?state=%00',
  '/keys/%00',
  '/audit?cursor=%',
]
export const nowhere = fc.constantFrom(...NOWHERE)

export const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PROPFIND',
  'get',
  'X',
]
