// Placing an order: the order commits with the reservation, the charge runs between two transactions, and the ledger row,
// the order's status and the answer commit together.
import sql from 'sql-template-tag'
import { rowsOf } from '../db/arrays'
import { newId } from '../db/id'
import type { Tx } from '../db/store'
import type { Attempt, Beginning, Booked, Conclusion, Executed, Operation } from '../idempotency/operation'
import type { Gateway } from '../payments/gateway'
import { json, type ProblemAnswer } from './answer'
import { bookedMoney, called, findByRef, isOwn, lookedUp, type OwnMoney } from './provider-words'
import { amountOf, type Order, type OrderRequest } from './schema'

type OrderAttempt = Attempt<OrderRequest, null>

/** What an answer means for its order, and what the ledger gets. */
interface OrderBooking {
  orderId: string
  status: 'paid' | 'declined'
  charge: { id: string; status: 'succeeded' | 'failed'; ref: string; amountCents: number; currency: string }
}

export const PLACE_ORDER = 'POST /api/orders'

export function placeOrder(gateway: Gateway, problem: ProblemAnswer): Operation<OrderRequest, null, OrderBooking> {
  return {
    endpoint: PLACE_ORDER,
    batched: true,
    newResource: () => ({ type: 'order', id: newId('ord') }),
    async begin(tx, attempts) {
      const first = attempts.filter((attempt) => attempt.first)
      if (first.length > 0) await insertOrders(tx, first)
      return attempts.map(() => null)
    },
    external: {
      name: 'charging',
      timeLimitMs: gateway.timeLimitMs,
      async call(attempt) {
        const { customerId, currency, paymentMethod } = attempt.input.body
        const outcome = await gateway.execute({
          kind: 'charge',
          providerKey: attempt.providerKey,
          keyDigest: attempt.keyDigest,
          fingerprint: attempt.fingerprint,
          orderId: attempt.resource.id,
          customerId,
          amountCents: amountOf(attempt.input.body),
          currency,
          paymentMethod,
        })
        return called(outcome)
      },
      async lookUp(attempt, { until, progress }) {
        const { paymentMethod } = attempt.input.body
        const { providerKey, createdAt: reservedAt } = attempt
        return lookedUp(
          await gateway.lookUp({ kind: 'charge', providerKey, reservedAt, until, progress, paymentMethod }),
        )
      },
      findByRef: (ref) => findByRef(gateway, 'charge', ref),
      matches: (attempt, shown) => isOwn(ownMoney(attempt), shown),
      conclude: (attempt, executed) => concludeOrder(attempt, executed, problem),
      // No release: the order stays as it is, and the next attempt charges for the same one.
    },
    book: bookOrders,
    async lapse(tx, orderIds) {
      await tx.query(sql`
        UPDATE orders SET status = 'abandoned' WHERE id = ANY(${[...orderIds]}::text[]) AND status = 'pending_payment'`)
    },
  }
}

const ownMoney = ({ input, resource }: OrderAttempt): OwnMoney => ({
  effect: 'charge',
  amountCents: amountOf(input.body),
  currency: input.body.currency,
  orderId: resource.id,
})

async function insertOrders(tx: Tx, attempts: readonly Beginning<OrderRequest>[]): Promise<void> {
  await tx.query(sql`
    INSERT INTO orders (id, tenant_id, record_id, customer_id, currency, amount_cents, items, note, payment_method, created_at)
    SELECT a.id, a.tenant_id, a.record_id, a.customer_id, a.currency, a.amount_cents, a.items::json, a.note, a.payment_method,
      a.created_at
    FROM ${rowsOf('a', attempts, {
      id: ['text', ({ resource }) => resource.id],
      tenant_id: ['text', ({ tenantId }) => tenantId],
      record_id: ['text', ({ recordId }) => recordId],
      customer_id: ['text', ({ input }) => input.body.customerId],
      currency: ['text', ({ input }) => input.body.currency],
      amount_cents: ['bigint', ({ input }) => amountOf(input.body)],
      items: ['text', ({ input }) => JSON.stringify(input.body.items)],
      note: ['text', ({ input }) => input.body.note ?? null],
      payment_method: ['text', ({ input }) => input.body.paymentMethod],
      created_at: ['timestamptz', ({ createdAt }) => createdAt],
    })}`)
}

async function bookOrders(tx: Tx, booked: readonly Booked<OrderBooking>[]): Promise<void> {
  const marked = tx.query(sql`
    UPDATE orders o SET status = b.status::order_status, charge_ref = b.charge_ref
    FROM ${rowsOf('b', booked, {
      id: ['text', ({ booking }) => booking.orderId],
      status: ['text', ({ booking }) => booking.status],
      charge_ref: ['text', ({ booking }) => (booking.status === 'paid' ? booking.charge.ref : null)],
    })} WHERE o.id = b.id`)
  const charges = booked.map(({ booking: { charge, orderId }, ...of }) => ({ ...charge, ...of, orderId }))
  const charged = tx.query(sql`
    INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, record_id, amount_cents, currency, provider_ref)
    SELECT c.id, 'charge', c.status::ledger_status, c.tenant_id, c.order_id, c.record_id, c.amount_cents, c.currency, c.ref
    FROM ${rowsOf('c', charges, {
      id: ['text', ({ id }) => id],
      status: ['text', ({ status }) => status],
      tenant_id: ['text', ({ tenantId }) => tenantId],
      order_id: ['text', ({ orderId }) => orderId],
      record_id: ['text', ({ recordId }) => recordId],
      amount_cents: ['bigint', ({ amountCents }) => amountCents],
      currency: ['text', ({ currency }) => currency],
      ref: ['text', ({ ref }) => ref],
    })}`)
  await Promise.all([marked, charged])
}

function concludeOrder(attempt: OrderAttempt, executed: Executed, problem: ProblemAnswer): Conclusion<OrderBooking> {
  const order = attempt.input.body
  const { id: orderId } = attempt.resource
  const { ref } = executed
  const succeeded = executed.kind === 'succeeded'
  const payment = { id: newId('pay'), providerRef: ref, status: succeeded ? 'succeeded' : 'failed' } as const
  const answered: Order = {
    id: orderId,
    status: 'paid',
    customerId: order.customerId,
    currency: order.currency,
    amountCents: amountOf(order),
    refundedCents: 0,
    items: order.items,
    note: order.note ?? null,
    payment,
    createdAt: attempt.createdAt.toISOString(),
  }
  return {
    answer: succeeded ? json(201, answered, { location: `/api/orders/${orderId}` }) : problem('payment_declined'),
    booking: {
      orderId,
      status: succeeded ? 'paid' : 'declined',
      charge: { id: payment.id, status: payment.status, ref, ...bookedMoney(ownMoney(attempt), executed.shown) },
    },
  }
}
