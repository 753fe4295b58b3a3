import { createConfig, lintFromString } from '@redocly/openapi-core'
import { describe, expect, it } from 'vitest'
import { GET } from '../../app/api/openapi.json/route'
import { openApi } from '../../lib/http/openapi'
import { PROBLEM_CODES } from '../../lib/http/openapi-problem'
import { OPERATOR_CALLS } from '../../lib/http/operator-calls'
import { PROBLEMS, type ProblemCode } from '../../lib/http/problem'
import { METHODS, routeFiles } from './route-files'

const CATCH_ALL = '/api/[...unknown]'
/** Called by payment providers, in their own form. */
const WEBHOOKS = '/api/webhooks/'
/** There is nobody yet, or nobody any more, whose key it could be. */
const KEYLESS = ['POST /api/auth/sign-in', 'POST /api/auth/sign-out']

/** Where the recommended ruleset does not fit, and why. An exception that nothing needs fails like a finding. */
const EXCEPTIONS: Record<string, string> = {
  'info-license #/info': 'The software is unlicensed (package.json); there is no licence to name.',
  'operation-4xx-response #/paths/~1api~1openapi.json/get/responses': 'Takes no input that could be wrong.',
  'operation-4xx-response #/paths/~1api~1health/get/responses': 'Takes no input that could be wrong.',
  'operation-4xx-response #/paths/~1api~1ready/get/responses': 'Takes no input that could be wrong.',
}

/** Codes of the table that no call of this document answers with, and why. */
const NOT_FOR_CLIENTS: Partial<Record<ProblemCode, string>> = {
  invalid_signature: 'Webhooks are sent by payment providers.',
  malformed_request: 'It is no request that a call could answer.',
  headers_too_large: 'It is no request that a call could answer.',
  request_timeout: 'It is no request that a call could answer.',
  method_not_allowed: 'It is what a method that is no call of this document is answered with.',
}

async function lint(document: unknown): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'] })
  const findings = await lintFromString({ source: JSON.stringify(document), config })
  return findings.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)
}

const operations = Object.entries(openApi.paths ?? {}).flatMap(([path, item]) =>
  METHODS.flatMap((method) => {
    const operation = item[method.toLowerCase() as 'get']
    return operation ? [{ name: `${method} ${path}`, operation }] : []
  }),
)

/** By a tenant's API key. */
const clientOperations = operations.filter(({ operation }) => operation.security === undefined)

const CLIENT_SCHEMAS = [
  'OrderRequest',
  'OrderItem',
  'RefundRequest',
  'Order',
  'OrderList',
  'Refund',
  'IdempotencyRecord',
  'Problem',
]

type Node = {
  $ref?: string
  name?: string
  description?: string
  properties?: Record<string, Node>
  items?: Node
  anyOf?: Node[]
}

const followed = (node: Node): Node =>
  node.$ref
    ? (node.$ref
        .slice(2)
        .split('/')
        .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], openApi) as Node)
    : node

/** The members below that have no words, by their path; components of their own are looked at by themselves. */
function undescribedIn(schema: Node, path: string): string[] {
  const own = schema.description ? [] : [path]
  const shapes = [schema, ...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])]
  const members = shapes.flatMap((shape) => Object.entries(shape.properties ?? {}))
  return [...own, ...members.flatMap(([name, member]) => (member.$ref ? [] : undescribedIn(member, `${path}.${name}`)))]
}

/** Every code with its status, as the named examples of the responses have them. */
const documented = operations.flatMap(({ operation }) =>
  Object.entries(operation.responses ?? {}).flatMap(([status, response]) =>
    Object.keys(response.content?.['application/problem+json']?.examples ?? {}).map((code) => `${status} ${code}`),
  ),
)

