import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core'
import spectralRulesets from '@stoplight/spectral-rulesets'
import { describe, expect, it } from 'vitest'
import type { oas31 } from 'zod-openapi'
import { GET } from '../../app/api/openapi.json/route'
import { openApi, openApiAt, servedOpenApi } from '../../lib/http/openapi'
import { codesIn, PROBLEM_CODES } from '../../lib/http/openapi-problem'
import { OPERATOR_CALLS } from '../../lib/http/operator-calls'
import { PROBLEMS } from '../../lib/http/problem'
import { METHODS, routeFiles } from './route-files'

const CATCH_ALL = '/api/[...unknown]'
/** There is nobody yet, or nobody any more, whose key it could be. */
const KEYLESS = ['POST /api/auth/sign-in', 'POST /api/auth/sign-out']

/** Raw, as a generator reads it: more is a document that says the same thing several times. */
const MOST_BYTES = 150_000

/** The findings of both linters with their strictest published rule sets; a warning counts like an error. */
async function lint(document: unknown): Promise<string[]> {
  const source = JSON.stringify(document)
  const config = await createConfig({ extends: ['recommended-strict'] })
  const redocly = await lintFromString({ source, config })
  const spectral = new spectralCore.Spectral()
  spectral.setRuleset({ extends: [[spectralRulesets.oas as RulesetDefinition, 'recommended']] })
  return [
    ...redocly.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`),
    ...(await spectral.run(source)).map(({ code, path }) => `${code} ${path.join('/')}`),
  ]
}

type Response = { description: string; headers?: Record<string, object>; content?: Record<string, object> }

const operationsIn = (items: Record<string, object> = {}, prefix = '') =>
  Object.entries(items).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = (item as Record<string, oas31.OperationObject>)[method.toLowerCase()]
      if (!operation) return []
      const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => ({
        status,
        response: followed(response) as Response,
      }))
      return [{ name: `${method} ${prefix}${path}`, operation, responses }]
    }),
  )

const operations = operationsIn(openApi.paths)
const webhooks = operationsIn(openApi.webhooks, '/api/webhooks/')
const everything = [...operations, ...webhooks]

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

/** In bytes. A component that saves less is a name too many. */
const LEAST_SAVED = 100
const REFERENCE_LENGTH = 60

type Node = {
  $ref?: string
  name?: string
  description?: string
  properties?: Record<string, Node>
  items?: Node
  required?: unknown
  content?: Record<string, { schema?: Node }>
  anyOf?: Node[]
}

function followed(node: Node): Node {
  if (!node.$ref) return node
  const parts = node.$ref.slice(2).split('/')
  return parts.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], openApi) as Node
}

const schemaOf = (of: unknown): Node =>
  followed(Object.values((of as Node | undefined)?.content ?? {})[0]?.schema ?? {})

/** The members below that have no words, by their path; components of their own are looked at by themselves. */
function undescribedIn(schema: Node, path: string): string[] {
  const own = schema.description ? [] : [path]
  const shapes = [schema, ...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])]
  const members = shapes.flatMap((shape) => Object.entries(shape.properties ?? {}))
  return [...own, ...members.flatMap(([name, member]) => (member.$ref ? [] : undescribedIn(member, `${path}.${name}`)))]
}

const isProblem = ({ content }: Response): boolean => 'application/problem+json' in (content ?? {})

/** Every code with its status: a default stands for the statuses that its codes have. */
const documented = everything.flatMap(({ responses }) =>
  responses.flatMap(({ status, response }) =>
    codesIn(response.description).map((code) => `${status === 'default' ? PROBLEMS[code].status : status} ${code}`),
  ),
)

describe('the OpenAPI document', () => {
  it('has no finding by the rule sets recommended-strict of Redocly and oas of Spectral', async () => {
    expect(await lint(openApiAt('https://orders.test'))).toEqual([])
  })

  it('fails the lint rules if an example violates its schema', async () => {
    const { openapi, info, servers } = openApiAt('https://orders.test')
    const Order = { type: 'object', properties: { quantity: { type: 'integer' } }, examples: [{ quantity: 'two' }] }
    const broken = { openapi, info, servers, paths: {}, components: { schemas: { Order } } }
    expect(await lint(broken)).toContain('no-invalid-schema-examples #/components/schemas/Order/examples/0/quantity')
  })

  it('has less than 150 kB', () => {
    expect(Buffer.byteLength(JSON.stringify(openApi))).toBeLessThan(MOST_BYTES)
  })

  it('lists exactly the paths, webhooks and methods that are routed', async () => {
    const routed = (await routeFiles())
      .filter(({ path }) => path.startsWith('/api/') && path !== CATCH_ALL)
      .flatMap(({ path, handlers }) => Object.keys(handlers).map((method) => `${method} ${path}`))
    expect(everything.map(({ name }) => name).sort()).toEqual(routed.sort())
  })

  it('has every problem code that a client can get, with its status', () => {
    const expected = PROBLEM_CODES.map((code) => `${PROBLEMS[code].status} ${code}`)
    const busy = ['503 idempotency_key_in_progress', '503 idempotency_outcome_unknown']
    expect([...new Set(documented)].sort()).toEqual([...expected, ...busy].sort())
  })

  it('refers to the one schema of a problem, and names its codes, in every response that is one', () => {
    for (const { name, responses } of everything)
      for (const { status, response } of responses.filter(({ response }) => isProblem(response))) {
        expect(response.content).toEqual({
          'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
        })
        const codes = codesIn(response.description)
        for (const code of codes) expect(PROBLEM_CODES, `${name} ${status}`).toContain(code)
      }
  })

  it('names every response, parameter and schema as a component whose repetition takes 100 bytes or more', () => {
    const repeated = (all: unknown[]) => {
      const texts = all.filter((one) => !(one as Node).$ref).map((one) => JSON.stringify(one))
      const uses = (text: string) => texts.filter((one) => one === text).length
      return texts.filter((text) => (uses(text) - 1) * text.length - uses(text) * REFERENCE_LENGTH >= LEAST_SAVED)
    }
    const of = everything.map(({ operation }) => operation)
    expect(repeated(of.flatMap(({ responses }) => Object.values(responses ?? {})))).toEqual([])
    expect(repeated(of.flatMap(({ parameters }) => parameters ?? []))).toEqual([])
    const contents = everything.flatMap(({ operation, responses }) => [
      ...Object.values((operation.requestBody as Node | undefined)?.content ?? {}),
      ...responses.flatMap(({ response }) => Object.values((response as Node).content ?? {})),
    ])
    expect(repeated(contents.map(({ schema }) => schema ?? {}))).toEqual([])
  })

  it('tells a 201 from a 202 by their members: only what was made has an id, only a record has a state', () => {
    for (const path of ['/api/orders', '/api/orders/{id}/refunds']) {
      const responses = openApi.paths![path]!.post!.responses!
      const [made, accepted] = [responses['201'], responses['202']].map((response) => schemaOf(followed(response)))
      expect(made!.required).toContain('id')
      expect(made!.properties).not.toHaveProperty('state')
      expect(accepted!.required).toContain('state')
      expect(accepted!.properties).not.toHaveProperty('id')
    }
  })

  it('requires Idempotency-Key on client POST and PATCH, offers it on operator POST, and on no other call', () => {
    for (const { name, operation } of operations) {
      const parameters = JSON.stringify(operation.parameters ?? [])
      const operators = OPERATOR_CALLS.some((call) => `${call.method} ${call.path}` === name)
      const asks = parameters.includes('#/components/parameters/IdempotencyKey')
      expect(asks, name).toBe(!operators && !KEYLESS.includes(name) && /^(POST|PATCH) /.test(name))
      const offers = parameters.includes('#/components/parameters/OptionalIdempotencyKey')
      expect(offers, name).toBe(operators && name.startsWith('POST '))
    }
    expect(openApi.components?.parameters?.IdempotencyKey).toMatchObject({
      name: 'Idempotency-Key',
      in: 'header',
      required: true,
    })
  })

  it('declares Retry-After wherever a problem says when to retry', () => {
    for (const { name, responses } of everything)
      for (const { status, response } of responses)
        if (codesIn(response.description).some((code) => PROBLEMS[code].retry === 'later'))
          expect(response.headers, `${name} ${status}`).toHaveProperty('Retry-After')
  })

  it('describes every call with its parameters, responses and headers, and every schema', () => {
    for (const { name, operation, responses } of everything) {
      expect(operation.summary, name).toMatch(/\S/)
      expect(operation.description, name).toMatch(/\S/)
      for (const parameter of operation.parameters ?? [])
        expect(followed(parameter as Node).description, `${name} ${followed(parameter as Node).name}`).toMatch(/\S/)
      for (const { status, response } of responses) {
        expect(response.description, `${name} ${status}`).toMatch(/\S/)
        for (const [header, value] of Object.entries(response.headers ?? {}))
          expect(followed(value as Node).description, `${name} ${status} ${header}`).toMatch(/\S/)
      }
    }
    for (const [name, schema] of Object.entries(openApi.components!.schemas!))
      expect((schema as Node).description, name).toMatch(/\S/)
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

  it('is served with the origin that the request names', async () => {
    const headers = { host: 'orders.test:8443', 'x-forwarded-proto': 'https, http' }
    const response = GET(new Request('http://localhost/api/openapi.json', { headers }))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('cache-control')).toBe('private, max-age=300')
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(openApiAt('https://orders.test:8443'))))
  })

  it('takes the host that the first proxy was asked for, and no address that is none', async () => {
    const serversFor = async (headers: Record<string, string>) =>
      (await GET(new Request('http://node:3000/api/openapi.json', { headers })).json()).servers[0].url
    expect(await serversFor({ host: 'node:3000', 'x-forwarded-host': 'orders.test, inner' })).toBe('http://orders.test')
    expect(await serversFor({ host: 'node:3000', 'x-forwarded-proto': 'javascript' })).toBe('http://node:3000')
    expect(await serversFor({ host: 'a b' })).toBe('http://node:3000')
  })

  it('is served with PUBLIC_URL where that is set, whatever the request names', () => {
    const request = new Request('http://node:3000/api/openapi.json', { headers: { host: 'elsewhere.test' } })
    const { headers, body } = servedOpenApi(request, 'https://orders.example.org')
    expect(JSON.parse(body).servers[0].url).toBe('https://orders.example.org')
    expect(headers['cache-control']).toBe('public, max-age=300')
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
