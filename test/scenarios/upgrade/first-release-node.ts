// A node of the first release, as its database sees it: its statements, prepared by name on connections of its own, in
// the order in which it sent them. It keeps how long each took and which failed: a migration must show in neither.
import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Sql } from 'sql-template-tag'
import { ORDERS, type OrderRequest, REFUNDS } from '../../support/client'
import * as orders from './first-release-orders'
import * as records from './first-release-records'

const RETRYABLE = ['40001', '40P01']
const MAX_RUNS = 3
const newId = (prefix: string) => `${prefix}_${randomUUID()}`
const nodeId = 'first-release'

interface Row {
  created: boolean
  id: string
  fingerprint: string
  state: string
  attempt: number
  lease_left_ms: number | null
  past_expiry: boolean
  response_status: number
  response_body: string
  resource_id: string
  created_at: Date
  report: { amountCents: number | null; customerId: string } | null
}

/** An attempt that this node owns. */
export interface Attempt {
  recordId: string
  number: number
  tenantId: string
  resourceId: string
  createdAt: Date
  order: OrderRequest
  refund?: { orderId: string; amountCents: number }
}

interface Told {
  status: number
  body: string
  replayed: boolean
}

export interface FirstReleaseNode {
  readonly tenantId: string
  /** The longest statement so far. */
  longestMs(): number
  statements(): number
  run<R>(statement: Sql): Promise<R[]>
  /** A whole request, as that release answered it. */
  order(key: string, order: OrderRequest): Promise<Told>
  /** The first half alone: what a node that dies, sleeps or is slow has done. */
  reserveOrder(key: string, order: OrderRequest, leaseMs?: number): Promise<Attempt>
  reserveRefund(key: string, paid: Attempt, amountCents: number | null, leaseMs?: number): Promise<Attempt>
  accept(key: string, order: OrderRequest): Promise<string>
  charge(attempt: Attempt): Promise<{ ref: string; status: 'succeeded' | 'failed' }>
  /** The answer that was stored, or null for an owner that was fenced. */
  settle(attempt: Attempt, charged: { ref: string; status: 'succeeded' | 'failed' }): Promise<records.Answer | null>
  release(attempt: Attempt): Promise<boolean>
  giveUp(attempt: Attempt): Promise<boolean>
  leaseOver(attempt: Attempt): Promise<boolean>
  testify(attempt: Attempt, ref: string): Promise<{ state: string } | undefined>
  close(): Promise<void>
}

