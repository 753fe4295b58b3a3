// What the document says more than once becomes a component: schemas that many members have, whatever zod object they come
// from, and responses that several operations have. A generated client then has one type for each.
import { STATUS_CODES } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { oas31 } from 'zod-openapi'
import { AUDIT_OUTCOMES } from '../audit/read'
import { ProviderObject } from '../console/key-detail'
import { WINDOWS } from '../console/window'
import { STATES } from '../idempotency/states'
import { ClientRecord } from '../idempotency/view'
import { BULK_ACTIONS } from '../maintenance/bulk-action'
import { RUN_KINDS, RUN_STATES } from '../maintenance/runs'
import { COUNTER_NAMES } from '../metrics/names'
import { ROLES } from '../operators/role'
import { RESOLUTIONS } from '../reconciliation/resolve'
import { codesIn } from './openapi-problem'
import { reasonOf } from './operator/key-actions'

/** For the document only: where a schema says the same, it refers to these. */
export const sharedSchemas = {
  NullableText: z.string().nullable().meta({ description: 'Text, or null' }),
  NullableInstant: z.iso.datetime().nullable().meta({ description: 'An instant in UTC, or null' }),
  NullableInteger: z.int().nullable().meta({ description: 'A whole number, or null' }),
  NullableNumber: z.number().nullable().meta({ description: 'A number, or null' }),
  NullableResource: ClientRecord.shape.resource.meta({ description: 'What a request made, or null' }),
  NullableStatus: ClientRecord.shape.response.meta({ description: 'The status of an answer, or null' }),
  NullableProviderObject: ProviderObject.nullable().meta({ description: 'What the provider’s object says, or null' }),
  TextByName: z.record(z.string(), z.string()).meta({ description: 'Texts, by their names' }),
  State: z.enum(STATES).meta({ description: 'The state of a key' }),
  Role: z.enum(ROLES).meta({ description: 'What an operator may do. Each role may do what the ones before it may' }),
  RunKind: z.enum(RUN_KINDS).meta({ description: 'What a run does' }),
  RunState: z.enum(RUN_STATES).meta({ description: 'How far a run is' }),
  BulkAction: z.enum(BULK_ACTIONS).meta({ description: 'What a bulk run does to each key' }),
  Resolution: z.enum(RESOLUTIONS).meta({ description: 'What a person decides about a key' }),
  Window: z.enum(WINDOWS).meta({ description: 'A stretch of time up to now' }),
  Counters: z
    .object(Object.fromEntries(COUNTER_NAMES.map((name) => [name, z.number()])))
    .meta({ description: 'What happened, by counter' }),
  Count: z
    .object({ count: z.number(), estimated: z.boolean() })
    .meta({ description: 'How many; estimated where counting would take long' }),
  AuditOutcome: z.enum(AUDIT_OUTCOMES).meta({ description: 'Whether it was done, or refused' }),
  PaymentStatus: z.enum(['succeeded', 'failed']).meta({ description: '`failed`: declined, no money moved' }),
  ChargeOrRefund: z.enum(['charge', 'refund']).meta({ description: 'Which way the money moved' }),
  Reason: reasonOf(1),
  Named: z.object({ id: z.string(), name: z.string() }).meta({ description: 'Somebody or something, with its id' }),
}

type Node = Record<string, unknown>
type Responses = Record<string, oas31.ResponseObject | oas31.ReferenceObject>

export function withSharedComponents(document: oas31.OpenAPIObject): oas31.OpenAPIObject {
  const shared = withSharedSchemas(document)
  shareMembers(shared.components!.schemas as Record<string, Schema>)
  for (const operation of operationsOf(shared)) {
    describeOnce(operation)
    for (const content of contentsOf(operation)) moveExample(content, shared)
  }
  shareParameters(shared)
  return withSharedResponses(shared)
}

const operationsOf = ({ paths = {}, webhooks = {} }: oas31.OpenAPIObject): oas31.OperationObject[] =>
  [...Object.values(paths), ...Object.values(webhooks)].flatMap(
    (item) => Object.values(item) as oas31.OperationObject[],
  )