describe('the OpenAPI document', () => {
  it('passes the recommended lint rules, except for the listed exceptions', async () => {
    expect((await lint(openApi)).sort()).toEqual(Object.keys(EXCEPTIONS).sort())
  })

  it('fails the lint rules if an example violates its schema', async () => {
    const broken = structuredClone(openApi)
    broken.paths!['/api/orders']!.get!.responses!['200'].content['application/json'].example = { items: 'none' }
    expect((await lint(broken)).filter((finding) => !(finding in EXCEPTIONS))).not.toEqual([])
  })

  it('lists exactly the paths and methods that are routed', async () => {
    const routed = (await routeFiles())
      .filter(({ path }) => path.startsWith('/api/') && path !== CATCH_ALL && !path.startsWith(WEBHOOKS))
      .flatMap(({ path, handlers }) => Object.keys(handlers).map((method) => `${method} ${path}`))
    expect(operations.map(({ name }) => name).sort()).toEqual(routed.sort())
  })

  it('has every problem code that a client can get, with its status', () => {
    const expected = PROBLEM_CODES.filter((code) => !NOT_FOR_CLIENTS[code]).map(
      (code) => `${PROBLEMS[code].status} ${code}`,
    )
    const busy = ['503 idempotency_key_in_progress', '503 idempotency_outcome_unknown']
    expect([...new Set(documented)].sort()).toEqual([...expected, ...busy].sort())
  })

  it('lists the same problem codes in each response’s description, enum and examples', () => {
    for (const { operation } of operations)
      for (const response of Object.values(operation.responses ?? {})) {
        const problem = response.content?.['application/problem+json']
        if (!problem) continue
        const codes = problem.schema.allOf[1].properties.code.enum
        expect(Object.keys(problem.examples)).toEqual(codes)
        for (const code of codes) expect(response.description).toContain(`\`${code}\``)
      }
  })

  it('requires Idempotency-Key on client POST and PATCH, offers it on operator POST, and on no other call', () => {
    for (const { name, operation } of operations) {
      const parameters = JSON.stringify(operation.parameters ?? [])
      const operators = OPERATOR_CALLS.some((call) => `${call.method} ${call.path}` === name)
      const asks = parameters.includes('#/components/parameters/IdempotencyKey')
      expect(asks, name).toBe(!operators && !KEYLESS.includes(name) && /^(POST|PATCH) /.test(name))
      expect(parameters.includes('"Idempotency-Key"'), name).toBe(operators && name.startsWith('POST '))
    }
    expect(openApi.components?.parameters?.IdempotencyKey).toMatchObject({
      name: 'Idempotency-Key',
      in: 'header',
      required: true,
    })
  })

  it('declares Retry-After wherever an example says when to retry', () => {
    for (const { name, operation } of operations)
      for (const [status, response] of Object.entries(operation.responses ?? {})) {
        const examples = Object.values(response.content?.['application/problem+json']?.examples ?? {})
        const later = (examples as { value: { retry: { afterSeconds: number | null } } }[]).some(
          ({ value }) => value.retry.afterSeconds !== null,
        )
        if (later) expect(response.headers, `${name} ${status}`).toHaveProperty('Retry-After')
      }
  })

  it('describes every client call with its parameters, responses and headers', () => {
    for (const { name, operation } of clientOperations) {
      expect(operation.summary, name).toMatch(/\S/)
      expect(operation.description, name).toMatch(/\S/)
      for (const parameter of operation.parameters ?? [])
        expect(followed(parameter).description, `${name} ${followed(parameter).name}`).toMatch(/\S/)
      for (const [status, response] of Object.entries(operation.responses ?? {})) {
        expect(response.description, `${name} ${status}`).toMatch(/\S/)
        for (const [header, value] of Object.entries(response.headers ?? {}))
          expect(followed(value as object).description, `${name} ${status} ${header}`).toMatch(/\S/)
      }
    }
  })

  it('describes every member of the client’s request and response schemas', () => {
    const undescribed = CLIENT_SCHEMAS.flatMap((name) =>
      undescribedIn(followed({ $ref: `#/components/schemas/${name}` }), name),
    )
    expect(undescribed).toEqual([])
  })

  it('is checked by a helper that reports a schema member without a description', () => {
    expect(undescribedIn({ properties: { a: {} } }, 'Made')).toEqual(['Made', 'Made.a'])
  })

  it('gives the client’s next step for every problem code', () => {
    for (const { operation } of clientOperations)
      for (const response of Object.values(operation.responses ?? {}))
        for (const code of Object.keys(response.content?.['application/problem+json']?.examples ?? {}))
          expect(response.description).toContain(PROBLEMS[code as ProblemCode].advice)
  })

  it('is served by GET /api/openapi.json', async () => {
    const response = GET(new Request('http://localhost/api/openapi.json'))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(openApi)))
  })
})

describe('an unknown path', () => {
  it.each(METHODS)('answers %s with the problem not_found', async (method) => {
    const request = new Request('http://localhost/api/nothing/here', { method, headers: { 'x-request-id': 'mine' } })
    const { [method]: handler } = await import('../../app/api/[...unknown]/route')
    const response = handler(request)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(response.headers.get('x-request-id')).toBe('mine')
    expect(await response.json()).toMatchObject({ code: 'not_found', type: '/docs/problems/not_found' })
  })
})
