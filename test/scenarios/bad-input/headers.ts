// Header lines: those that a call needs, in spellings that are right, nearly right and wrong, and those that it does
// not need. A value never ends the line; everything else that bytes can say, it may say.
import fc from 'fast-check'

export type Line = readonly [name: string, value: string]
type Lines = Line[]

const UUID = '@fresh@'
const NOTHING: Lines = []

const one =
  (name: string) =>
  (value: string): Lines => [[name, value]]

const bytes = fc.uint8Array({ maxLength: 60 }).map((some) =>
  Buffer.from(some)
    .toString('latin1')
    .replace(/[\r\n]/g, ' '),
)
const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((c) => String.fromCharCode(c)),
  maxLength: 300,
})

/** Right values and wrong ones, and now and then none, two of them, bytes at random, or far too much. */
const header = (name: string, right: readonly string[], wrong: readonly string[], weight = 6): fc.Arbitrary<Lines> =>
  fc.oneof(
    { weight: 4 * weight, arbitrary: fc.constantFrom(...right).map(one(name)) },
    { weight: 4, arbitrary: fc.constantFrom(...wrong).map(one(name)) },
    { weight: 1, arbitrary: fc.constant(NOTHING) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...right, ...wrong), fc.constantFrom(...right)).map(twice(name)) },
    { weight: 1, arbitrary: fc.oneof(bytes, visible).map(one(name)) },
    { weight: 1, arbitrary: fc.constantFrom(3000, 17_000).map((n) => one(name)('x'.repeat(n))) },
  )
const twice =
  (name: string) =>
  ([first, second]: [string, string]): Lines => [
    [name, first],
    [name.toUpperCase(), second],
  ]

export const idempotencyKey = header(
  'Idempotency-Key',
  [UUID, `"${UUID}"`, `  ${UUID}  `, `"${UUID}";a=1;b="x, y";c=?0;d=:aGk=:;g=@1659578233`],
  [
    '',
    '""',
    'short',
    '"short"',
    `"${UUID}`,
    `${UUID}"`,
    `"${UUID}";A=1`,
    `"${UUID}", "other-key-of-16-chars"`,
    `'${UUID}'`,
    `${UUID};a`,
    `${UUID},${UUID}`,
    `"${UUID}\\n"`,
    `"${UUID}\\"`,
    `"${UUID}"\t;x`,
    ':aGVsbG8gd29ybGQgaGVsbG8=:',
    '?1',
    '1659578233165957823',
    '@1659578233',
    'jane.doe@example.com',
    '+123456789012345',
    '4242424242424242',
    `${UUID}\r\n folded`,
    `\r\n ${UUID}`,
    `${UUID}\0`,
    `${UUID}\x7f`,
    `${UUID}\xe9`,
    `"${UUID}\xc3\xa9"`,
    'k'.repeat(255),
    'k'.repeat(256),
    `"${'k'.repeat(256)}"`,
    `"${'\\"'.repeat(255)}"`,
    `"${UUID}"${';a'.repeat(2000)}`,
  ],
  2,
)

const SECRETS = ['@admin-token@', '@viewer-token@', '@api-key@', '@revoked-key@']

export const authorization = (right: readonly string[]): fc.Arbitrary<Lines> =>
  header('Authorization', right, [
    '',
    'Bearer',
    'Bearer ',
    'Bearer \0',
    'Bearer oo_live_0000000000000000000000000000000000000000',
    'Bearer two words',
    'Basic b25jZTpvdmVy',
    'Bearer \xff\xfe',
    `Bearer ${'x'.repeat(600)}`,
    `Bearer "@api-key@"`,
    ...SECRETS.flatMap((secret) => [`Bearer ${secret}`, secret, `BEARER ${secret}`, `Bearer  ${secret}`]),
  ])

