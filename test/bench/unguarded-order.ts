// The order that a user would have without us, and that the Redis contenders guard: order, the provider's charge, status
// with ledger row, as three commits into three plain tables that have their primary keys and nothing else. It remembers no
// request: a client that sends it twice pays twice.
import pg from 'pg'
import { newId } from '../../lib/db/id'
import { amountOf, type OrderRequest } from '../../lib/orders/schema'
import { POOL_SIZE, SANDBOX_POOL_SIZE } from './like-ours'

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

export type PlaceOrder = (order: OrderRequest) => Promise<Answer>

export const LEAN_TABLES = `
  CREATE SCHEMA lean;
  CREATE TABLE lean.orders (
    id text PRIMARY KEY, customer_id text NOT NULL, currency text NOT NULL, amount_cents bigint NOT NULL,
    items json NOT NULL, note text, status text NOT NULL, charge_ref text, created_at timestamptz NOT NULL);
  CREATE TABLE lean.charges (
    ref text PRIMARY KEY, order_id text NOT NULL, customer_id text NOT NULL, amount_cents bigint NOT NULL,
    currency text NOT NULL, created_at timestamptz NOT NULL);
  CREATE TABLE lean.ledger (
    id text PRIMARY KEY, order_id text NOT NULL, amount_cents bigint NOT NULL, currency text NOT NULL, ref text NOT NULL,
    created_at timestamptz NOT NULL)`

const INSERT_ORDER = `
  INSERT INTO lean.orders (id, customer_id, currency, amount_cents, items, note, status, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, 'pending_payment', clock_timestamp()) RETURNING created_at`

const CHARGE = `
  INSERT INTO lean.charges (ref, order_id, customer_id, amount_cents, currency, created_at)
  VALUES ($1, $2, $3, $4, $5, clock_timestamp())`

const BOOK = `
  WITH marked AS (UPDATE lean.orders SET status = 'paid', charge_ref = $2 WHERE id = $1)
  INSERT INTO lean.ledger (id, order_id, amount_cents, currency, ref, created_at)
  VALUES ($3, $1, $4, $5, $2, clock_timestamp())`

export function unguardedOrders(databaseUrl: string): PlaceOrder {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL_SIZE })
  const providerPool = new pg.Pool({ connectionString: databaseUrl, max: SANDBOX_POOL_SIZE })

  return async (order) => {
    const { customerId, currency, items, note = null } = order
    const amountCents = amountOf(order)
    const id = newId('ord')
    const { rows } = await pool.query<{ created_at: Date }>({
      name: 'order',
      text: INSERT_ORDER,
      values: [id, customerId, currency, amountCents, JSON.stringify(items), note],
    })
    const ref = newId('pay')
    await providerPool.query({ name: 'charge', text: CHARGE, values: [ref, id, customerId, amountCents, currency] })
    const payment = { id: newId('pay'), providerRef: ref, status: 'succeeded' }
    await pool.query({ name: 'book', text: BOOK, values: [id, ref, payment.id, amountCents, currency] })
    const createdAt = rows[0]!.created_at.toISOString()
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
