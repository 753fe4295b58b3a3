import { z } from 'zod'
import { clientRead } from '../../../lib/http/client-read'
import { decodeCursor, encodeCursor } from '../../../lib/http/cursor'
import { keyed } from '../../../lib/http/keyed'
import { problem } from '../../../lib/http/problem'
import { json } from '../../../lib/http/respond'
import { isStorable, validate } from '../../../lib/http/validate'
import { listOrders } from '../../../lib/orders/read'
import { OrderRequest } from '../../../lib/orders/schema'

export const POST = keyed({ body: OrderRequest, operation: (node) => node.placeOrder })

// What the database could not compare with is none of ours: it has no year 0, and a NUL has no place in a text.
const Cursor = z.object({
  createdAt: z.iso.datetime().refine((at) => !at.startsWith('0000')),
  id: z.string().max(64).refine(isStorable),
})
const Page = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  cursor: z
    .string()
    .optional()
    .transform((text) => (text === undefined ? null : decodeCursor(Cursor, text)))
    .refine((cursor) => cursor !== undefined, 'is not a cursor of this list'),
})

export const GET = clientRead('GET /api/orders', async ({ request, tenant, node }) => {
  const page = validate(Page, Object.fromEntries(new URL(request.url).searchParams))
  if (!page.ok) return problem('invalid_request', { issues: page.issues })
  const { limit, cursor } = page.value
  const { items, next } = await listOrders(node.store, tenant.id, { limit, after: cursor ?? null })
  return json(200, { items, nextCursor: next ? encodeCursor(next) : null })
})
