// The headers of the client API: what a request may say, and what an answer tells beside its body.
import { z } from 'zod'
import type { oas31 } from 'zod-openapi'
import { KEY } from './openapi-examples'

const requestId = z
  .string()
  .optional()
  .meta({
    description:
      'Your own name for this request, kept in our logs and given back. Word characters and `. : + / = -`, at most ' +
      '128; anything else is replaced by an id of ours.',
    example: 'checkout-7f3a',
    param: { id: 'RequestId' },
  })

export const ReadHeaders = z.object({ 'x-request-id': requestId })

export const KeyedHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .min(16)
    .meta({
      description:
        'One key for one thing that is to happen once; the same on every try of it. Two spellings, one key: the ' +
        'quoted structured-field String of RFC 8941, or the bare token that Stripe’s clients send. 16 to 255 ' +
        'characters after unquoting. E-mail addresses, phone numbers and card numbers are refused, because keys end ' +
        'up in logs.',
      param: {
        id: 'IdempotencyKey',
        examples: {
          quoted: { summary: 'Quoted (RFC 8941)', value: `"${KEY}"` },
          bare: { summary: 'Bare', value: KEY },
        },
      },
    }),
  Prefer: z
    .string()
    .optional()
    .meta({
      description:
        '`wait=N`: where the first request still runs, wait up to N seconds (0–30) for its answer, also when ' +
        'its outcome becomes unknown meanwhile. `respond-async`: ' +
        'accept it durably, answer 202 at once and let a worker do the rest. `busy=503`: 503 in place of the 409 ' +
        '`idempotency_key_in_progress` and `idempotency_outcome_unknown`. What is not understood is ignored ' +
        '(RFC 7240).',
      param: {
        id: 'Prefer',
        examples: {
          wait: { summary: 'Wait for the first request', value: 'wait=10' },
          async: { summary: 'Accept now, work later', value: 'respond-async' },
          busy: { summary: 'A 503 that clients repeat, in place of a 409', value: 'busy=503' },
        },
      },
    }),
  Date: z
    .string()
    .optional()
    .meta({
      description:
        'When the key was made, as an HTTP date. Needed only where the service sets `MAX_REQUEST_AGE_SECONDS`: then a ' +
        'request without it, older, or dated more than 5 minutes ahead is refused with `request_too_old`. A date that is renewed with each try takes ' +
        'this protection away.',
      example: 'Sun, 16 Nov 2025 13:58:02 GMT',
      param: { id: 'Date' },
    }),
  'x-request-id': requestId,
})

interface ResponseHeader {
  component: string
  description: string
  schema: oas31.SchemaObject
  example: string | number
}

const text: oas31.SchemaObject = { type: 'string' }

const RESPONSE_HEADERS = {
  'Idempotency-Key': {
    component: 'IdempotencyKey',
    description:
      'The key, as a quoted structured-field String whichever way it was sent. Not there where the request has none ' +
      'that can be read.',
    schema: text,
    example: `"${KEY}"`,
  },
  'Idempotency-Expires': {
    component: 'IdempotencyExpires',
    description: 'Until when the answer can be replayed, as an HTTP date. There once a record exists.',
    schema: text,
    example: 'Mon, 17 Nov 2025 13:58:02 GMT',
  },
  'Idempotent-Replayed': {
    component: 'IdempotentReplayed',
    description: '`true` on a replay: this is the first answer, byte for byte. Not there on the first answer itself.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  'Retry-After': {
    component: 'RetryAfter',
    description:
      'Seconds to wait before the same request is sent again with the same key. In a problem the same number as ' +
      '`retry.afterSeconds`; it is there exactly when a program may go on by itself.',
    schema: { type: 'integer', minimum: 1 },
    example: 2,
  },
  'Preference-Applied': {
    component: 'PreferenceApplied',
    description: 'Which preferences were honoured (RFC 7240).',
    schema: text,
    example: 'wait=10',
  },
  'WWW-Authenticate': {
    component: 'WWWAuthenticate',
    description: 'How to authenticate.',
    schema: text,
    example: 'Bearer',
  },
  'x-request-id': {
    component: 'RequestId',
    description: 'Your own id of this request, or ours. Tell us when something is wrong.',
    schema: text,
    example: 'req_01jcq2h8j1r4u8w2y6a0c3e7g9',
  },
} as const satisfies Record<string, ResponseHeader>

export type HeaderName = keyof typeof RESPONSE_HEADERS

export const headerComponents: oas31.HeadersObject = Object.fromEntries(
  Object.values(RESPONSE_HEADERS).map(({ component, ...header }) => [component, header]),
)

/** Response headers by reference, in the order that a reader looks for them. */
export function headers(...names: HeaderName[]): oas31.HeadersObject {
  const all = Object.keys(RESPONSE_HEADERS) as HeaderName[]
  return Object.fromEntries(
    all
      .filter((name) => names.includes(name))
      .map((name) => [name, { $ref: `#/components/headers/${RESPONSE_HEADERS[name].component}` }]),
  )
}

/** One of them as a line of an example. */
export const headerLine = (name: HeaderName): string => `${name}: ${RESPONSE_HEADERS[name].example}`

/** Not by reference: each operation leads to something else. */
export const location = (description: string, example: string): oas31.HeaderObject => ({
  description,
  schema: { type: 'string', format: 'uri-reference' },
  example,
})