/** zod-openapi writes a parameter's description into its schema, too. */
function describeOnce({ parameters = [] }: oas31.OperationObject): void {
  for (const parameter of parameters as oas31.ParameterObject[])
    if (parameter.description && parameter.schema) delete (parameter.schema as Schema).description
}

const contentsOf = ({ requestBody, responses = {} }: oas31.OperationObject): oas31.MediaTypeObject[] =>
  [requestBody as oas31.RequestBodyObject | undefined, ...(Object.values(responses) as oas31.ResponseObject[])].flatMap(
    (of) => Object.values(of?.content ?? {}),
  )

/** The first example of a component is the component's own, and of what has it as its items. What follows is not said. */
function moveExample(content: oas31.MediaTypeObject, document: oas31.OpenAPIObject): void {
  if (content.example === undefined || !content.schema) return
  const schema = content.schema as Schema
  const item = follow(schema, document).properties?.items as Schema | undefined
  if (item?.items) own(item.items as Schema, content.example.items[0])
  if (!isDeepStrictEqual(exampleOf(schema, document), content.example)) own(schema, content.example)
  if (isDeepStrictEqual(exampleOf(schema, document), content.example)) delete content.example

  function own(of: Schema, example: unknown): void {
    if (!of.$ref) return
    const component = follow(of, document)
    component.examples ??= [example]
  }
}

/** Two of a name that differ stay where they are. */
function shareParameters(document: oas31.OpenAPIObject): void {
  const all = operationsOf(document).flatMap(({ parameters = [] }) => parameters as oas31.ParameterObject[])
  const uses = countTexts(all)
  const components = document.components!.parameters!
  const nameOf = (parameter: oas31.ParameterObject) => pascal(`${parameter.in}_${parameter.name}`)
  for (const operation of operationsOf(document))
    operation.parameters = operation.parameters?.map((parameter) => {
      if ('$ref' in parameter) return parameter
      const [name, text] = [nameOf(parameter as oas31.ParameterObject), JSON.stringify(parameter)]
      if (!isWorthSharing(text, uses) || (components[name] && JSON.stringify(components[name]) !== text))
        return parameter
      components[name] = parameter as oas31.ParameterObject
      return { $ref: `#/components/parameters/${name}` }
    })
}

const countTexts = (all: unknown[]): Map<string, number> => {
  const uses = new Map<string, number>()
  for (const text of all.map((one) => JSON.stringify(one))) uses.set(text, (uses.get(text) ?? 0) + 1)
  return uses
}

/** In bytes of the document. What saves less is said again: a generated client has fewer names, which mean more. */
const LEAST_SAVED = 100
const REFERENCE_LENGTH = 60

const isWorthSharing = (text: string, uses: Map<string, number>): boolean =>
  (uses.get(text)! - 1) * text.length - uses.get(text)! * REFERENCE_LENGTH >= LEAST_SAVED

/** Their zod objects are made from one another; in the document they refer to what they are made from. */
const EXTENSIONS = [
  ['RunWithItems', 'Run'],
  ['TenantWithApiKeys', 'ListedTenant'],
  ['ListedTenant', 'Tenant'],
  ['ListedOperator', 'Operator'],
  ['ExportedKey', 'OperatorRecord'],
  ['OperatorRecord', 'IdempotencyRecord'],
] as const

function shareMembers(schemas: Record<string, Schema>): void {
  for (const [name, base] of EXTENSIONS) {
    const { type, properties = {}, required = [], ...rest } = schemas[name]!
    const own = Object.keys(properties).filter((member) => !(member in schemas[base]!.properties!))
    schemas[name] = {
      ...rest,
      allOf: [{ $ref: `#/components/schemas/${base}` }],
      type,
      properties: Object.fromEntries(own.map((member) => [member, properties[member]!])),
      required: required.filter((member) => own.includes(member)),
    }
  }
}

