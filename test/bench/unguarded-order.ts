// The order that everybody else is measured against and that the Redis contenders guard: the same body, tables, provider
// and two commits as ours, and nothing that remembers a request. Whoever sends it twice pays twice.
import { newId } from '../../lib/db/id'
import { openPool } from '../../lib/db/store'
import { amountOf, type OrderRequest } from '../../lib/orders/schema'
import { createSandbox } from '../../lib/payments/sandbox'
import { POOL_SIZE, PROVIDER_TIME_LIMIT_MS, SANDBOX_POOL_SIZE } from './like-ours'

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

export type PlaceOrder = (order: OrderRequest) => Promise<Answer>

const INSERT_ORDER = `
  INSERT INTO orders (id, tenant_id, customer_id, currency, amount_cents, items, note, payment_method, created_at)
  VALUES ($1, 'ten_bench', $2, $3, $4, $5, $6, $7, date_trunc('milliseconds', clock_timestamp()))
  RETURNING created_at`

const BOOK_CHARGE = `
  WITH marked AS (UPDATE orders SET status = 'paid', charge_ref = $2 WHERE id = $1)
  INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, amount_cents, currency, provider_ref)
  VALUES ($3, 'charge', 'succeeded', 'ten_bench', $1, $4, $5, $2)`

export function unguardedOrders(databaseUrl: string): PlaceOrder {
  const pool = openPool(databaseUrl, { max: POOL_SIZE, applicationName: 'unguarded' })
  const sandboxPool = openPool(databaseUrl, { max: SANDBOX_POOL_SIZE, applicationName: 'unguarded-sandbox' })
  const gateway = createSandbox({ pool: sandboxPool, idempotent: true, timeLimitMs: PROVIDER_TIME_LIMIT_MS })

  return async (order) => {
    const { customerId, currency, items, note = null, paymentMethod } = order
    const amountCents = amountOf(order)
    const id = newId('ord')
    const inserted = await pool.query<{ created_at: Date }>({
      name: 'insert-order',
      text: INSERT_ORDER,
      values: [id, customerId, currency, amountCents, JSON.stringify(items), note, paymentMethod],
    })
    const sentAs = { keyDigest: id, fingerprint: id }
    const charge = {
      kind: 'charge',
      providerKey: id,
      ...sentAs,
      orderId: id,
      customerId,
      amountCents,
      currency,
    } as const
    const outcome = await gateway.execute({ ...charge, paymentMethod })
    if (outcome.kind !== 'succeeded') throw new Error(`the provider answered ${outcome.kind}`)
    const payment = { id: newId('pay'), providerRef: outcome.providerRef, status: 'succeeded' }
    await pool.query({
      name: 'book-charge',
      text: BOOK_CHARGE,
      values: [id, payment.providerRef, payment.id, amountCents, currency],
    })
    const createdAt = inserted.rows[0]!.created_at.toISOString()
    const answer = {
      id,
      status: 'paid',
      customerId,
      currency,
      amountCents,
      refundedCents: 0,
      items,
      note,
      payment,
      createdAt,
    }
    return {
      status: 201,
      headers: { 'content-type': 'application/json', location: `/api/orders/${id}` },
      body: JSON.stringify(answer),
    }
  }
}
