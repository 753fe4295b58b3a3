// Refunding an order. The amount is fixed and held under the order's row lock in the reservation itself; `unknown`
// keeps holding it; declined or proven not executed gives it back. Two refunds can never exceed their order.
import sql, { type Sql } from 'sql-template-tag'
import { newId } from '../db/id'
import type { Store, Tx } from '../db/store'
import type { Attempt, Beginning, Booked, Conclusion, Executed, Operation, Settlement } from '../idempotency/operation'
import type { Gateway } from '../payments/gateway'
import { json, type ProblemAnswer } from './answer'
import { bookedMoney, called, findByRef, isOwn, lookedUp, type OwnMoney } from './provider-words'
import type { OrderStatus, Refund, RefundRequest } from './schema'

export const REFUND_ORDER = 'POST /api/orders/{id}/refunds'

/** What the reservation saw of the order under its lock; null where the tenant has no such order. */
interface Held {
  status: OrderStatus
  customerId: string
  currency: string
  paymentMethod: string
  chargeRef: string | null
  /** Its charge was booked with a wrong reference and reversed: that charge is another key's to give back. */
  chargeReversed: boolean
  /** What this refund holds; null where it does not fit into what is left. */
  amountCents: number | null
}
type Report = Held | null
type RefundAttempt = Attempt<RefundRequest, Report>

/** A refunded order has nothing left, which is another refusal than one that was never paid. */
const WAS_PAID: readonly OrderStatus[] = ['paid', 'partially_refunded', 'refunded']

/** What an answer means for its refund, and what the ledger gets. */
interface RefundBooking {
  refundId: string
  status: 'succeeded' | 'declined'
  /** None where the provider was never asked. */
  refund: { id: string; orderId: string; ref: string; amountCents: number; currency: string } | null
}
type RefundOperation = Operation<RefundRequest, Report, RefundBooking>

export function refundOrder(store: Pick<Store, 'query'>, gateway: Gateway, problem: ProblemAnswer): RefundOperation {
  return {
    endpoint: REFUND_ORDER,
    newResource: () => ({ type: 'refund', id: newId('ref') }),
    async begin(tx, attempts) {
      const reports: Report[] = []
      for (const attempt of attempts) reports.push(await holdAmount(tx, attempt))
      return reports
    },
    refusal: ({ report, number, resource }) => {
      if (!report) return refused(problem, 'order_not_found', number)
      if (report.chargeReversed) {
        const booking: RefundBooking = { refundId: resource.id, status: 'declined', refund: null }
        return { ...refused(problem, 'order_not_refundable', number), booking }
      }
      if (!WAS_PAID.includes(report.status)) return refused(problem, 'order_not_refundable', number)
      return report.amountCents === null ? refused(problem, 'refund_exceeds_order', number) : null
    },
    recall: async ({ resource }) => {
      const [row] = await store.query<Held & { amount: string }>(sql`
        SELECT ${HELD_OF}, r.amount_cents AS amount
        FROM refunds r JOIN orders o ON o.id = r.order_id WHERE r.id = ${resource.id}`)
      return row ? { ...row, amountCents: Number(row.amount) } : null
    },
    external: {
      name: 'refunding',
      timeLimitMs: gateway.timeLimitMs,
      async call(attempt) {
        const held = holding(attempt)
        const outcome = await gateway.execute({
          kind: 'refund',
          providerKey: attempt.providerKey,
          keyDigest: attempt.keyDigest,
          fingerprint: attempt.fingerprint,
          orderId: attempt.input.params.id!,
          customerId: held.customerId,
          amountCents: held.amountCents,
          currency: held.currency,
          paymentMethod: held.paymentMethod,
          chargeRef: held.chargeRef ?? undefined,
          reason: attempt.input.body.reason,
        })
        return called(outcome)
      },
      async lookUp(attempt, { until, progress }) {
        // Nothing was ever held for it, so nothing was ever asked of the provider.
        if (!attempt.report) return { kind: 'not_found' }
        const found = await gateway.lookUp({
          kind: 'refund',
          providerKey: attempt.providerKey,
          reservedAt: attempt.createdAt,
          until,
          progress,
          chargeRef: attempt.report.chargeRef ?? undefined,
          paymentMethod: attempt.report.paymentMethod,
          reason: attempt.input.body.reason,
        })
        return lookedUp(found)
      },
      findByRef: (ref) => findByRef(gateway, 'refund', ref),
      matches: (attempt, shown) => attempt.report !== null && isOwn(ownMoney(attempt), shown),
      conclude: (attempt, executed) => concludeRefund(attempt, executed, problem),
      release: (tx, { resource }) => giveBack(tx, resource.id, 'released'),
    },
    async book(tx, booked) {
      for (const one of booked) await bookRefund(tx, one)
    },
    async lapse(tx, refundIds) {
      const holding = await tx.query<{ id: string }>(sql`
        SELECT id FROM refunds WHERE id = ANY(${[...refundIds]}::text[]) AND status = 'pending'`)
      for (const { id } of holding) await giveBack(tx, id, 'abandoned')
      // Those that were proven not executed gave back then what they held.
      await tx.query(sql`
        UPDATE refunds SET status = 'abandoned' WHERE id = ANY(${[...refundIds]}::text[]) AND status = 'released'`)
    },
  }
}

