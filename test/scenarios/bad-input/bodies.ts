// Bodies: right ones, nearly right ones, and bytes that are no JSON at all.
import fc from 'fast-check'
import { mutated, ODD_VALUES } from './json-text'
import { type BadRequest, bytesOf, RIGHT_FRAMINGS } from './wire'

export type Body = Pick<BadRequest, 'body' | 'framing' | 'padTo'>

const MAX_BODY_BYTES = 256 * 1024

export const ORDER = {
  customerId: 'cus_fuzz',
  currency: 'USD',
  items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
  paymentMethod: 'pm_ok',
  note: 'left at the door',
}
export const REFUND = { amountCents: 1, reason: 'a scratch' }

const BYTES_AT_RANDOM = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1'))

/** What is done to text that is JSON so that it is none any more, or hardly. */
const spoiled = (text: string): fc.Arbitrary<string> =>
  fc.oneof(
    fc.nat(text.length).map((length) => text.slice(0, length)),
    fc.constant(`\xef\xbb\xbf${text}`),
    fc.constant(`${text}${text}`),
    fc.constant(text.replaceAll('"', "'")),
    fc.constant(Buffer.from(text, 'utf16le').toString('latin1')),
    fc
      .tuple(fc.nat(text.length), fc.constantFrom('\0', '\xff', '\xc0\x80', '\xed\xa0\x80', '\x80', '\u0085', ',', '}'))
      .map(([at, bytes]) => text.slice(0, at) + bytes + text.slice(at)),
  )

const textOf = (example: unknown): fc.Arbitrary<string> => {
  const right = bytesOf(JSON.stringify(example))
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant(right) },
    { weight: 8, arbitrary: mutated(example) },
    { weight: 3, arbitrary: spoiled(right) },
    { weight: 1, arbitrary: fc.constantFrom('', ...ODD_VALUES) },
    { weight: 1, arbitrary: BYTES_AT_RANDOM },
  )
}

const padTo = fc.oneof(
  { weight: 20, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(MAX_BODY_BYTES - 1, MAX_BODY_BYTES, MAX_BODY_BYTES + 1, 2 * MAX_BODY_BYTES),
  },
)
const framing = fc.constantFrom('length' as const, 'length' as const, ...RIGHT_FRAMINGS)

export const bodyLike = (example: unknown): fc.Arbitrary<Body> => fc.record({ body: textOf(example), framing, padTo })

/** Of a call that has none: mostly none. */
export const noBody: fc.Arbitrary<Body> = fc.oneof(
  { weight: 9, arbitrary: fc.constant<Body>({ body: '', framing: 'length' }) },
  { weight: 1, arbitrary: bodyLike({}) },
)
