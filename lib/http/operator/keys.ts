// What operators see of keys: any list of them, and everything about one.
import { z } from 'zod'
import { KeyDetail } from '../../console/key-detail'
import { KeyFilter } from '../../console/keys-filter'
import { KEY_SORTS, LONGEST_PAGE } from '../../console/keys-order'
import { PlacedKey } from '../../console/list-keys'
import { OperatorRecord } from '../../console/record-view'
import { decodeCursor, encodeCursor } from '../cursor'
import { keyDetail, operatorRecord } from '../openapi-operator-examples'
import { operatorCall } from '../operator-call'
import { Reasoned } from './key-actions'

const RECORD = /^idem_[0-9a-z]{26}$/

/** The whole view is in the query, for the API and for the console’s own address. */
const KeysQuery = KeyFilter.extend({
  sort: z.enum(KEY_SORTS).default('-createdAt').meta({
    description: 'A sort filters nothing: rows without its value come last, newest first',
  }),
  limit: z.coerce.number().int().min(1).max(LONGEST_PAGE).default(50).meta({ description: 'How many at most' }),
  cursor: z
    .string()
    .optional()
    .transform((text) => (text === undefined ? null : decodeCursor(PlacedKey, text)))
    .refine((cursor) => cursor !== undefined, 'is not a cursor of this list')
    .meta({ type: 'string', description: '`nextCursor` of the page before, with the same sort' }),
}).refine(({ sort, cursor }) => cursor == null || cursor.sort === sort, {
  path: ['cursor'],
  error: 'belongs to another sort',
})

export const listKeys = operatorCall({
  method: 'GET',
  path: '/api/admin/keys',
  operationId: 'listKeys',
  tag: 'Operators: keys',
  summary: 'List keys',
  description:
    'Filtered, sorted and paged by the database, in the same time however many there are. There is no total: ' +
    '`GET /api/admin/stats` has the counts by state.',
  role: 'viewer',
  query: KeysQuery,
  answer: {
    status: 200,
    description: 'A page of keys.',
    schema: z.object({ items: z.array(OperatorRecord), nextCursor: z.string().nullable() }),
    example: { items: [operatorRecord], nextCursor: null },
  },
  does: (services) => services.listKeys,
  input: ({ query: { sort, limit, cursor, ...filter } }) => ({ filter, sort, limit, after: cursor ?? null }),
  present: ({ items, next }) => ({ items, nextCursor: next ? encodeCursor(next) : null }),
})

export const showKey = operatorCall({
  method: 'GET',
  path: '/api/admin/keys/{id}',
  operationId: 'showKey',
  tag: 'Operators: keys',
  summary: 'Read everything about a key',
  description:
    'The record and its timeline, the order and the ledger, what was learned of the outcome, and what a client that retries ' +
    'right now would get. How the client paid and what it wrote in its own words (`paymentMethod`, `note`, `reason`) are masked ' +
    'everywhere, in `nextReplay.body` too; nothing else of an answer differs from what would be sent.',
  role: 'viewer',
  params: { id: RECORD },
  answer: { status: 200, description: 'The key.', schema: KeyDetail, example: keyDetail },
  does: (services) => services.showKey,
  input: ({ params }) => ({ id: params.id! }),
})

export const unmaskKey = operatorCall({
  method: 'POST',
  path: '/api/admin/keys/{id}/unmask',
  operationId: 'unmaskKey',
  tag: 'Operators: keys',
  summary: 'Read what a client sent, unmasked',
  description: 'The audit log says who read it and why. It is shown once for an Idempotency-Key, and never stored.',
  role: 'operator',
  params: { id: RECORD },
  body: Reasoned,
  bodyExample: { reason: 'the customer disputes the payment method' },
  answer: {
    status: 200,
    description: 'The request, as it was sent.',
    schema: z.object({ request: KeyDetail.shape.request.unwrap() }),
    example: { request: { params: {}, body: { customerId: 'cus_1042', paymentMethod: 'pm_ok' } } },
  },
  showsSecret: true,
  does: (services) => services.unmaskKey,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})