/** The first attempt's refusal leaves no refund behind; a later one's may have been seen while it held its amount. */
const refused = (
  problem: ProblemAnswer,
  code: 'order_not_found' | 'order_not_refundable' | 'refund_exceeds_order',
  attempt: number,
): Settlement<RefundBooking> => ({
  answer: problem(code),
  ...(attempt === 1 ? { nothingMade: true } : {}),
})

function holding(attempt: RefundAttempt): Held & { amountCents: number } {
  if (!attempt.report || attempt.report.amountCents === null) throw new Error('a refund without a held amount')
  return { ...attempt.report, amountCents: attempt.report.amountCents }
}

function ownMoney(attempt: RefundAttempt): OwnMoney {
  const { amountCents, currency } = holding(attempt)
  return { effect: 'refund', amountCents, currency, orderId: attempt.input.params.id! }
}

/** Of an order `o`. */
const CHARGE_REVERSED: Sql = sql`(SELECT coalesce(bool_and(l.reversed_at IS NOT NULL), false) FROM ledger_entries l
  WHERE l.order_id = o.id AND l.kind = 'charge' AND l.status = 'succeeded')`

const HELD_OF: Sql = sql`o.status, o.customer_id AS "customerId", o.currency, o.payment_method AS "paymentMethod",
  o.charge_ref AS "chargeRef", ${CHARGE_REVERSED} AS "chargeReversed"`

interface LockedOrder extends Omit<Held, 'amountCents'> {
  /** What no refund has or holds. */
  left: string
}

/**
 * The same for the first attempt and every later one. The order's row lock comes first, so what is read after it is what
 * the last refund has committed. A refund that still holds its amount (accepted, or claimed from a worker's crash) is left
 * as it is; one that was released has to fit again, with the amount that was fixed first.
 */
async function holdAmount(
  tx: Tx,
  { resource, recordId, input, tenantId, createdAt }: Beginning<RefundRequest>,
): Promise<Report> {
  const locked = await tx.query(sql`
    SELECT 1 FROM orders WHERE id = ${input.params.id} AND tenant_id = ${tenantId} FOR UPDATE`)
  if (locked.length === 0) return null
  const [order] = await tx.query<LockedOrder>(sql`
    SELECT ${HELD_OF}, o.amount_cents - o.refunded_cents - o.held_cents AS "left" FROM orders o WHERE o.id = ${input.params.id}`)
  const [earlier] = await tx.query<{ status: string; amount: string }>(sql`
    SELECT status, amount_cents AS amount FROM refunds WHERE id = ${resource.id}`)
  const { left, ...report } = order!
  if (earlier?.status === 'pending') return { ...report, amountCents: Number(earlier.amount) }
  const { amountCents = null, reason = null } = input.body
  const cents = earlier ? Number(earlier.amount) : (amountCents ?? Number(left))
  const isRefundable = report.status === 'paid' || report.status === 'partially_refunded'
  if (!isRefundable || report.chargeReversed || cents < 1 || cents > Number(left))
    return { ...report, amountCents: null }
  await tx.query(sql`UPDATE orders SET held_cents = held_cents + ${cents}::bigint WHERE id = ${input.params.id}`)
  await tx.query(sql`
    INSERT INTO refunds (id, order_id, tenant_id, record_id, amount_cents, reason, created_at)
    VALUES (${resource.id}, ${input.params.id}, ${tenantId}, ${recordId}, ${cents}::bigint, ${reason}, ${createdAt})
    ON CONFLICT (id) DO UPDATE SET status = 'pending'`)
  return { ...report, amountCents: cents }
}

