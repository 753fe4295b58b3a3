import { clientRead } from '../../../../../../lib/http/client-read'
import { problem } from '../../../../../../lib/http/problem'
import { json } from '../../../../../../lib/http/respond'
import { isStorable } from '../../../../../../lib/http/validate'
import { findRefund } from '../../../../../../lib/orders/read'

export const GET = clientRead('GET /api/orders/{id}/refunds/{refundId}', async ({ params, tenant, node }) => {
  const at = { orderId: params.id!, refundId: params.refundId! }
  const refund = isStorable(at.orderId + at.refundId) ? await findRefund(node.store, tenant.id, at) : null
  return refund ? json(200, refund) : problem('refund_not_found')
})
