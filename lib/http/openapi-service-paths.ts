// What is beside the client API and the operators': the service's own description, its health and its numbers.
import { z } from 'zod'
import type { ZodOpenApiPathsObject, ZodOpenApiResponseObject } from 'zod-openapi'
import { problemResponse, problemResponses } from './openapi-problem'

/** What takes no input is refused only as HTTP. */
const NOT_HTTP: Record<string, ZodOpenApiResponseObject> = {
  '405': { id: 'MethodNotAllowed', ...problemResponse(['method_not_allowed'], []) },
  default: { id: 'NotHttp', ...problemResponse(['malformed_request', 'headers_too_large', 'request_timeout'], []) },
}

export const servicePaths: ZodOpenApiPathsObject = {
  '/api/openapi.json': {
    get: {
      operationId: 'getOpenApi',
      tags: ['Service'],
      summary: 'Get the OpenAPI document',
      description: 'Its `servers` has the address at which it was asked for, or `PUBLIC_URL` where that is set.',
      security: [],
      responses: {
        '200': {
          description: 'The OpenAPI 3.1 document of this API, made from the schemas that validate requests.',
          content: {
            'application/json': { schema: z.looseObject({ openapi: z.string() }), example: { openapi: '3.1.0' } },
          },
        },
        ...NOT_HTTP,
      },
    },
  },
  '/api/metrics': {
    get: {
      operationId: 'getMetrics',
      tags: ['Service'],
      summary: 'The numbers, for Prometheus',
      description:
        'Counters and a histogram of this node, by endpoint and tenant, its refused requests by code, and its process ' +
        '(`process_…`, `nodejs_…`: CPU, memory, event loop); and gauges over all nodes, which are left out while the ' +
        'store can’t be asked. There is nothing here where `METRICS_TOKEN` is not set.',
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
      description: 'For a supervisor: whether the process lives. It asks neither the store nor the provider.',
      security: [],
      responses: {
        '200': {
          description: 'The process lives.',
          content: {
            'application/json': { schema: z.object({ status: z.literal('ok') }), example: { status: 'ok' } },
          },
        },
        ...NOT_HTTP,
      },
    },
  },
  '/api/ready': {
    get: {
      operationId: 'getReady',
      tags: ['Service'],
      summary: 'Readiness',
      description: 'For a load balancer: whether requests should be sent to this node.',
      security: [],
      responses: {
        '200': {
          description: 'The database answers, and every migration is applied.',
          content: {
            'application/json': {
              schema: z.object({
                status: z.literal('ready'),
                restore: z.enum(['running', 'done']).optional().meta({
                  description:
                    'After a restore (`RESTORED_FROM`), until its fence comes down: whether it is still being listed what the provider did since the backup. While it is `running`, what would begin something new gets 503 `restore_in_progress`.',
                }),
              }),
              example: { status: 'ready' },
            },
          },
        },
        ...NOT_HTTP,
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