/** Only a refund that holds its amount gives it back, and only once. */
async function giveBack(
  tx: Tx,
  refundId: string,
  status: 'released' | 'declined' | 'abandoned',
  ref: string | null = null,
): Promise<void> {
  const [held] = await tx.query<{ order_id: string; amount: string }>(sql`
    UPDATE refunds SET status = ${status}::refund_status, provider_ref = ${ref}
    WHERE id = ${refundId} AND status = 'pending' RETURNING order_id, amount_cents AS amount`)
  if (held)
    await tx.query(sql`
      UPDATE orders SET held_cents = held_cents - ${held.amount}::bigint WHERE id = ${held.order_id}`)
}

function concludeRefund(attempt: RefundAttempt, executed: Executed, problem: ProblemAnswer): Conclusion<RefundBooking> {
  const held = holding(attempt)
  const { id: refundId } = attempt.resource
  const orderId = attempt.input.params.id!
  const { kind: status, ref } = executed
  const money = bookedMoney(ownMoney(attempt), executed.shown)
  const booking: RefundBooking = { refundId, status, refund: { id: newId('pay'), orderId, ref, ...money } }
  if (status === 'declined') return { answer: problem('payment_declined'), booking }
  const refund: Refund = {
    id: refundId,
    orderId,
    amountCents: held.amountCents,
    status: 'succeeded',
    providerRef: ref,
    reason: attempt.input.body.reason ?? null,
    createdAt: attempt.createdAt.toISOString(),
  }
  const location = `/api/orders/${orderId}/refunds/${refundId}`
  return { answer: json(201, refund, { location }), booking }
}

async function bookRefund(tx: Tx, { recordId, tenantId, booking }: Booked<RefundBooking>): Promise<void> {
  const { refundId, status, refund } = booking
  if (status === 'succeeded') await completeRefund(tx, recordId, refundId, refund!.ref)
  else await giveBack(tx, refundId, status, refund?.ref)
  if (refund)
    await tx.query(sql`
      INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, record_id, amount_cents, currency, provider_ref)
      VALUES (${refund.id}, 'refund', ${status === 'succeeded' ? 'succeeded' : 'failed'}::ledger_status, ${tenantId},
        ${refund.orderId}, ${recordId}, ${refund.amountCents}::bigint, ${refund.currency}, ${refund.ref})`)
}

/**
 * A refund that turns up after its hold was given back is booked all the same: the money is gone. Where it does not fit
 * any more, because another refund took what it had held, the order can't say so: a discrepancy does.
 */
async function completeRefund(tx: Tx, recordId: string, refundId: string, ref: string): Promise<void> {
  const [refund] = await tx.query<{ status: string; order_id: string; amount: string }>(sql`
    SELECT status, order_id, amount_cents AS amount FROM refunds WHERE id = ${refundId} FOR UPDATE`)
  if (!refund) return
  await tx.query(sql`UPDATE refunds SET status = 'succeeded', provider_ref = ${ref} WHERE id = ${refundId}`)
  const { order_id: orderId, amount } = refund
  const heldCents = refund.status === 'pending' ? amount : '0'
  const fitting = await tx.query(sql`
    UPDATE orders o SET
      refunded_cents = o.refunded_cents + ${amount}::bigint,
      held_cents = o.held_cents - ${heldCents}::bigint,
      status = CASE WHEN o.refunded_cents + ${amount}::bigint >= o.amount_cents THEN 'refunded'
        ELSE 'partially_refunded' END::order_status
    WHERE o.id = ${orderId} AND (o.refunded_cents + o.held_cents - ${heldCents}::bigint + ${amount}::bigint <= o.amount_cents)
    RETURNING o.id`)
  if (fitting.length > 0) return
  await tx.query(sql`
    INSERT INTO discrepancies (id, kind, subject, record_id, detail)
    VALUES (${newId('dis')}, 'refund_exceeds_order', ${refundId}, ${recordId},
      ${JSON.stringify({ orderId, amountCents: Number(amount), ref })}::jsonb)
    ON CONFLICT (kind, subject) DO NOTHING`)
}
