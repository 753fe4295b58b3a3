// What is beside the client API: the sandbox provider's list for operators, and the service's own description and
// health.
import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import type { SandboxChargeView } from '../payments/sandbox-ledger'
import { charge } from './openapi-examples'
import { FAILURES, problemResponses } from './openapi-problem'

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
  .meta({ id: 'SandboxCharge' }) satisfies z.ZodType<SandboxChargeView>

const sandbox: ZodOpenApiPathsObject = {
  '/api/sandbox/charges': {
    get: {
      operationId: 'listSandboxCharges',
      tags: ['Sandbox'],
      summary: 'List the sandbox’s charges',
      description:
        'What the sandbox provider booked for a customer, newest first, at most 1000: the other side’s truth, for ' +
        'tests and demos. There is nothing here with any other gateway.',
      security: [{ operatorToken: [] }],
      requestParams: {
        query: z.object({ customerId: z.string().min(1).meta({ description: 'The customer', example: 'cus_1042' }) }),
      },
      responses: {
        '200': {
          description: 'The charges.',
          content: {
            'application/json': {
              schema: z.object({ items: z.array(SandboxCharge) }),
              example: { items: [charge] },
            },
          },
        },
        ...problemResponses(['not_found', 'unauthenticated', 'invalid_request', ...FAILURES]),
      },
    },
  },
}

const service: ZodOpenApiPathsObject = {
  '/api/openapi.json': {
    get: {
      operationId: 'getOpenApi',
      tags: ['Service'],
      summary: 'Get the OpenAPI document',
      security: [],
      responses: {
        '200': {
          description: 'The OpenAPI 3.1 document of this API, made from the schemas that validate requests.',
          content: { 'application/json': { schema: z.looseObject({ openapi: z.string() }) } },
        },
      },
    },
  },
  '/api/metrics': {
    get: {
      operationId: 'getMetrics',
      tags: ['Service'],
      summary: 'The numbers, for Prometheus',
      description:
        'Counters and a histogram of this node, by endpoint and tenant, and gauges over all nodes, which are left out ' +
        'while the store can’t be asked. There is nothing here where `METRICS_TOKEN` is not set.',
      security: [{ metricsToken: [] }],
      responses: {
        '200': {
          description: 'Prometheus’s text format.',
          content: {
            'text/plain': {
              schema: z.string(),
              example: 'api_idempotency_records{state="unknown"} 0\napi_idempotency_dead_letters 0\n',
            },
          },
        },
        ...problemResponses(['not_found', 'unauthenticated', 'internal_error']),
      },
    },
  },
  '/api/health': {
    get: {
      operationId: 'getHealth',
      tags: ['Service'],
      summary: 'Health',
      security: [],
      responses: {
        '200': {
          description: 'The process lives.',
          content: {
            'application/json': { schema: z.object({ status: z.literal('ok') }), example: { status: 'ok' } },
          },
        },
      },
    },
  },
  '/api/ready': {
    get: {
      operationId: 'getReady',
      tags: ['Service'],
      summary: 'Readiness',
      security: [],
      responses: {
        '200': {
          description: 'The database answers, and every migration is applied.',
          content: {
            'application/json': { schema: z.object({ status: z.literal('ready') }), example: { status: 'ready' } },
          },
        },
        '503': {
          description: 'Not yet, or not any more.',
          content: {
            'application/json': {
              schema: z.object({
                status: z.enum(['migrations missing', 'database not available']),
                missing: z.array(z.string()).optional(),
              }),
              example: { status: 'database not available' },
            },
          },
        },
      },
    },
  },
}

export const servicePaths: ZodOpenApiPathsObject = { ...sandbox, ...service }
