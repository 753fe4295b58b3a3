import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { parseItem } from 'structured-headers'
import { ulid } from 'ulid'
import { describe, expect, it } from 'vitest'
import { parseKey, quoteKey, unquote } from '../../lib/idempotency/key'

const UUID = '8e03978e-40d5-43dd-bc93-6894a57f9324'

type Vector = {
  name: string
  raw: string[]
  must_fail?: boolean
  can_fail?: boolean
  expected?: [unknown, unknown[]]
}

function vectors(file: string): Vector[] {
  return JSON.parse(readFileSync(new URL(`../vectors/structured-fields/${file}`, import.meta.url), 'utf8'))
}

function detailOf(header: string): string {
  const parsed = parseKey(header)
  if (parsed.ok || parsed.reason !== 'invalid') throw new Error(`not refused as invalid: ${JSON.stringify(parsed)}`)
  return parsed.detail
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

const visible = (except: string) =>
  Array.from({ length: 0x7e - 0x21 + 1 }, (_, i) => String.fromCharCode(0x21 + i)).filter((c) => !except.includes(c))

describe('the key parser', () => {
  it('takes the quoted String of the draft and the bare token as the same key', () => {
    expect(parseKey(`"${UUID}"`)).toEqual({ ok: true, key: UUID })
    expect(parseKey(UUID)).toEqual({ ok: true, key: UUID })
  })

  it('ignores optional white space around either spelling', () => {
    expect(parseKey(` \t"${UUID}"\t `)).toEqual({ ok: true, key: UUID })
    expect(parseKey(` \t${UUID}\t `)).toEqual({ ok: true, key: UUID })
  })

  it('reads back every key that it quotes', () => {
    const printable = fc.string({ unit: fc.constantFrom(' ', ...visible('')), minLength: 16, maxLength: 255 })
    fc.assert(
      fc.property(printable, (text) => {
        expect(unquote(quoteKey(text))).toEqual({ ok: true, text })
        expect(quoteKey(text)).toBe(quoted(text))
      }),
    )
  })

  it('gives a bare key and its quoted form the same result', () => {
    const bare = fc.string({ unit: fc.constantFrom(...visible('",;')), minLength: 1, maxLength: 300 })
    fc.assert(
      fc.property(bare, (text) => {
        expect(parseKey(text)).toEqual(parseKey(quoted(text)))
      }),
    )
  })

  it('refuses to quote a key that is not printable ASCII', () => {
    expect(() => quoteKey('schlüssel-schlüssel')).toThrow()
  })
})

describe('the Idempotency-Key header', () => {
  it('is missing only when absent; an empty or blank one is invalid', () => {
    expect(parseKey(null)).toEqual({ ok: false, reason: 'missing' })
    expect(detailOf('')).toMatch(/empty/)
    expect(detailOf(' \t ')).toMatch(/empty/)
    expect(detailOf('""')).toMatch(/0 characters/)
  })
})

describe('the test vectors of structured fields', () => {
  describe.each(['string.json', 'item.json'])('%s', (file) => {
    it.each(vectors(file))('$name', ({ raw, must_fail, can_fail, expected }) => {
      const result = unquote(raw.join(', '))
      const text = expected?.[0]
      if (must_fail || typeof text !== 'string') expect(result).toEqual({ ok: false })
      else if (can_fail) expect([{ ok: false }, { ok: true, text }]).toContainEqual(result)
      else expect(result).toEqual({ ok: true, text })
    })

    it.each(vectors(file).filter((v) => v.must_fail))('parseKey refuses: $name', ({ raw }) => {
      expect(parseKey(raw.join(', '))).toMatchObject({ ok: false, reason: 'invalid' })
    })
  })

  it('include a long string that is refused for its length alone', () => {
    const long = vectors('string.json').find((v) => v.name === 'long string')
    expect(detailOf(long?.raw[0] ?? '')).toMatch(/260 characters/)
  })
})

describe('a quoted key', () => {
  it('may contain every printable character, including the space', () => {
    const all = ` ${visible('').join('')}`
    expect(parseKey(quoted(all))).toEqual({ ok: true, key: all })
  })

  it.each([
    ';v=1',
    '; v="a;b, c";w=tok/en;x=?1;y=:aGVsbG8=:;z',
    ';d=@1659578233',
    ';d=@1659578233;e',
    ';d=@-1;e="x=@1;"',
    ';s=%"f%c3%bc"',
  ])('may have parameters, which are ignored: %s', (parameters) => {
    expect(parseKey(`"${UUID}"${parameters}`)).toEqual({ ok: true, key: UUID })
  })

  it('is left as it is when it looks like a Date parameter', () => {
    expect(parseKey('"order=@1659578233;x=@2"')).toEqual({ ok: true, key: 'order=@1659578233;x=@2' })
  })

  it.each([
    `"${UUID}`,
    `"${UUID}"x`,
    `"${UUID}" x`,
    `"${UUID}" ;v=1`,
    `"${UUID}";V=1`,
    `"${UUID}";`,
    `"${UUID}";v=`,
    `"${UUID}";d=@1.5;e`,
    `"${UUID}";d=@1234567890123456;e`,
    `"${UUID}";b=:=@1:`,
    `"${UUID}",`,
    `"${UUID}\\n"`,
    `""${UUID}""`,
  ])('is refused when it is not exactly one Item: %s', (header) => {
    expect(detailOf(header)).toMatch(/exactly one structured-field String/)
  })

  it.each(['1', '-1.5', 'token', '?1', ':aGVsbG8=:', '@1659578233', '%"text"', '("a" "b")'])(
    'is refused when its type is not String: %s',
    (header) => expect(unquote(header)).toEqual({ ok: false }),
  )
})

describe('a bare key', () => {
  it('may contain every visible character but the double quote, the comma and the semicolon', () => {
    const all = visible('",;').join('')
    expect(parseKey(all)).toEqual({ ok: true, key: all })
  })

  it('may contain apostrophes, which are part of the key', () => {
    expect(parseKey(`'${UUID}'`)).toEqual({ ok: true, key: `'${UUID}'` })
  })

  it.each(['"', ',', ';', ' ', '\t'])('is refused with %j in it', (char) => {
    expect(detailOf(`order-1042${char}attempt-1`)).toMatch(/without quotes/)
  })

  it.each(['ü', '\u00a0', '\u007f', '\0', '\r\n', 'é'])('is refused with %j in any position', (char) => {
    for (const header of [char + UUID, UUID + char, `"${UUID}${char}"`, `"${UUID}";v="${char}"`]) {
      expect(detailOf(header)).toMatch(/printable ASCII/)
    }
  })
})

describe('two Idempotency-Key headers, joined by fetch', () => {
  it.each([
    [`"${UUID}"`, `"${UUID}"`],
    [`"${UUID}"`, UUID],
    [UUID, `"${UUID}"`],
    [UUID, UUID],
    [UUID, ''],
    ['', UUID],
    ['', `"${UUID}"`],
    [`"${UUID}"`, ''],
  ])('are refused: %s and %s', (first, second) => {
    const headers = new Headers()
    headers.append('idempotency-key', first)
    headers.append('idempotency-key', second)
    expect(parseKey(headers.get('idempotency-key'))).toMatchObject({ ok: false, reason: 'invalid' })
  })
})

describe('the length of a key', () => {
  it.each([
    [15, false],
    [16, true],
    [255, true],
    [256, false],
  ])('%i characters are valid: %s', (length, ok) => {
    const key = 'k'.repeat(length)
    expect(parseKey(key).ok).toBe(ok)
    expect(parseKey(`"${key}"`).ok).toBe(ok)
    if (!ok) expect(detailOf(key)).toMatch(`${length} characters`)
  })

  it('is counted after unquoting', () => {
    expect(parseKey(`"${'\\"'.repeat(255)}"`).ok).toBe(true)
    expect(parseKey(`"${'\\"'.repeat(15)}"`).ok).toBe(false)
  })
})

describe('personal data in a key', () => {
  const refused: [string, string][] = [
    ['jane.doe@example.com', 'e-mail'],
    ['JANE.DOE+orders@mail.example.co.uk', 'e-mail'],
    ['order-1042-jane@example.com', 'e-mail'],
    ['mailto:jane.doe@example.com', 'e-mail'],
    ['Jane Doe <jane@example.com>', 'e-mail'],
    ['"jane doe"@example.com', 'e-mail'],
    [`'jane.doe@example.com'`, 'e-mail'],
    ['jane.doe@xn--e1afmkfd.xn--p1ai', 'e-mail'],
    ['j@example.com', 'e-mail'],
    ['+123456789012345', 'phone'],
    ['+49 151 1234 5678', 'phone'],
    ['+1 (555) 010-0199', 'phone'],
    ['+49.151.1234.5678', 'phone'],
    ['+49-151-1234-5678', 'phone'],
    ['(+49) 30/1234567', 'phone'],
    ['tel:+4915112345678', 'phone'],
    [' +4915112345678  ', 'phone'],
    ['+4915112345678', 'phone'],
    ['+1234567', 'phone'],
    ['4111111111111111', 'Luhn'],
    ['4111 1111 1111 1111', 'Luhn'],
    ['4111-1111-1111-1111', 'Luhn'],
    ['3782 822463 10005', 'Luhn'],
    ['3056 930902 5904', 'Luhn'],
    ['378282246310005', 'Luhn'],
    [' 4111111111111111 ', 'Luhn'],
    [' jane@example.com ', 'e-mail'],
    ['4222222222222', 'Luhn'],
    ['6304000000000000000', 'Luhn'],
    ['0000000000000000', 'Luhn'],
  ]

  it.each(refused)('is refused in %s, with %s in the reason and without repeating the value', (text, reason) => {
    expect(detailOf(quoted(text))).toMatch(reason)
    expect(detailOf(quoted(text))).not.toContain(text)
    if (/^[^ ",;]+$/.test(text)) expect(detailOf(text)).toMatch(reason)
  })

  it.each([
    'order@2026-01-31T12:00:00Z',
    'package@1.2.3-build-0001',
    'jane.doe.at.example.com',
    '+1234567890123456',
    '+49151123order5678',
    '4111111111111112',
    '4111 1111 1111 1112',
    'order-4111111111111111',
    '41111111111111110000',
    '2026-01-31-00000016',
    '20260131-00000016',
    '1,234,567,890,123,456',
  ])('is not suspected in %s', (text) => {
    expect(parseKey(quoted(text))).toEqual({ ok: true, key: text })
  })

  it('is never suspected in a UUID, whatever its digits and spelling', () => {
    const digitsOnly = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 32, maxLength: 32 })
    const spell = (hex: string) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    fc.assert(
      fc.property(fc.oneof(fc.uuid(), digitsOnly.map(spell)), (uuid) => {
        for (const key of [uuid, uuid.toUpperCase(), uuid.replaceAll('-', ''), `urn:uuid:${uuid}`]) {
          expect(parseKey(key)).toEqual({ ok: true, key })
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('is never suspected in a ULID, even in one of digits only', () => {
    const digitsOnly = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 26, maxLength: 26 })
    fc.assert(
      fc.property(fc.oneof(fc.ulid(), digitsOnly), (key) => {
        expect(parseKey(key)).toEqual({ ok: true, key })
      }),
      { numRuns: 1000 },
    )
    const key = ulid()
    expect(parseKey(key)).toEqual({ ok: true, key })
  })

  it('is suspected in a number of 16 to 19 digits with exactly one of the ten check digits', () => {
    const payload = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 15, maxLength: 18 })
    fc.assert(
      fc.property(payload, (digits) => {
        const passing = [...'0123456789'].filter((check) => !parseKey(digits + check).ok)
        expect(passing).toHaveLength(1)
        expect(detailOf(digits + passing[0])).toMatch('Luhn')
      }),
    )
  })
})

describe('the library structured-headers, with flaws that the parser works around', () => {
  it('fails on a Date parameter that is not the last', () => {
    expect(() => parseItem('"k";d=@1')).not.toThrow()
    expect(() => parseItem('"k";d=@1;e')).toThrow()
  })

  it('lets characters beyond Latin-1 into a Display String, which our ASCII check refuses first', () => {
    expect(() => parseItem('"k";s=%"š"')).not.toThrow()
    expect(detailOf(`"${UUID}";s=%"š"`)).toMatch(/printable ASCII/)
  })
})
