// Problems as the OpenAPI document shows them, made from the table that answers: an operation names its codes, and
// statuses, words and headers follow from there. What a code looks like on the wire is on its own page in the reference.
import { z } from 'zod'
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import { STATES } from '../idempotency/states'
import { ClientRecord } from '../idempotency/view'
import type { StoredProblem } from '../orders/answer'
import { ORDER_ID } from './openapi-examples'
import { type HeaderName, headers } from './openapi-headers'
import { PROBLEMS, type ProblemCode, type ProblemDetails, problem } from './problem'

export const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]

export const Problem = z
  .object({
    type: z.string().meta({ format: 'uri-reference', description: 'The page of this problem in the API reference' }),
    title: z.string().meta({ description: 'The problem in a few words, the same each time' }),
    status: z.int().meta({ description: 'The HTTP status again' }),
    detail: z.string().meta({ description: 'What happened this time, for people' }),
    code: z.enum(PROBLEM_CODES).meta({ description: 'What to switch on. Words may change, codes do not' }),
    retry: z
      .object({
        sameKey: z.boolean().meta({ description: 'The same request may be sent again with the same key' }),
        newKey: z.boolean().meta({
          description: 'This key is done with: what is newly decided needs a new one. Never to be made in a loop',
        }),
        afterSeconds: z.int().min(1).nullable().meta({
          description:
            'A program sends it again by itself, after so many seconds at least, as in Retry-After. null: not by itself',
        }),
      })
      .meta({ description: 'What a machine should do next' }),
    issues: z
      .array(
        z.object({
          path: z.string().meta({ description: 'Where in the request' }),
          message: z.string().meta({ description: 'What is wrong there' }),
        }),
      )
      .optional()
      .meta({ description: 'With invalid_request: where, and what is wrong' }),
    resource: ClientRecord.shape.resource
      .optional()
      .meta({ description: 'With idempotency_key_expired: what the first request made' }),
    response: ClientRecord.shape.response
      .optional()
      .meta({ description: 'With idempotency_key_expired: the status of the first answer' }),
    current: z
      .object({
        state: z.enum(STATES).meta({ description: 'The record’s state' }),
        version: z.int().meta({ description: 'The record’s version' }),
      })
      .optional()
      .meta({ description: 'With changed_since_loaded: what the record is now' }),
  })
  .meta({
    id: 'Problem',
    description: 'An error by RFC 9457. The page of its `type` says what to do next',
    get examples() {
      return [problemExample('idempotency_key_expired').body]
    },
  })

const STORED: Record<StoredProblem, true> = {
  payment_declined: true,
  request_expired: true,
  order_not_found: true,
  order_not_refundable: true,
  refund_exceeds_order: true,
}

/** The operation itself came to this answer: it is kept and replayed. */
export const isStored = (code: ProblemCode): boolean => code in STORED

/** Said about a record that exists, so that the answer tells when it expires. */
const OF_A_RECORD: readonly ProblemCode[] = [
  'idempotency_key_reused',
  'idempotency_key_in_progress',
  'idempotency_outcome_unknown',
  'idempotency_key_expired',
  'payment_provider_unavailable',
  'payment_outcome_unknown',
]

/** There is no key that could be told. */
const WITHOUT_KEY: readonly ProblemCode[] = [
  'idempotency_key_missing',
  'idempotency_key_invalid',
  'idempotency_key_not_found',
  'refund_not_found',
  'not_found',
  'cross_origin',
  'invalid_signature',
]

/** Said by the store, without a record. */
const LIMITS: readonly ProblemCode[] = ['restore_in_progress', 'rate_limited', 'active_key_limit']

/** A code of an operation, and how that operation differs from the table. */
export type OperationProblem = ProblemCode | (Pick<ProblemDetails, 'retry' | 'status'> & { code: ProblemCode })

/** What any call may come to that has to ask the store. */
export const FAILURES = ['idempotency_store_unavailable', 'internal_error'] as const satisfies OperationProblem[]

const EXAMPLE_DETAILS: Partial<Record<ProblemCode, ProblemDetails>> = {
  idempotency_key_invalid: { detail: 'The key has 8 characters; it must have 16 to 255.' },
  invalid_request: { issues: [{ path: 'items[0].quantity', message: 'Too small: expected number to be >=1' }] },
  idempotency_key_expired: { resource: { type: 'order', id: ORDER_ID }, response: { status: 201 } },
  idempotency_outcome_unknown: { afterSeconds: 30 },
  active_key_limit: { afterSeconds: 60 },
  restore_in_progress: { afterSeconds: 60 },
}