export const contentType = header(
  'Content-Type',
  ['application/json', 'application/json; charset=utf-8', 'Application/JSON'],
  [
    '',
    'text/plain',
    'application/json-patch+json',
    'application/problem+json',
    'application/json, text/plain',
    'application/json;',
    'multipart/form-data; boundary=x',
    'multipart/form-data',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    ';',
    '\xff',
  ],
)

const extra = (name: string, ...values: string[]): fc.Arbitrary<Lines> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...values).map(one(name)) },
    { weight: 1, arbitrary: bytes.map(one(name)) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...values), fc.constantFrom(...values)).map(twice(name)) },
  )

/** What a call does not ask for. Most of it must make no difference at all. */
const EXTRAS = fc.oneof(
  extra('Prefer', 'wait=1', 'wait=-1', 'wait=1e9', 'respond-async', 'respond-async, wait=1', 'wait="1', ',,;;==', '\0'),
  extra('Date', 'Mon, 16 Nov 2026 20:00:00 GMT', 'yesterday', '-1', `Mon, 16 Nov ${'9'.repeat(400)}`),
  extra('X-Request-Id', 'fuzz', '', '<script>', '"},{"', 'x'.repeat(129), '\0', '\xe9'),
  extra(
    'Cookie',
    'onceover.session_token=x',
    'onceover.session_token=%',
    '=',
    ';;;',
    '__Secure-onceover.session_token=x.y',
  ),
  extra('Origin', 'null', 'https://evil.example', 'http://', '://', 'http://localhost:99999', '%'),
  extra(
    'Host',
    '',
    'a b',
    '[',
    '[::1',
    'localhost:99999',
    'localhost:x',
    '%',
    '/',
    '\xff',
    'x'.repeat(300),
    'evil.example',
  ),
  extra('X-Forwarded-Host', '[', 'a b', ':::', '/', '%', 'evil.example, other'),
  extra('X-Forwarded-Proto', 'gopher', ':', 'https,http', ''),
  extra('X-Forwarded-Port', 'x', '99999999'),
  extra('X-Forwarded-For', '::::', 'unknown', '\xff'),
  extra('Expect', '100-continue', '200-ok', ''),
  extra('Connection', 'close', 'upgrade', 'keep-alive, upgrade', 'te'),
  extra('Upgrade', 'websocket', 'h2c', ''),
  extra('Accept', 'text/html', '*/*;q=x', ''),
  extra('Accept-Encoding', 'gzip', 'br;q=9', 'identity;q=0, *;q=0'),
  extra('Content-Encoding', 'gzip', 'identity', 'x'),
  extra('If-None-Match', '*', '"x"', 'W/'),
  extra('Range', 'bytes=0-0', 'bytes=9-1', 'x'),
  extra('TE', 'trailers', 'x'),
  extra('Trailer', 'Idempotency-Key'),
  extra('Next-Action', 'x', '0'.repeat(42), '$$', '%'),
  extra('Next-Router-State-Tree', '%', '[]', '%5B%22%22%5D', '{'),
  extra('RSC', '1', 'x'),
  extra('X-Middleware-Subrequest', 'proxy', 'middleware:middleware:middleware:middleware:middleware'),
  extra('X-Nextjs-Data', '1'),
  extra('X-HTTP-Method-Override', 'DELETE', 'x'),
  extra(
    'Sandbox-Signature',
    't=1,v1=00',
    't=,v1=',
    't=9999999999999999999,v1=zz',
    ',,,',
    `t=1,${'v1=00,'.repeat(500)}`,
  ),
  fc.constant<Lines>(Array.from({ length: 150 }, (_, i) => [`X-Many-${i}`, 'x'] as const)),
  fc.tuple(visible, visible).map(([name, value]) => one(`X-${name}`)(value)),
)

export const extras: fc.Arbitrary<Lines> = fc.oneof(
  { weight: 5, arbitrary: fc.constant(NOTHING) },
  { weight: 4, arbitrary: fc.array(EXTRAS, { minLength: 1, maxLength: 3 }).map((lines) => lines.flat()) },
)