export function openFirstReleaseNode(
  url: string,
  tenantId: string,
  times: { leaseMs: number; settleMs: number },
): FirstReleaseNode {
  const pool = new pg.Pool({ connectionString: url, max: 8, statement_timeout: 8000, options: '-c TimeZone=UTC' })
  let longestMs = 0
  let statements = 0

  async function run<R>({ text, values }: Sql): Promise<R[]> {
    const name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
    const client = await pool.connect()
    try {
      for (let runs = 1; ; runs++) {
        const startedAt = performance.now()
        try {
          return (await client.query({ name, text, values: values as unknown[] })).rows as R[]
        } catch (error) {
          if (!RETRYABLE.includes((error as { code: string }).code) || runs === MAX_RUNS) throw error
        } finally {
          statements++
          longestMs = Math.max(longestMs, performance.now() - startedAt)
        }
      }
    } finally {
      client.release()
    }
  }
  const one = async (statement: Sql) => (await run<Row>(statement))[0] as Row
  const moved = async (statement: Sql) => (await run(statement)).length === 1
  const owned = ({ recordId, number: attempt }: Attempt) => ({ recordId, attempt, nodeId })

  function reservation(key: string, order: OrderRequest, leaseMs: number, phase: string | null): records.Reservation {
    const resource = { type: 'order' as const, id: newId('ord') }
    const request = { endpoint: ORDERS, params: {}, body: order }
    const effects = [orders.placed(resource.id, order)]
    const { settleMs } = times
    return { id: newId('idem'), tenantId, key, request, resource, leaseMs, settleMs, nodeId, phase, effects }
  }
  const attemptOf = (row: Row, order: OrderRequest, number = row.attempt): Attempt => ({
    recordId: row.id,
    number,
    tenantId,
    resourceId: row.resource_id,
    createdAt: row.created_at,
    order,
  })

  async function charge(a: Attempt) {
    const status = a.order.paymentMethod === 'pm_declined' ? 'failed' : 'succeeded'
    const kind = a.refund ? 'refund' : 'charge'
    const entry = {
      ref: `${a.refund ? 'sbx_re_' : 'sbx_ch_'}${randomUUID()}`,
      providerKey: `onceover-${a.recordId}`,
      kind,
      status,
      orderId: a.refund?.orderId ?? a.resourceId,
      customerId: a.order.customerId,
      amountCents: a.refund?.amountCents ?? orders.amountOf(a.order),
    } as const
    await run(orders.bookAgain(entry))
    return { ref: entry.ref, status } as const
  }

  async function settle(a: Attempt, charged: { ref: string; status: 'succeeded' | 'failed' }) {
    const payment = { id: newId('pay'), ref: charged.ref }
    const succeeded = charged.status === 'succeeded'
    const settlement = a.refund
      ? {
          answer: orders.refundAnswer(a.resourceId, a.refund.orderId, a.refund.amountCents, charged.ref, a.createdAt),
          effects: orders.refunded(payment.id, a.resourceId, a.refund.orderId, a.refund.amountCents, charged.ref),
        }
      : {
          answer: succeeded ? orders.paid(a.resourceId, a.order, payment, a.createdAt) : orders.DECLINED,
          effects: [
            orders.marked(a.resourceId, succeeded ? 'paid' : 'declined'),
            orders.bookedCharge(payment.id, a.resourceId, a.order, charged),
          ],
        }
    const stored = await moved(records.settle({ ...owned(a), ...settlement, effectRef: charged.ref }))
    return stored ? settlement.answer : null
  }

  /** A further attempt asks the provider before it calls. */
  async function claimAndCharge(row: Row, order: OrderRequest): Promise<Told | null> {
    const claimed = { recordId: row.id, attempt: row.attempt, nodeId, phase: 'charging', effects: [], ...times }
    if (!(await moved(records.claim(claimed)))) return null
    const attempt = attemptOf(row, order, row.attempt + 1)
    const [found] = await run<{ ref: string; status: 'succeeded' | 'failed' }>(
      orders.findEntry(`onceover-${row.id}`, 'charge'),
    )
    return answered(await settle(attempt, found ?? (await charge(attempt))))
  }
  const answered = (answer: records.Answer | null) => answer && { ...answer, replayed: false }

  return {
    tenantId,
    longestMs: () => longestMs,
    statements: () => statements,
    run,
    charge,
    settle,
    async order(key, order) {
      for (;;) {
        const asked = reservation(key, order, times.leaseMs, 'charging')
        const row = await one(records.reserve(asked))
        if (row.fingerprint !== records.fingerprintOf(asked.request)) return { status: 422, body: '', replayed: false }
        if (row.created) {
          const attempt = attemptOf(row, order)
          const told = answered(await settle(attempt, await charge(attempt)))
          if (told) return told
        } else if (row.state === 'completed')
          return { status: row.response_status, body: row.response_body, replayed: true }
        else if (row.state === 'failed_retryable') {
          const told = await claimAndCharge(row, order)
          if (told) return told
        } else return { status: row.state === 'expired' ? 410 : 409, body: row.state, replayed: false }
      }
    },
    async reserveOrder(key, order, leaseMs = times.leaseMs) {
      return attemptOf(await one(records.reserve(reservation(key, order, leaseMs, 'charging'))), order)
    },
    async reserveRefund(key, paid, amountCents, leaseMs = times.leaseMs) {
      const orderId = paid.resourceId
      const body = amountCents === null ? {} : { amountCents }
      const resource = { type: 'refund' as const, id: newId('ref') }
      const row = await one(
        records.reserve({
          ...reservation(key, paid.order, leaseMs, 'refunding'),
          request: { endpoint: REFUNDS, params: { id: orderId }, body },
          resource,
          effects: orders.held(resource.id, orderId, tenantId, amountCents),
          report: orders.heldReport,
        }),
      )
      const holds = row.report?.amountCents
      if (!holds) throw new Error(`the refund was not held: ${JSON.stringify(row.report)}`)
      return { ...attemptOf(row, paid.order), refund: { orderId, amountCents: holds } }
    },
    async accept(key, order) {
      return (await one(records.reserve(reservation(key, order, 0, null)))).id
    },
    release: (a) =>
      moved(
        records.release({
          ...owned(a),
          code: 'connection_refused',
          effects: a.refund ? orders.givenBack(a.resourceId) : [],
        }),
      ),
    giveUp: (a) => moved(records.outcomeUnknown({ ...owned(a), code: 'timeout' })),
    leaseOver: (a) => moved(records.leaseOver(owned(a))),
    testify: async ({ recordId, number: attempt }, ref) =>
      (await run<{ state: string }>(records.keepEvidence({ id: randomUUID(), recordId, attempt, ref })))[0],
    close: () => pool.end(),
  }
}
