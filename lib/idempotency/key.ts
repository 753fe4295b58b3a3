// Keeps: two spellings of one key, quoted and bare, always come out as the same text, and nothing that is not exactly
// one key (two headers joined, a half-closed string, a stray parameter) comes out at all. No detail repeats the value,
// because details are logged and the value may be what must not be.

import { parseItem, serializeItem } from 'structured-headers'

export type ParsedKey =
  | { ok: true; key: string }
  | { ok: false; reason: 'missing' }
  | { ok: false; reason: 'invalid'; detail: string }

export type Unquoted = { ok: true; text: string } | { ok: false }

const MIN_LENGTH = 16
const MAX_LENGTH = 255

// A field value has no other characters. Checked before trimming, since String#trim takes more than SP and HTAB.
const FIELD_VALUE = /^[\t\x20-\x7e]*$/

// "Without quotes" is read as without `"`, the one character that quotes in this grammar. An apostrophe is an ordinary
// token character (RFC 9110) and Stripe takes it, so refusing it would break clients that have used it all along.
// The other reading would only catch a shell mistake ('key' sent with its apostrophes), which repeats itself the same
// way on every retry and so still names one key.
const BARE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x7e]+$/

export function parseKey(header: string | null): ParsedKey {
  if (header === null) return { ok: false, reason: 'missing' }
  if (!FIELD_VALUE.test(header)) return invalid('The value has characters outside printable ASCII.')
  const value = header.trim()
  // Present but empty is a client that meant to send a key and lost it: say so instead of "no header".
  if (value === '') return invalid('The value is empty.')
  return value.startsWith('"') ? parseQuoted(value) : parseBare(value)
}

export function quoteKey(key: string): string {
  return serializeItem(key)
}

// The strict step on its own, with no rule about length or content. `value` must be an Item whose bare item is a
// String. Two header lines that each hold half a string join to a valid one; RFC 9651 section 4.2 leaves that outcome
// open, and no parser of the joined value can tell.
export function unquote(value: string): Unquoted {
  try {
    const [bareItem] = parseItem(datesAsIntegers(value))
    return typeof bareItem === 'string' ? { ok: true, text: bareItem } : { ok: false }
  } catch {
    return { ok: false }
  }
}

function parseQuoted(value: string): ParsedKey {
  const unquoted = unquote(value)
  if (unquoted.ok) return acceptable(unquoted.text)
  return invalid(
    'A value that starts with a double quote must be exactly one structured-field String (RFC 8941), sent in one header.',
  )
}

function parseBare(value: string): ParsedKey {
  if (BARE.test(value)) return acceptable(value)
  return invalid(
    'A key without quotes must not hold spaces, double quotes, commas or semicolons, and the header must be sent once.',
  )
}

// What a key must not be comes before its length: whoever is told that a phone number is too short pads it.
function acceptable(key: string): ParsedKey {
  const kind = personalData(key)
  if (kind) return invalid(`The key is ${kind}. Keys end up in logs: use a random value, such as a UUID.`)
  if (key.length < MIN_LENGTH || key.length > MAX_LENGTH) {
    return invalid(`The key has ${key.length} characters; it must have ${MIN_LENGTH} to ${MAX_LENGTH}.`)
  }
  return { ok: true, key }
}

function invalid(detail: string): ParsedKey {
  return { ok: false, reason: 'invalid', detail }
}

// structured-headers 2.1.0 reads a Date to the end of the input, so `"k";at=@1;b` fails although RFC 9651 allows it.
// A Date is an Integer behind an `@`, and parameters are ignored: without the `@` the same values parse and the same
// values fail. Only what follows the String is touched.
function datesAsIntegers(value: string): string {
  const string = /^ *"(?:[^"\\]|\\.)*"/.exec(value)?.[0]
  if (string === undefined) return value
  return string + value.slice(string.length).replace(/=@(?=-?\d+(?:[ ;]|$))/g, '=')
}

// Each rule asks about the whole key, never about a part: a run of digits inside a UUID, a ULID or a time stamp is no
// card, and a rule that refuses one random key in ten is worse than none.
function personalData(key: string): string | null {
  const text = key.trim()
  if (isEmail(text)) return 'an e-mail address'
  if (isPhone(text)) return 'a phone number'
  if (isCardNumber(text)) return 'a number that passes the card check (Luhn)'
  return null
}

// Anything may precede the `@`, so "order-jane@example.com" and "Jane <jane@example.com>" count too. The last label
// starts with a letter, so "build@1.2.3" does not.
function isEmail(text: string): boolean {
  return /^.+@(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*[a-z0-9][>')]?$/i.test(text)
}

// Bare, only `+` with all 15 digits is long enough to be a key; the others arrive with separators, mostly quoted.
function isPhone(text: string): boolean {
  return /^\+\d{7,15}$/.test(text.replace(/^tel:/i, '').replace(/[ ()./-]/g, ''))
}

// With separators only the way cards are grouped (4-4-4-4, 4-6-5, 4-6-4, 4-4-4-4-3, 6-13): "2026-01-31-00001234" is a
// date and a serial number, and one in ten of those would otherwise be refused.
function isCardNumber(text: string): boolean {
  if (!/^(?:\d+|(?:\d{4}|\d{6})(?:[ -]\d{3,})+)$/.test(text)) return false
  const digits = text.replace(/[ -]/g, '')
  return digits.length >= 13 && digits.length <= 19 && passesLuhn(digits)
}

function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    sum += i % 2 === 0 ? digit : digit < 5 ? digit * 2 : digit * 2 - 9
  }
  return sum % 10 === 0
}
