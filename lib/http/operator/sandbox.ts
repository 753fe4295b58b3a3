// The sandbox provider, for tests and demos: what it booked, which is the other side's truth, and something to book.
import { z } from 'zod'
import { LIST_MAX, type SandboxChargeView } from '../../payments/sandbox-ledger'
import { charge } from '../openapi-examples'
import { operatorCall } from '../operator-call'
import { isStorable } from '../validate'
import { cursorOf, listOf, withCursor } from './paging'
import { Run, run } from './runs'

const SandboxCharge = z
  .object({
    ref: z.string(),
    customerId: z.string(),
    orderId: z.string(),
    amountCents: z.int(),
    status: z.enum(['succeeded', 'failed']),
    kind: z.enum(['charge', 'refund']),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'SandboxCharge', description: 'What the sandbox booked' }) satisfies z.ZodType<SandboxChargeView>

const Position = z.object({
  createdAt: z.iso.datetime().refine((at) => !at.startsWith('0000')),
  ref: z.string().max(64).refine(isStorable),
})

export const listSandboxCharges = operatorCall({
  method: 'GET',
  path: '/api/sandbox/charges',
  operationId: 'listSandboxCharges',
  tag: 'Sandbox',
  summary: 'List the sandbox’s charges',
  description:
    'What the sandbox provider booked for a customer, newest first, all of it unless there are more than 1000 entries: the ' +
    'other side’s truth, for tests and demos. There is nothing here with any other gateway.',
  role: 'viewer',
  query: z.strictObject({
    customerId: z
      .string()
      .min(1)
      .max(64)
      .refine(isStorable, 'has a NUL or a lone surrogate')
      .meta({ description: 'The customer', example: 'cus_1042' }),
    limit: z.coerce.number().int().min(1).max(LIST_MAX).default(LIST_MAX).meta({ description: 'How many at most' }),
    cursor: cursorOf(Position),
  }),
  answer: {
    status: 200,
    description: 'The charges.',
    schema: listOf(SandboxCharge),
    example: { items: [charge], nextCursor: null },
  },
  problems: ['not_found'],
  does: (services) => services.sandboxCharges,
  input: ({ query: { cursor, ...query } }) => ({ ...query, after: cursor ?? null }),
  present: withCursor,
})

export const sendSampleTraffic = operatorCall({
  method: 'POST',
  path: '/api/sandbox/traffic',
  operationId: 'sendSampleTraffic',
  tag: 'Sandbox',
  summary: 'Send sample traffic',
  description:
    'Sends some hundred requests of every kind through the client API, as tenant demo: retries, duplicates, reused ' +
    'keys, declines, refusals, timeouts, refunds. It takes about a minute; the run shows how far it is and can be ' +
    'stopped. There is nothing here with any other gateway.',
  role: 'operator',
  body: z.strictObject({}),
  bodyExample: {},
  answer: {
    status: 201,
    description: 'The run, which has just begun.',
    schema: Run,
    example: {
      ...run,
      kind: 'traffic',
      state: 'running',
      done: 0,
      total: 366,
      counts: {},
      sample: [],
      finishedAt: null,
      reason: null,
    },
  },
  problems: ['not_found', 'already_running'],
  does: (services) => services.sendTraffic,
  input: () => undefined,
})
