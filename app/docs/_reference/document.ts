// The OpenAPI document as the reference reads it: references followed, operations in order.
import type { oas31 } from 'zod-openapi'
import { openApi } from '../../../lib/http/openapi'
import { codesIn } from '../../../lib/http/openapi-problem'
import { exampleOf } from '../../../lib/http/openapi-shared'
import { PROBLEMS, type ProblemCode } from '../../../lib/http/problem'

export type Schema = oas31.SchemaObject
export type Parameter = oas31.ParameterObject
export type Answer = oas31.ResponseObject

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
const METHODS: readonly Method[] = ['post', 'get', 'put', 'patch', 'delete']

export interface Operation {
  id: string
  tag: string
  method: Uppercase<Method>
  path: string
  summary: string
  description: string
  scheme: string | null
  parameters: Parameter[]
  body: oas31.MediaTypeObject | null
  answers: { status: number; answer: Answer; codes: ProblemCode[] }[]
}

/** Follows a reference within the document; anything else is given back as it is. */
export function follow<T extends object>(node: T | oas31.ReferenceObject): T {
  if (!('$ref' in node) || typeof node.$ref !== 'string') return node as T
  const found = node.$ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], openApi)
  return found as T
}

/** The name of the component that a schema is, where it is one. */
export const componentName = (schema: object | undefined): string | null =>
  schema && '$ref' in schema ? String(schema.$ref).replace(/^.*\//, '') : null

const PLACES: Parameter['in'][] = ['path', 'query', 'header', 'cookie']

const operationOf = (path: string, method: Method, of: oas31.OperationObject): Operation => ({
  id: of.operationId ?? `${method}-${path}`,
  tag: of.tags?.[0] ?? '',
  method: method.toUpperCase() as Operation['method'],
  path,
  summary: of.summary ?? '',
  description: of.description ?? '',
  scheme: Object.keys((of.security ?? openApi.security)?.[0] ?? {})[0] ?? null,
  parameters: (of.parameters ?? [])
    .map((parameter) => follow<Parameter>(parameter))
    .sort((a, b) => PLACES.indexOf(a.in) - PLACES.indexOf(b.in)),
  body: of.requestBody ? (follow<oas31.RequestBodyObject>(of.requestBody).content['application/json'] ?? null) : null,
  answers: answersOf(of.responses ?? {}),
})

/** What is refused as HTTP never comes as far as a call. */
const OF_HTTP = ['MethodNotAllowed', 'NotHttp'].map((name) => `#/components/responses/${name}`)

/** By status, also where the document has one response for several. */
function answersOf(responses: oas31.ResponsesObject): Operation['answers'] {
  const ofTheCall = Object.entries(responses).filter(([, { $ref }]) => !OF_HTTP.includes($ref))
  const all = ofTheCall.map(([status, response]) => {
    const answer = follow<Answer>(response)
    return { status, answer, codes: codesIn(answer.description) }
  })
  const explicit = all
    .filter(({ status }) => /^\d+$/.test(status))
    .map((one) => ({ ...one, status: Number(one.status) }))
  const shared = all
    .filter(({ status }) => !/^\d+$/.test(status))
    .flatMap(({ answer, codes }) =>
      [...new Set(codes.map((code) => PROBLEMS[code].status))].map((status) => ({
        status,
        answer,
        codes: codes.filter((code) => PROBLEMS[code].status === status),
      })),
    )
    .filter(({ status }) => explicit.every((one) => one.status !== status))
  return [...explicit, ...shared].sort((a, b) => a.status - b.status)
}

/** What is sent or answered, by the document's own examples. */
export const exampleOfContent = ({ example, schema }: oas31.MediaTypeObject): unknown =>
  example ?? (schema ? exampleOf(schema as Schema, openApi) : undefined)

export const operations: Operation[] = Object.entries(openApi.paths ?? {}).flatMap(([path, item]) =>
  METHODS.flatMap((method) => (item[method] ? [operationOf(path, method, item[method])] : [])),
)

/** Webhooks are in the guide: nobody calls them. */
export const tags = (openApi.tags ?? []).filter(({ name }) => operations.some(({ tag }) => tag === name))

export const schemaNamed = (name: string): Schema => follow<Schema>({ $ref: `#/components/schemas/${name}` })
