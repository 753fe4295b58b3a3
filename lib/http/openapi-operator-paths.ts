// The calls of the operator API, from the descriptions that their routes are made of.
import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi'
import { FAILURES, sharedProblemResponses } from './openapi-problem'
import type { AnyOperatorCall } from './operator-call'
import { OPERATOR_CALLS } from './operator-calls'
import type { ProblemCode } from './problem'

const IdempotencyKey = z.object({
  'Idempotency-Key': z
    .string()
    .optional()
    .meta({
      description:
        'Same key, same result, no second run. Optional here, and as with clients otherwise: it is answered, and a repeat has `Idempotent-Replayed`',
      param: { id: 'OptionalIdempotencyKey' },
    }),
})

/** What any read can come to, and what any change, in the order in which it is checked. */
const READ: readonly ProblemCode[] = [
  // A node bounds how many reads it answers at once (scripts/turns.ts).
  'rate_limited',
  'unauthenticated',
  'forbidden',
  'not_found',
  'invalid_request',
  ...FAILURES,
]
const CHANGE: readonly ProblemCode[] = [
  'unauthenticated',
  'cross_origin',
  'forbidden',
  'not_found',
  'unsupported_media_type',
  'body_too_large',
  'malformed_json',
  'invalid_request',
  'idempotency_key_invalid',
  'idempotency_key_reused',
  'idempotency_key_in_progress',
  ...FAILURES,
]

const id = (component: string, description: string, example: string) =>
  z.string().meta({ description, param: { id: component, example } })

/** By how an id begins. */
const IDS: Record<string, z.ZodType> = {
  dis: id('DiscrepancyId', 'The id of a discrepancy', 'dis_01jcq2t9a1c4e7g0j3m6p9r2t5'),
  idem: id('RecordId', 'The id of a record', 'idem_01jcq2h8j1s7u2w5y8a1c4e7g0'),
  key: id('ApiKeyId', 'The id of an API key', 'key_01jcq1y6b9d2f5h8k1n4q7s0v3'),
  opr: id('OperatorId', 'The id of an operator', 'opr_01jcq1z7c0e3g6j9m2p5r8t1w4'),
  pay: id('LedgerEntryId', 'The id of a ledger entry', 'pay_01jcq2h8r6t3w7y1b5d9f2h4j8'),
  run: id('RunId', 'The id of a run', 'run_01jcq3a1b4d7f0h3k6n9q2s5v8'),
  ten: id('TenantId', 'The id of a tenant', 'ten_01jcq1x5a8c1e4g7j0m3p6r9t2'),
  tok: id('TokenId', 'The id of a token', 'tok_01jcq208d1f4h7k0n3q6s9v2x5'),
}
const CUSTOMER_ID = id('CustomerId', 'The customer’s id, as the tenant has it', 'cus_1042')

const idOf = ({ source }: RegExp): z.ZodType => IDS[/^\^([a-z]+)_/.exec(source)?.[1] ?? ''] ?? CUSTOMER_ID

function operationOf(call: AnyOperatorCall): ZodOpenApiOperationObject {
  const { status, schema, example, description, alsoAs = {} } = call.answer
  const names = Object.keys(call.params ?? {})
  return {
    operationId: call.operationId,
    tags: [call.tag],
    summary: call.summary,
    description: [call.description, ROLE_WORDS[call.role]].filter(Boolean).join('\n\n'),
    requestParams: {
      ...(names.length
        ? {
            path: z.object(
              Object.fromEntries(Object.entries(call.params ?? {}).map(([name, pattern]) => [name, idOf(pattern)])),
            ),
          }
        : {}),
      ...(call.query ? { query: call.query } : {}),
      ...(call.method === 'POST' ? { header: IdempotencyKey } : {}),
    },
    ...(call.body
      ? { requestBody: { content: { 'application/json': { schema: call.body, example: call.bodyExample } } } }
      : {}),
    responses: {
      [String(status)]: {
        description,
        ...(schema
          ? { content: { 'application/json': { schema, ...(example ? { example } : {}) }, ...otherForms(alsoAs) } }
          : {}),
      },
      ...sharedProblemResponses(call.method === 'GET' ? 'Read' : 'Change', call.method === 'GET' ? READ : CHANGE, [
        ...(call.showsSecret ? (['already_created'] as const) : []),
        ...(call.problems ?? []),
      ]),
    },
  }
}

const otherForms = (examples: Record<string, string>) =>
  Object.fromEntries(Object.entries(examples).map(([type, example]) => [type, { schema: z.string(), example }]))

const ROLE_WORDS = {
  viewer: 'For every role.',
  operator: 'For the roles `operator` and `admin`.',
  admin: 'For the role `admin`.',
} as const

export function operatorPaths(calls: readonly AnyOperatorCall[] = OPERATOR_CALLS): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {}
  for (const call of calls) paths[call.path] = { ...paths[call.path], [call.method.toLowerCase()]: operationOf(call) }
  return paths
}
