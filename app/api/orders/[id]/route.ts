import { clientRead } from '../../../../lib/http/client-read'
import { problem } from '../../../../lib/http/problem'
import { json } from '../../../../lib/http/respond'
import { isStorable } from '../../../../lib/http/validate'
import { findOrder } from '../../../../lib/orders/read'

export const GET = clientRead('GET /api/orders/{id}', async ({ params, tenant, node }) => {
  const order = isStorable(params.id!) ? await findOrder(node.store, tenant.id, params.id!) : null
  return order ? json(200, order) : problem('order_not_found', { retry: 'none' })
})
