import { keyed } from '../../../../../lib/http/keyed'
import { RefundRequest } from '../../../../../lib/orders/schema'

export const POST = keyed({ body: RefundRequest, operation: (node) => node.refundOrder })
