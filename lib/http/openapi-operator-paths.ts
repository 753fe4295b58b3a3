// The calls of the operator API, from the descriptions that their routes are made of.
import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi'
import { headers } from './openapi-headers'
import { FAILURES, problemResponses } from './openapi-problem'
import type { AnyOperatorCall } from './operator-call'
import { OPERATOR_CALLS } from './operator-calls'
import type { ProblemCode } from './problem'

const IdempotencyKey = z.object({
  'Idempotency-Key': z
    .string()
    .optional()
    .meta({ description: 'Same key, same result, no second run. Optional here, and as with clients otherwise' }),
})

/** What any call of its kind can come to, in the order in which it is checked. */
function problemsOf(call: AnyOperatorCall): ProblemCode[] {
  const changes = call.method !== 'GET'
  const codes: ProblemCode[] = [
    // A node bounds how many reads it answers at once (scripts/turns.ts).
    ...(changes || call.stream ? [] : (['rate_limited'] as const)),
    'unauthenticated',
    ...(changes ? (['cross_origin'] as const) : []),
    'forbidden',
    ...(call.params ? (['not_found'] as const) : []),
    ...(call.body ? (['unsupported_media_type', 'body_too_large', 'malformed_json'] as const) : []),
    ...(call.body || call.query ? (['invalid_request'] as const) : []),
    ...(call.method === 'POST'
      ? (['idempotency_key_invalid', 'idempotency_key_reused', 'idempotency_key_in_progress'] as const)
      : []),
    ...(call.showsSecret ? (['already_created'] as const) : []),
    ...(call.problems ?? []),
    ...FAILURES,
  ]
  return [...new Set(codes)]
}

function operationOf(call: AnyOperatorCall): ZodOpenApiOperationObject {
  const { status, schema, example, description, alsoAs = {} } = call.answer
  const names = Object.keys(call.params ?? {})
  return {
    operationId: call.operationId,
    tags: [call.tag],
    summary: call.summary,
    description: [call.description, ROLE_WORDS[call.role]].filter(Boolean).join('\n\n'),
    security: [{ operatorToken: [] }, { operatorSession: [] }],
    requestParams: {
      ...(names.length ? { path: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) } : {}),
      ...(call.query ? { query: call.query } : {}),
      ...(call.method === 'POST' ? { header: IdempotencyKey } : {}),
    },
    ...(call.body
      ? { requestBody: { content: { 'application/json': { schema: call.body, example: call.bodyExample } } } }
      : {}),
    responses: {
      [String(status)]: {
        description,
        headers: headers('x-request-id'),
        ...(schema
          ? { content: { 'application/json': { schema, ...(example ? { example } : {}) }, ...otherForms(alsoAs) } }
          : {}),
      },
      ...problemResponses(problemsOf(call)),
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
