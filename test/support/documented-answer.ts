// Whether an answer is one that the OpenAPI document has: its status, its headers, and its body by the schema. Validators
// are compiled when they are first needed, once for each worker.
import type { IncomingHttpHeaders } from 'node:http'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { oas31 } from 'zod-openapi'
import { openApi } from '../../lib/http/openapi'
import { codesIn } from '../../lib/http/openapi-problem'

/** Headers that belong to every answer of a server, or to the connection; the document is about the others. */
const OF_THE_SERVER = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'vary',
  'date',
  'content-length',
  'content-type',
  'content-disposition',
  'cache-control',
  'content-security-policy',
  'strict-transport-security',
  'x-content-type-options',
  'x-request-id',
])

export interface Exchange {
  method: string
  url: string
  status: number
  headers: IncomingHttpHeaders
  bytes: Buffer
}

const DOCUMENT = 'openapi.json'
const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
ajv.addSchema(openApi, DOCUMENT)
const headerAjv = new Ajv2020({ strict: false, coerceTypes: true })
formats.default(headerAjv)

const pointer = (...parts: string[]): string =>
  `#/${parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`

/** What is named by a reference, and where it is. */
function followed<T extends object>(node: T | oas31.ReferenceObject, at: string[]): { node: T; at: string[] } {
  if (!('$ref' in node) || typeof node.$ref !== 'string') return { node: node as T, at }
  const parts = node.$ref.slice(2).split('/')
  const found = parts.reduce<unknown>((of, part) => (of as Record<string, unknown>)[part], openApi)
  return { node: found as T, at: parts }
}

interface Documented {
  name: string
  operation: oas31.OperationObject
  at: string[]
}

const operations: (Documented & { method: string; path: RegExp })[] = [
  ...Object.entries(openApi.paths ?? {}).map(([path, item]) => ({ path, item, at: ['paths', path] })),
  ...Object.entries(openApi.webhooks ?? {}).map(([name, item]) => ({
    path: `/api/webhooks/${name}`,
    item,
    at: ['webhooks', name],
  })),
]
  // `/api/admin/keys/bulk` comes before `/api/admin/keys/{id}`.
  .sort((a, b) => a.path.split('{').length - b.path.split('{').length)
  .flatMap(({ path, item, at }) =>
    Object.entries(item as Record<string, oas31.OperationObject>).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      operation,
      at: [...at, method],
    })),
  )

const NOT_HTTP = codesIn(followed<oas31.ResponseObject>(openApi.components!.responses!.NotHttp!, []).node.description)

/** What is wrong with an answer by the document: nothing, if all is well. */
export function undocumentedIn(exchange: Exchange): string[] {
  const { pathname } = new URL(exchange.url)
  if (!pathname.startsWith('/api/')) return []
  // A path of its own is meant, whatever its methods are.
  const first = operations.find(({ path }) => path.test(pathname))
  const found = operations.find(({ method, path }) => method === exchange.method && path.source === first?.path.source)
  const called = `${exchange.method} ${pathname} answered ${exchange.status}`
  if (found) return undocumentedOf(found, exchange).map((what) => `${called}: ${what} (${found.name})`)
  const unknown = /^(GET|POST|PUT|PATCH|DELETE)$/.test(exchange.method) && exchange.status < 400
  return unknown ? [`${called}: the document has no such call`] : []
}

function undocumentedOf({ operation, at }: Documented, { status, headers, bytes }: Exchange): string[] {
  const type = mediaType(headers)
  const problem = type === 'application/problem+json' ? JSON.parse(bytes.toString('utf8')) : null
  // What is refused as HTTP never came as far as the call.
  if (NOT_HTTP.includes(problem?.code)) return []
  const responses = (operation.responses ?? {}) as Record<string, oas31.ResponseObject | oas31.ReferenceObject>
  const key = [String(status), 'default'].find((name) => responses[name])
  if (!key) return ['the status is not documented']
  const response = followed<oas31.ResponseObject>(responses[key]!, [...at, 'responses', key])
  return [
    ...(problem && !codesIn(response.node.description).includes(problem.code)
      ? [`the code ${problem.code} is not documented`]
      : []),
    ...wrongBody(response, type, bytes),
    ...wrongHeaders(response.node, headers, echoesItsKey(operation)),
  ]
}

const mediaType = (headers: IncomingHttpHeaders): string =>
  String(headers['content-type'] ?? '')
    .split(';', 1)[0]!
    .trim()

function wrongBody(response: { node: oas31.ResponseObject; at: string[] }, type: string, bytes: Buffer): string[] {
  const content = response.node.content ?? {}
  if (bytes.length === 0) return Object.keys(content).length === 0 ? [] : ['there is no body']
  if (!content[type]) return [`the media type ${type || '(none)'} is not documented`]
  if (!/json$/.test(type)) return []
  const $ref = DOCUMENT + pointer(...response.at, 'content', type, 'schema')
  const validate = ajv.getSchema($ref) ?? ajv.compile({ $ref })
  if (validate(JSON.parse(bytes.toString('utf8')))) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `its body at ${instancePath || '/'} ${message}`)
}

const OF_ITS_KEY = new Set(['idempotency-key', 'idempotent-replayed'])

/** Of operators' calls, which take a key and need none, as the parameter says. */
const echoesItsKey = ({ parameters = [] }: oas31.OperationObject): boolean =>
  parameters.some((parameter) => (parameter as oas31.ReferenceObject).$ref?.endsWith('/OptionalIdempotencyKey'))

function wrongHeaders(response: oas31.ResponseObject, headers: IncomingHttpHeaders, echoesKey: boolean): string[] {
  const documented = new Map(Object.entries(response.headers ?? {}).map(([name, of]) => [name.toLowerCase(), of]))
  return Object.entries(headers).flatMap(([name, value]) => {
    const header = documented.get(name)
    if (!header)
      return OF_THE_SERVER.has(name) || (echoesKey && OF_ITS_KEY.has(name))
        ? []
        : [`the header ${name} is not documented`]
    const { schema } = followed<oas31.HeaderObject>(header, []).node
    return [value].flat().every((one) => headerAjv.validate(schema!, one))
      ? []
      : [`the header ${name} ${headerAjv.errorsText()}`]
  })
}
