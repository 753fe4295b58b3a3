// The calls of the client API. An operation lists the codes that it can answer with; a test holds these paths against
// the route files.
import { z } from 'zod'
import type { oas31, ZodOpenApiOperationObject, ZodOpenApiPathsObject, ZodOpenApiResponseObject } from 'zod-openapi'
import { ClientRecord } from '../idempotency/view'
import { Order, OrderList, OrderRequest, Refund, RefundRequest } from '../orders/schema'
import * as example from './openapi-examples'
import { type HeaderName, headers, KeyedHeaders, location, ReadHeaders } from './openapi-headers'
import { FAILURES, type OperationProblem, problemResponses } from './openapi-problem'

/** In the order in which they are checked. */
const KEYED = [
  'unauthenticated',
  'unsupported_media_type',
  'body_too_large',
  'malformed_json',
  'idempotency_key_missing',
  'idempotency_key_invalid',
  'request_too_old',
  'invalid_request',
  'restore_in_progress',
  'rate_limited',
  'active_key_limit',
  'idempotency_key_reused',
  'idempotency_key_in_progress',
  'idempotency_outcome_unknown',
  'idempotency_key_expired',
  'payment_declined',
  'request_expired',
  'payment_provider_unavailable',
  'payment_outcome_unknown',
  ...FAILURES,
  // with `Prefer: busy=503`
  { code: 'idempotency_key_in_progress', status: 503 },
  { code: 'idempotency_outcome_unknown', status: 503 },
] as const satisfies OperationProblem[]

const orderId = z.string().meta({ description: 'The order’s id', example: example.ORDER_ID })

const API_KEY = [{ apiKey: [] }]

type Body = { schema: z.ZodType; example: unknown }

function answer(
  description: string,
  body: Body,
  names: HeaderName[] = [],
  more: oas31.HeadersObject = {},
): ZodOpenApiResponseObject {
  return {
    description,
    headers: { ...more, ...headers('x-request-id', ...names) },
    content: { 'application/json': body },
  }
}

interface KeyedOperation {
  body: Body
  made: Body & { description: string; at: string }
  problems: readonly OperationProblem[]
}

const RECORD_AT = `/api/idempotency-keys/${example.KEY}?endpoint=POST%20%2Fapi%2Forders`
const ACCEPTED =
  'Accepted with `Prefer: respond-async`: the record. Look at `Location` to learn when there is an answer, and send ' +
  'the same request again to get it. Unlike what a 201 has, it has no `id`, and it has a `state`.'

/** What every keyed POST has in common. */
function keyed({ body, made, problems }: KeyedOperation) {
  const { description, at, ...madeBody } = made
  const names: HeaderName[] = ['Idempotency-Key', 'Idempotency-Expires', 'Preference-Applied']
  return {
    requestBody: { required: true, content: { 'application/json': body } },
    responses: {
      '201': answer(description, madeBody, [...names, 'Idempotent-Replayed'], {
        Location: location('Where to read it', at),
      }),
      '202': answer(ACCEPTED, { schema: ClientRecord, example: example.acceptedRecord }, [...names, 'Retry-After'], {
        Location: location('Where to look at the record', RECORD_AT),
      }),
      ...problemResponses(problems),
    },
  } satisfies ZodOpenApiOperationObject
}

interface ReadOperation {
  found: Body & { description: string }
  problems: readonly OperationProblem[]
}

const read = ({ found: { description, ...body }, problems }: ReadOperation) => ({
  responses: {
    '200': answer(description, body),
    ...problemResponses(['unauthenticated', ...problems, ...FAILURES]),
  },
})