type Schema = oas31.SchemaObject & { $ref?: string }

const follow = (schema: Schema, { components }: oas31.OpenAPIObject): Schema =>
  schema.$ref ? (components!.schemas![schema.$ref.replace(/^.*\//, '')] as Schema) : schema

/** What a schema looks like, from its own example or those of its members. */
export function exampleOf(given: Schema, document: oas31.OpenAPIObject): unknown {
  if (given.example !== undefined) return given.example
  const schema = follow(given, document)
  if (schema.examples) return schema.examples[0]
  if (schema.example !== undefined) return schema.example
  if (schema.items) return [exampleOf(schema.items as Schema, document)]
  if (schema.type?.includes('null')) return null
  if (!schema.properties) return undefined
  const own = Object.entries(schema.properties).map(([name, member]) => [name, exampleOf(member as Schema, document)])
  return Object.assign(
    {},
    ...(schema.allOf ?? []).map((base) => exampleOf(base as Schema, document)),
    Object.fromEntries(own),
  )
}

/** What a member says of itself is kept beside the reference. */
const ANNOTATIONS = ['description', 'example', 'examples', 'default']

function withSharedSchemas(document: oas31.OpenAPIObject): oas31.OpenAPIObject {
  const schemas = document.components!.schemas as Record<string, Node>
  const names = new Map(Object.keys(sharedSchemas).map((name) => [shapeOf(schemas[name]!), name]))
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit)
    if (typeof node !== 'object' || node === null) return node
    const name = names.get(shapeOf(node as Node))
    const members = Object.entries(node)
    if (name && schemas[name] !== node)
      return {
        $ref: `#/components/schemas/${name}`,
        ...Object.fromEntries(
          members.filter(([key, member]) => ANNOTATIONS.includes(key) && member !== schemas[name]![key]),
        ),
      }
    return Object.fromEntries(
      members.map(([key, member]) => [key, key === 'example' || key === 'examples' ? member : visit(member)]),
    )
  }
  return visit(document) as oas31.OpenAPIObject
}

const shapeOf = (schema: Node): string =>
  JSON.stringify(
    Object.entries(schema)
      .filter(([key]) => !ANNOTATIONS.includes(key))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )

/** Two of a name that differ stay where they are. */
function withSharedResponses(document: oas31.OpenAPIObject): oas31.OpenAPIObject {
  const all = operationsOf(document).map(({ responses }) => responses as Responses)
  const uses = countTexts(all.flatMap((responses) => Object.values(responses)))
  const shared: Record<string, oas31.ResponseObject> = {}
  for (const responses of all)
    for (const [status, response] of Object.entries(responses)) {
      const text = JSON.stringify(response)
      if ('$ref' in response || !isWorthSharing(text, uses)) continue
      const name = responseName(status, response as oas31.ResponseObject)
      if (shared[name] && JSON.stringify(shared[name]) !== text) continue
      shared[name] = response as oas31.ResponseObject
      responses[status] = { $ref: `#/components/responses/${name}` }
    }
  return {
    ...document,
    components: { ...document.components, responses: { ...document.components?.responses, ...shared } },
  }
}

const MOST_CODES_IN_A_NAME = 2

/** By its problems or, where they are too many, by its status; otherwise by what it has. */
function responseName(status: string, response: oas31.ResponseObject): string {
  const phrase = pascal(STATUS_CODES[status]!)
  const codes = codesIn(response.description).map((code) => pascal(code.replace(/^idempotency_/, '')))
  if (codes.length > MOST_CODES_IN_A_NAME) return phrase
  if (codes.length > 0) return codes.join('Or')
  const schema = response.content?.['application/json']?.schema as oas31.ReferenceObject | undefined
  return (schema?.$ref.replace(/^.*\//, '') ?? '') + phrase
}

const pascal = (words: string): string =>
  words.replace(/(?:^|[_ -])([a-z])?/gi, (_, first: string | undefined) => first?.toUpperCase() ?? '')
