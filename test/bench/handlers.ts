// What a contender does with a request, apart from the host that it is served by: a body and a key in, an answer out.
import { OrderRequest } from '../../lib/orders/schema'
import { CONSTANT } from './constant'
import { type Answer, unguardedOrders } from './unguarded-order'

export type Handler = (body: string, key: string) => Promise<Answer>

export const INVALID: Answer = {
  status: 400,
  headers: { 'content-type': 'application/json' },
  body: '{"code":"invalid_request"}',
}

export const HANDLERS = {
  constant: (): Handler => async () => CONSTANT,

  unguarded({ databaseUrl }: { databaseUrl: string }): Handler {
    const placeOrder = unguardedOrders(databaseUrl)
    return async (body) => {
      const order = OrderRequest.safeParse(JSON.parse(body))
      return order.success ? placeOrder(order.data) : INVALID
    }
  },
}
