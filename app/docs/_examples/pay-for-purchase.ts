// How a shop uses it. A purchase is a row of your own database; its key is stored with it before
// this is called for the first time. Call it again for every purchase that is still open: after
// a crash, by a timer, by hand. However often that is, the customer is charged once.
import { type Client, NotKnownYet, Refused } from './onceover-client'

export interface Purchase {
  key: string
  order: object
  state: 'open' | 'paid' | 'not_paid'
  orderId?: string
  nextTryAt?: Date
}

interface Order {
  id: string
  payment: { status: 'succeeded' | 'failed' } | null
}

export async function payFor(client: Client, purchase: Purchase): Promise<Purchase> {
  try {
    const { body } = await client.post<Order>('/api/orders', purchase.key, purchase.order)
    return { ...purchase, state: 'paid', orderId: body.id }
  } catch (error) {
    // Perhaps charged, perhaps not. It stays open, with its key.
    if (error instanceof NotKnownYet)
      return { ...purchase, nextTryAt: new Date(Date.now() + error.retryAfterMs) }
    const problem = error instanceof Refused ? error.problem : null
    // Final for this key. Another payment method is another purchase, with a key of its own.
    if (problem?.code === 'payment_declined') return { ...purchase, state: 'not_paid' }
    // Too late for the answer, not for the truth: look at what the first try made.
    if (problem?.code === 'idempotency_key_expired' && problem.resource)
      return afterExpiry(client, purchase, problem.resource.id)
    // What is left is a mistake to be mended by a person. Above all idempotency_key_reused: the
    // key belongs to another order. A new key would hide that, and might charge twice.
    throw error
  }
}

async function afterExpiry(
  client: Client,
  purchase: Purchase,
  orderId: string,
): Promise<Purchase> {
  const { body: order } = await client.get<Order>(`/api/orders/${orderId}`)
  const state = order.payment?.status === 'succeeded' ? 'paid' : 'not_paid'
  return { ...purchase, state, orderId }
}
