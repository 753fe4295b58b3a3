// Refunding an order. The amount is fixed and held under the order's row lock in the reservation itself; `unknown`
// keeps holding it; declined or proven not executed gives it back. Two refunds can never exceed their order.
import sql, { type Sql } from 'sql-template-tag'
import { newId } from '../db/id'
import type { Store } from '../db/store'
import type { Attempt, Executed, Operation, Settlement } from '../idempotency/operation'
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

export function refundOrder(store: Store, gateway: Gateway, problem: ProblemAnswer): Operation<RefundRequest, Report> {
  return {
    endpoint: REFUND_ORDER,
    newResource: () => ({ type: 'refund', id: newId('ref') }),
    begin: ({ attempt }) => holdAmount(attempt),
    refusal: ({ report, number, resource }) => {
      if (!report) return refused(problem, 'order_not_found', number)
      if (report.chargeReversed)
        return { ...refused(problem, 'order_not_refundable', number), effects: giveBack(resource.id, 'declined') }
      if (!WAS_PAID.includes(report.status)) return refused(problem, 'order_not_refundable', number)
      return report.amountCents === null ? refused(problem, 'refund_exceeds_order', number) : null
    },
    recall: async ({ resource }) => {
      const [row] = await store.query<{ report: Held }>(sql`
        SELECT ${reportOf(sql`r.amount_cents`)} AS report
        FROM refunds r JOIN orders o ON o.id = r.order_id WHERE r.id = ${resource.id}`)
      return row?.report ?? null
    },
    local: [],
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
      release: (attempt) => giveBack(attempt.resource.id, 'released'),
    },
    // It has given back what it held when it was proven not executed.
    lapse: () => [
      sql`lapsed_refunds AS (
        UPDATE refunds SET status = 'abandoned' FROM lapsed
        WHERE lapsed.resource_type = 'refund' AND refunds.id = lapsed.resource_id AND refunds.status = 'released'
      )`,
    ],
    abandon: (attempt) => ({
      answer: problem('request_expired'),
      effectRef: null,
      effects: giveBack(attempt.resource.id, 'abandoned'),
    }),
  }
}

