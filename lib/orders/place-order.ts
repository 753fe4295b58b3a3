// Placing an order: the order commits with the reservation, the charge runs between two transactions, and the
// ledger row, the order's status and the answer commit together.
import sql from 'sql-template-tag'
import { newId } from '../db/id'
import type { Attempt, Executed, Operation, Settlement } from '../idempotency/operation'
import type { Gateway } from '../payments/gateway'
import { json, type ProblemAnswer } from './answer'
import { bookedMoney, called, findByRef, isOwn, lookedUp, type OwnMoney } from './provider-words'
import { amountOf, type Order, type OrderRequest } from './schema'

type OrderAttempt = Attempt<OrderRequest, null>

export const PLACE_ORDER = 'POST /api/orders'

export function placeOrder(gateway: Gateway, problem: ProblemAnswer): Operation<OrderRequest, null> {
  return {
    endpoint: PLACE_ORDER,
    independent: true,
    newResource: () => ({ type: 'order', id: newId('ord') }),
    begin: ({ attempt, first }) => ({ effects: first ? [insertOrder(attempt)] : [] }),
    recall: async () => null,
    local: [],
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
      // The order stays as it is: the next attempt charges for the same one.
      release: () => [],
    },
    lapse: () => [
      sql`lapsed_orders AS (
        UPDATE orders SET status = 'abandoned' FROM lapsed
        WHERE lapsed.resource_type = 'order' AND orders.id = lapsed.resource_id AND orders.status = 'pending_payment'
      )`,
    ],
    abandon: (attempt) => ({
      answer: problem('request_expired'),
      effectRef: null,
      effects: [setStatus(attempt.resource.id, 'abandoned')],
    }),
  }
}

const ownMoney = ({ input, resource }: OrderAttempt): OwnMoney => ({
  effect: 'charge',
  amountCents: amountOf(input.body),
  currency: input.body.currency,
  orderId: resource.id,
})

function insertOrder(attempt: Pick<OrderAttempt, 'resource' | 'input'>) {
  const order = attempt.input.body
  return sql`placed AS (
    INSERT INTO orders (id, tenant_id, record_id, customer_id, currency, amount_cents, items, note, payment_method, created_at)
    SELECT ${attempt.resource.id}, m.tenant_id, m.id, ${order.customerId}, ${order.currency}, ${amountOf(order)}::bigint,
      ${JSON.stringify(order.items)}::json, ${order.note ?? null}, ${order.paymentMethod}, m.created_at
    FROM moved m
  )`
}

const setStatus = (orderId: string, status: 'paid' | 'declined' | 'abandoned', chargeRef: string | null = null) =>
  sql`marked AS (
    UPDATE orders SET status = ${status}::order_status, charge_ref = ${chargeRef} FROM moved WHERE orders.id = ${orderId}
  )`

function concludeOrder(attempt: OrderAttempt, executed: Executed, problem: ProblemAnswer): Settlement {
  const order = attempt.input.body
  const succeeded = executed.kind === 'succeeded'
  const money = bookedMoney(ownMoney(attempt), executed.shown)
  const payment = { id: newId('pay'), providerRef: executed.ref, status: succeeded ? 'succeeded' : 'failed' } as const
  const booked = sql`booked AS (
    INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, record_id, amount_cents, currency, provider_ref)
    SELECT ${payment.id}, 'charge', ${payment.status}::ledger_status, m.tenant_id, ${attempt.resource.id}, m.id,
      ${money.amountCents}::bigint, ${money.currency}, ${executed.ref}
    FROM moved m
  )`
  const answered: Order = {
    id: attempt.resource.id,
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
    answer: succeeded
      ? json(201, answered, { location: `/api/orders/${attempt.resource.id}` })
      : problem('payment_declined'),
    effects: [
      succeeded ? setStatus(attempt.resource.id, 'paid', executed.ref) : setStatus(attempt.resource.id, 'declined'),
      booked,
    ],
    effectRef: executed.ref,
  }
}
