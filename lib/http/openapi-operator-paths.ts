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

const id = (component: string, description: string) => z.string().meta({ description, param: { id: component } })

/** By how an id begins. */
const IDS: Record<string, z.ZodType> = {
  dis: id('DiscrepancyId', 'The id of a discrepancy'),
  idem: id('RecordId', 'The id of a record'),
  key: id('ApiKeyId', 'The id of an API key'),
  opr: id('OperatorId', 'The id of an operator'),
  pay: id('LedgerEntryId', 'The id of a ledger entry'),
  run: id('RunId', 'The id of a run'),
  ten: id('TenantId', 'The id of a tenant'),
  tok: id('TokenId', 'The id of a token'),
}
const CUSTOMER_ID = id('CustomerId', 'The customer’s id, as the tenant has it')

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