/** The first attempt's refusal leaves no refund behind; a later one's may have been seen while it held its amount. */
const refused = (
  problem: ProblemAnswer,
  code: 'order_not_found' | 'order_not_refundable' | 'refund_exceeds_order',
  attempt: number,
): Settlement => ({
  answer: problem(code),
  effects: [],
  effectRef: null,
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

/** Nodes of the first release wrote the charge into the ledger only. */
const reportOf = (amount: Sql): Sql => sql`json_build_object(
  'status', o.status, 'customerId', o.customer_id, 'currency', o.currency, 'paymentMethod', o.payment_method,
  'chargeRef', coalesce(o.charge_ref, (
    SELECT l.provider_ref FROM ledger_entries l
    WHERE l.order_id = o.id AND l.kind = 'charge' AND l.status = 'succeeded' AND l.reversal_of IS NULL)),
  'chargeReversed', ${CHARGE_REVERSED}, 'amountCents', ${amount})`

/**
 * The same for the first attempt and every later one. `subject` takes the order's row lock and sees its newest
 * version, whatever a rival committed since this statement began. A refund that still holds its amount (accepted, or
 * claimed from a worker's crash) is left as it is; one that was released has to fit again, with the amount that was
 * fixed first.
 */
function holdAmount(attempt: Pick<RefundAttempt, 'resource' | 'input' | 'tenantId'>) {
  const refundId = attempt.resource.id
  const { amountCents = null, reason = null } = attempt.input.body
  const effects = [
    sql`subject AS (
      SELECT o.* FROM orders o
      WHERE o.id = ${attempt.input.params.id} AND o.tenant_id = ${attempt.tenantId} AND EXISTS (SELECT 1 FROM moved)
      FOR UPDATE OF o
    )`,
    sql`earlier AS (SELECT * FROM refunds WHERE id = ${refundId} AND EXISTS (SELECT 1 FROM moved))`,
    sql`fitting AS (
      SELECT o.id, wanted.cents
      FROM subject o LEFT JOIN earlier e ON true,
        LATERAL (SELECT coalesce(e.amount_cents, ${amountCents}::bigint, o.amount_cents - o.refunded_cents - o.held_cents) AS cents) wanted
      WHERE o.status IN ('paid', 'partially_refunded') AND e.status IS DISTINCT FROM 'pending' AND NOT ${CHARGE_REVERSED}
        AND wanted.cents BETWEEN 1 AND o.amount_cents - o.refunded_cents - o.held_cents
    )`,
    sql`held AS (UPDATE orders o SET held_cents = o.held_cents + f.cents FROM fitting f WHERE o.id = f.id)`,
    sql`noted AS (
      INSERT INTO refunds (id, order_id, tenant_id, record_id, amount_cents, reason, created_at)
      SELECT ${refundId}, f.id, m.tenant_id, m.id, f.cents, ${reason}, m.created_at FROM fitting f, moved m
      ON CONFLICT (id) DO UPDATE SET status = 'pending'
    )`,
  ]
  const amount = sql`coalesce((SELECT cents FROM fitting), (SELECT amount_cents FROM earlier WHERE status = 'pending'))`
  return { effects, report: sql`(SELECT ${reportOf(amount)} FROM subject o)` }
}

/** Only a refund that holds its amount gives it back, and only once. */
function giveBack(refundId: string, status: 'released' | 'declined' | 'abandoned'): Sql[] {
  return [
    sql`given_back AS (
      UPDATE refunds r SET status = ${status}::refund_status, provider_ref = moved.effect_ref FROM moved
      WHERE r.id = ${refundId} AND r.status = 'pending' RETURNING r.order_id, r.amount_cents
    )`,
    sql`unheld AS (
      UPDATE orders o SET held_cents = o.held_cents - g.amount_cents FROM given_back g WHERE o.id = g.order_id
    )`,
  ]
}

function concludeRefund(attempt: RefundAttempt, executed: Executed, problem: ProblemAnswer): Settlement {
  const held = holding(attempt)
  const money = bookedMoney(ownMoney(attempt), executed.shown)
  const { id: refundId } = attempt.resource
  const orderId = attempt.input.params.id!
  const booked = sql`booked AS (
    INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, record_id, amount_cents, currency, provider_ref)
    SELECT ${newId('pay')}, 'refund', ${executed.kind === 'succeeded' ? 'succeeded' : 'failed'}::ledger_status, m.tenant_id,
      ${orderId}, m.id, ${money.amountCents}::bigint, ${money.currency}, ${executed.ref}
    FROM moved m
  )`
  if (executed.kind === 'declined')
    return {
      answer: problem('payment_declined'),
      effects: [...giveBack(refundId, 'declined'), booked],
      effectRef: executed.ref,
    }
  const refund: Refund = {
    id: refundId,
    orderId,
    amountCents: held.amountCents,
    status: 'succeeded',
    providerRef: executed.ref,
    reason: attempt.input.body.reason ?? null,
    createdAt: attempt.createdAt.toISOString(),
  }
  return {
    answer: json(201, refund, { location: `/api/orders/${orderId}/refunds/${refundId}` }),
    effects: [...refundEffects(refundId), booked],
    effectRef: executed.ref,
  }
}

/**
 * A refund that turns up after its hold was given back is booked all the same: the money is gone. Where it does not
 * fit any more, because another refund took what it had held, the order can't say so: people are told instead.
 */
function refundEffects(refundId: string): Sql[] {
  return [
    sql`done AS (
      UPDATE refunds r SET status = 'succeeded', provider_ref = moved.effect_ref
      FROM moved, (SELECT id, status FROM refunds WHERE id = ${refundId}) old
      WHERE r.id = old.id RETURNING r.order_id, r.amount_cents, old.status = 'pending' AS was_held
    )`,
    sql`refunded AS (
      UPDATE orders o SET
        refunded_cents = o.refunded_cents + d.amount_cents,
        held_cents = o.held_cents - CASE WHEN d.was_held THEN d.amount_cents ELSE 0 END,
        status = CASE WHEN o.refunded_cents + d.amount_cents >= o.amount_cents THEN 'refunded' ELSE 'partially_refunded' END::order_status
      FROM done d
      WHERE o.id = d.order_id AND (d.was_held OR o.refunded_cents + o.held_cents + d.amount_cents <= o.amount_cents)
      RETURNING o.id
    )`,
    sql`beyond AS (
      INSERT INTO discrepancies (id, kind, subject, record_id, detail)
      SELECT ${newId('dis')}, 'refund_exceeds_order', ${refundId}, m.id,
        jsonb_build_object('orderId', d.order_id, 'amountCents', d.amount_cents, 'ref', m.effect_ref)
      FROM done d, moved m WHERE NOT EXISTS (SELECT 1 FROM refunded)
      ON CONFLICT (kind, subject) DO NOTHING
    )`,
  ]
}