const orders: ZodOpenApiPathsObject = {
  '/api/orders': {
    post: {
      operationId: 'placeOrder',
      tags: ['Orders'],
      summary: 'Place an order',
      description:
        'Places an order and charges its total, at most 2,000,000,000. Sent again with the same key and the same body ' +
        'it charges nothing and answers what it answered first. Unknown members are refused.',
      requestParams: { header: KeyedHeaders },
      ...keyed({
        body: { schema: OrderRequest, example: example.orderRequest },
        made: {
          description: 'The order is placed and paid.',
          schema: Order,
          example: example.order,
          at: `/api/orders/${example.ORDER_ID}`,
        },
        problems: KEYED,
      }),
    },
    get: {
      operationId: 'listOrders',
      tags: ['Orders'],
      summary: 'List orders',
      description: 'Your orders as they are now, newest first.',
      requestParams: {
        header: ReadHeaders,
        query: z.object({
          limit: z.int().min(1).max(100).default(20).meta({ description: 'How many at most' }),
          cursor: z.string().optional().meta({ description: '`nextCursor` of the page before' }),
        }),
      },
      ...read({
        found: {
          description: 'A page of orders. `nextCursor` is null on the last one.',
          schema: OrderList,
          example: { items: [example.order], nextCursor: null },
        },
        problems: ['invalid_request'],
      }),
    },
  },
  '/api/orders/{id}': {
    get: {
      operationId: 'getOrder',
      tags: ['Orders'],
      summary: 'Read an order',
      description: 'The order as it is now. A replay, in contrast, is what was answered then.',
      requestParams: { header: ReadHeaders, path: z.object({ id: orderId }) },
      ...read({
        found: { description: 'The order.', schema: Order, example: example.order },
        problems: [{ code: 'order_not_found', retry: 'none' }],
      }),
    },
  },
}

const refunds: ZodOpenApiPathsObject = {
  '/api/orders/{id}/refunds': {
    post: {
      operationId: 'refundOrder',
      tags: ['Refunds'],
      summary: 'Refund an order',
      description:
        'Gives back an amount of an order, or all that is left. The amount is held from the first moment on, so ' +
        'refunds of one order never exceed it, whatever keys they carry.',
      requestParams: { header: KeyedHeaders, path: z.object({ id: orderId }) },
      ...keyed({
        body: { schema: RefundRequest, example: example.refundRequest },
        made: {
          description: 'The amount is refunded.',
          schema: Refund,
          example: example.refund,
          at: `/api/orders/${example.ORDER_ID}/refunds/${example.REFUND_ID}`,
        },
        problems: [...KEYED, 'order_not_found', 'order_not_refundable', 'refund_exceeds_order'],
      }),
    },
  },
  '/api/orders/{id}/refunds/{refundId}': {
    get: {
      operationId: 'getRefund',
      tags: ['Refunds'],
      summary: 'Read a refund',
      description: 'The refund as it is now.',
      requestParams: {
        header: ReadHeaders,
        path: z.object({
          id: orderId,
          refundId: z.string().meta({ description: 'The refund’s id', example: example.REFUND_ID }),
        }),
      },
      ...read({
        found: { description: 'The refund.', schema: Refund, example: example.refund },
        problems: ['refund_not_found'],
      }),
    },
  },
}

const keys: ZodOpenApiPathsObject = {
  '/api/idempotency-keys/{key}': {
    get: {
      operationId: 'getIdempotencyKey',
      tags: ['Idempotency keys'],
      summary: 'Look up a key',
      description: 'What became of a request, without sending it again. At most 600 look-ups a minute.',
      requestParams: {
        header: ReadHeaders,
        path: z.object({
          key: z.string().meta({ description: 'The key itself, unquoted and URL-encoded', example: example.KEY }),
        }),
        query: z.object({
          endpoint: z.string().default('POST /api/orders').meta({
            description: 'Method and route template that the key was sent to: a key counts for one endpoint',
          }),
        }),
      },
      ...read({
        found: { description: 'The record of the key.', schema: ClientRecord, example: example.completedRecord },
        problems: ['rate_limited', 'idempotency_key_not_found', 'idempotency_key_expired'],
      }),
    },
  },
}

/** What a tenant's programs call. */
export const clientPaths: ZodOpenApiPathsObject = Object.fromEntries(
  Object.entries({ ...orders, ...refunds, ...keys }).map(([path, { get, post }]) => [
    path,
    { ...(post && { post: { ...post, security: API_KEY } }), ...(get && { get: { ...get, security: API_KEY } }) },
  ]),
)
