// The keyed routes by the endpoint that each of them serves, for a server that calls them without Next.
import type { KeyedRoute } from '../../lib/http/keyed'
import { PLACE_ORDER } from '../../lib/orders/place-order'
import { REFUND_ORDER } from '../../lib/orders/refund-order'
import { POST as refundOrder } from './orders/[id]/refunds/route'
import { POST as placeOrder } from './orders/route'

export const KEYED_ROUTES: Record<string, KeyedRoute> = { [PLACE_ORDER]: placeOrder, [REFUND_ORDER]: refundOrder }
