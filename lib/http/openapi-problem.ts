// Problems as the OpenAPI document shows them, made from the table that answers: an operation names its codes, and
// statuses, words, headers and examples follow from there.
import { z } from 'zod'
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import type { StoredProblem } from '../orders/answer'
import { ORDER_ID, REFUND_ID } from './openapi-examples'
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
    resource: z
      .object({
        type: z.string().meta({ description: '`order` or `refund`' }),
        id: z.string().meta({ description: 'Its id, to read it by' }),
      })
      .nullable()
      .optional()
      .meta({ description: 'With idempotency_key_expired: what the first request made' }),
    response: z
      .object({ status: z.int().meta({ description: 'Of the first answer' }) })
      .nullable()
      .optional()
      .meta({ description: 'With idempotency_key_expired: the status of the first answer' }),
  })
  .meta({ id: 'Problem', description: 'An error by RFC 9457' })

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
const WITHOUT_KEY: readonly ProblemCode[] = ['idempotency_key_missing', 'idempotency_key_invalid']

/** Said by the store, without a record. */
const LIMITS: readonly ProblemCode[] = ['restore_in_progress', 'rate_limited', 'active_key_limit']

/** A code of an operation, and how that operation differs from the table. */
export type OperationProblem =
  | ProblemCode
  | (Pick<ProblemDetails, 'retry' | 'resource' | 'status'> & { code: ProblemCode })

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

export const EXPIRED_REFUND: OperationProblem = {
  code: 'idempotency_key_expired',
  resource: { type: 'refund', id: REFUND_ID },
}

/** An answer with this code, exactly as it would be sent. */
export function problemExample(of: OperationProblem): { headers: Record<string, string>; body: unknown } {
  const { code, ...own } = typeof of === 'string' ? { code: of } : of
  const { headers, body } = problem(code, { ...EXAMPLE_DETAILS[code], ...own })
  return { headers, body: JSON.parse(body) }
}

export function problemResponses(problems: readonly OperationProblem[], keyed = false): ZodOpenApiResponsesObject {
  const byStatus = new Map<number, OperationProblem[]>()
  for (const of of problems) {
    const status = (typeof of === 'string' ? undefined : of.status) ?? PROBLEMS[codeOf(of)].status
    byStatus.set(status, [...(byStatus.get(status) ?? []), of])
  }
  return Object.fromEntries([...byStatus].map(([status, of]) => [String(status), problemResponse(of, keyed)]))
}

const codeOf = (of: OperationProblem): ProblemCode => (typeof of === 'string' ? of : of.code)
const adviceOf = (of: OperationProblem): ProblemDetails['retry'] =>
  (typeof of === 'string' ? undefined : of.retry) ?? PROBLEMS[codeOf(of)].retry

function problemResponse(problems: OperationProblem[], keyed: boolean): ZodOpenApiResponseObject {
  const codes = problems.map(codeOf) as [ProblemCode, ...ProblemCode[]]
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].detail} ${PROBLEMS[code].advice}`).join('\n\n'),
    headers: headers(...headerNames(problems, keyed)),
    content: {
      'application/problem+json': {
        schema: Problem.and(z.object({ code: z.enum(codes) })),
        examples: Object.fromEntries(
          problems.map((of) => [codeOf(of), { summary: PROBLEMS[codeOf(of)].title, value: problemExample(of).body }]),
        ),
      },
    },
  }
}

const headerNames = (problems: OperationProblem[], keyed: boolean): HeaderName[] =>
  problems.flatMap((of) => [...ownHeaders(codeOf(of), adviceOf(of)), ...(keyed ? keyedHeaders(codeOf(of)) : [])])

function ownHeaders(code: ProblemCode, advice: ProblemDetails['retry']): HeaderName[] {
  const names: HeaderName[] = ['x-request-id']
  if (code === 'unauthenticated') names.push('WWW-Authenticate')
  if (advice === 'later') names.push('Retry-After')
  return names
}

/** What the answer to a keyed request tells of its key. */
export function keyedHeaders(code: ProblemCode): HeaderName[] {
  if (WITHOUT_KEY.includes(code)) return []
  const names: HeaderName[] = ['Idempotency-Key']
  if (isStored(code)) names.push('Idempotent-Replayed')
  if (isStored(code) || OF_A_RECORD.includes(code)) names.push('Idempotency-Expires', 'Preference-Applied')
  if (LIMITS.includes(code)) names.push('Preference-Applied')
  return names
}
