// Every call of the operator API, from the list that its routes are made of: what is added there is fuzzed from then
// on. A call is asked for what it documents, about things that are there, by somebody who may; and then it is not.
import fc from 'fast-check'
import { z } from 'zod'
import { OPERATOR_CALLS } from '../../../lib/http/operator-calls'
import { bodyLike, noBody } from './bodies'
import { authorization, contentType, extras, idempotencyKey } from './headers'
import { query, segment } from './paths'
import type { BadRequest } from './wire'

type Call = (typeof OPERATOR_CALLS)[number]

/** Things that are there and that nothing else depends on, by the prefix of their ids. */
const THINGS = {
  idem: '@record@',
  run: '@run@',
  ten: '@tenant@',
  opr: '@operator@',
  tok: '@token@',
  key: '@key@',
  dis: '@discrepancy@',
  pay: '@payment@',
}
const ULID = '01jcq2h8k3v9x4m6n7p8q9r0s1'

/** Never asked by an admin: what it starts goes on for a minute, and everything after it would be measured in its noise. */
const NOT_BY_ADMIN: readonly string[] = ['sendSampleTraffic']

function pathOf(call: Call): fc.Arbitrary<string> {
  const parts = call.path.split('/').map((part) => {
    const name = /^\{(.+)\}$/.exec(part)?.[1]
    if (name === undefined) return fc.constant(part)
    const shape = call.params?.[name]
    const prefix = (Object.keys(THINGS) as (keyof typeof THINGS)[]).find((one) => shape?.test(`${one}_${ULID}`))
    if (!prefix) throw new Error(`${call.operationId}: no thing is known that {${name}} could name`)
    return segment(THINGS[prefix], THINGS[prefix], `${prefix}_${ULID}`, '@order@')
  })
  return fc.tuple(...parts).map((segments) => segments.join('/'))
}

interface Described {
  type?: string
  enum?: string[]
  anyOf?: Described[]
  items?: Described
  properties?: Record<string, Described>
}

/** The names of a query, and values that some of them take. */
function asked(call: Call): { names: string[]; right: string[] } {
  if (!call.query) return { names: [], right: [] }
  const { properties = {} } = z.toJSONSchema(call.query, { io: 'input', unrepresentable: 'any' }) as Described
  const words = (schema: Described): string[] => [
    ...(schema.enum ?? []),
    ...(schema.anyOf ?? []).flatMap(words),
    ...(schema.items ? words(schema.items) : []),
  ]
  return {
    names: Object.keys(properties),
    right: [
      ...Object.values(properties).flatMap(words),
      '1',
      '200',
      'true',
      '@record@',
      '@tenant@',
      'demo',
      'cus_fuzz',
    ],
  }
}

function requestOf(call: Call): fc.Arbitrary<BadRequest> {
  const { names, right } = asked(call)
  const admin = NOT_BY_ADMIN.includes(call.operationId) ? [] : ['Bearer @admin-token@', 'Bearer @admin-token@']
  return fc
    .record({
      path: pathOf(call),
      search: query(names, right),
      lines: fc.tuple(
        NOT_BY_ADMIN.includes(call.operationId)
          ? fc.constantFrom([], [['Authorization', 'Bearer @viewer-token@'] as const])
          : authorization([...admin, 'Bearer @viewer-token@']),
        call.body ? contentType : fc.constant([]),
        call.method === 'POST' ? fc.oneof(fc.constant([]), idempotencyKey) : fc.constant([]),
        extras,
      ),
      body: call.body ? bodyLike(call.bodyExample ?? {}) : noBody,
    })
    .map(({ path, search, lines, body }) => ({
      method: call.method,
      target: path + search,
      headers: lines.flat(),
      ...body,
    }))
}

export const operatorRequest: fc.Arbitrary<BadRequest> = fc.oneof(...OPERATOR_CALLS.map(requestOf))