/** An answer with this code, exactly as it would be sent. */
export function problemExample(of: OperationProblem): { headers: Record<string, string>; body: unknown } {
  const { code, ...own } = typeof of === 'string' ? { code: of } : of
  const { headers, body } = problem(code, { ...EXAMPLE_DETAILS[code], ...own })
  return { headers, body: JSON.parse(body) }
}

/** A response for each status. */
export function problemResponses(problems: readonly OperationProblem[]): ZodOpenApiResponsesObject {
  const byStatus = grouped(problems, statusOf)
  return Object.fromEntries(
    [...byStatus].map(([status, of]) => [
      String(status),
      problemResponse(of, [...of.flatMap(ofAll), ...of.flatMap(ofKey)]),
    ]),
  )
}

/** Made once for each name: the document shares what is the same object. */
const shared = new Map<string, ZodOpenApiResponseObject>()

/**
 * One response for the problems that calls of this kind share, beside it what a call has of its own. It is the default
 * and none for 4XX and 5XX, which some generators write out as a number. A 401 is always named: linters ask for a 4xx.
 */
export function sharedProblemResponses(
  kind: string,
  common: readonly ProblemCode[],
  own: readonly ProblemCode[],
): ZodOpenApiResponsesObject {
  const statuses = new Set(own.map(statusOf))
  const explicit = [...new Set([...common, ...own])].filter((code) => statuses.has(statusOf(code)))
  const named = (id: string, codes: readonly ProblemCode[]) => {
    const response = shared.get(id) ?? { id, ...problemResponse(codes, codes.flatMap(ofAll)) }
    shared.set(id, response)
    return response
  }
  return {
    ...Object.fromEntries(
      [...grouped(explicit, statusOf)].map(([status, codes]) => [
        String(status),
        problemResponse(codes, codes.flatMap(ofAll)),
      ]),
    ),
    '401': named('SignedOut', ['unauthenticated']),
    default: named(
      `${kind}Failed`,
      common.filter((code) => code !== 'unauthenticated'),
    ),
  }
}

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => number): Map<number, Item[]> {
  const groups = new Map<number, Item[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

const statusOf = (of: OperationProblem): number =>
  (typeof of === 'string' ? undefined : of.status) ?? PROBLEMS[codeOf(of)].status
const codeOf = (of: OperationProblem): ProblemCode => (typeof of === 'string' ? of : of.code)
const adviceOf = (of: OperationProblem): ProblemDetails['retry'] =>
  (typeof of === 'string' ? undefined : of.retry) ?? PROBLEMS[codeOf(of)].retry

/** The codes that a response names in its description. */
export const codesIn = (description: string): ProblemCode[] =>
  [...description.matchAll(/`(\w+)`:/g)].map(([, code]) => code as ProblemCode)

export const problemResponse = (
  problems: readonly OperationProblem[],
  names: HeaderName[],
): ZodOpenApiResponseObject => ({
  description: problems.map((of) => `\`${codeOf(of)}\`: ${PROBLEMS[codeOf(of)].title}.`).join(' '),
  ...(names.length > 0 ? { headers: headers(...names) } : {}),
  content: { 'application/problem+json': { schema: Problem } },
})

function ofAll(of: OperationProblem): HeaderName[] {
  const names: HeaderName[] = []
  if (codeOf(of) === 'unauthenticated') names.push('WWW-Authenticate')
  if (adviceOf(of) === 'later') names.push('Retry-After')
  return names
}

/** There only where the request has a key that can be read. */
const ofKey = (of: OperationProblem): HeaderName[] => keyedHeaders(codeOf(of))

/** What the answer to a keyed request tells of its key. */
export function keyedHeaders(code: ProblemCode): HeaderName[] {
  if (WITHOUT_KEY.includes(code)) return []
  const names: HeaderName[] = ['Idempotency-Key']
  if (isStored(code)) names.push('Idempotent-Replayed')
  if (isStored(code) || OF_A_RECORD.includes(code)) names.push('Idempotency-Expires', 'Preference-Applied')
  if (LIMITS.includes(code)) names.push('Preference-Applied')
  return names
}
