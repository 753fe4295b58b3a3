// An operator's desk: the use cases as a node puts them together, on a bench with a provider that says what the test
// wants.
import { expect } from 'vitest'
import { type KeyFilter, selectKeyIds } from '../../lib/console/keys-filter'
import { findOperatorRecord } from '../../lib/console/record-view'
import type { Boundary, BoundaryEvent } from '../../lib/idempotency/boundary'
import type { AnyOperation } from '../../lib/idempotency/operation'
import { enqueueAccepted } from '../../lib/jobs/enqueue'
import { runAcceptedJob } from '../../lib/jobs/run-accepted'
import type { BulkAction } from '../../lib/maintenance/bulk'
import type { Daemon } from '../../lib/maintenance/daemon'
import { openRunner } from '../../lib/maintenance/runner'
import { maintenanceUseCases } from '../../lib/maintenance/use-cases'
import { callOf } from '../../lib/operators/actor'
import { openGuard } from '../../lib/operators/use-case'
import type { OrderRequest } from '../../lib/orders/schema'
import type { LookUpOutcome } from '../../lib/payments/gateway'
import { bulkActions } from '../../lib/reconciliation/bulk-actions'
import type { Reconciliation } from '../../lib/reconciliation/reconcile'
import { reconciliationUseCases } from '../../lib/reconciliation/use-cases'
import { type Bench, newKey, orderOf, type ScriptedGateway, scriptedGateway, timedOut } from '../support/boundary'

export const OLGA = callOf({ id: 'opr_olga', name: 'Olga', role: 'operator' }, 'req_olga')
export const PETR = callOf({ id: 'opr_petr', name: 'Petr', role: 'operator' }, 'req_petr')
export const ADA = callOf({ id: 'opr_ada', name: 'Ada', role: 'admin' }, 'req_ada')
export const VERA = callOf({ id: 'opr_vera', name: 'Vera', role: 'viewer' }, 'req_vera')

export const REASON = 'seen in the provider’s dashboard'
export const UNREACHABLE: LookUpOutcome = { kind: 'unreachable', code: 'down' }

export interface DeskOptions {
  boundary?: Partial<Boundary>
  daemons?: readonly Daemon[]
  answerAfterMs?: number
  /** In place of the look-up. */
  bulk?: BulkAction
}

export function openDesk(bench: Bench, options: DeskOptions = {}) {
  const gateway: ScriptedGateway = scriptedGateway()
  const all: AnyOperation[] = [bench.placeOrder(gateway), bench.refundOrder(gateway)]
  const operations = new Map(all.map((operation) => [operation.endpoint, operation]))
  const observed: BoundaryEvent['kind'][] = []
  const boundary: Boundary = { ...bench.boundary, observe: ({ kind }) => observed.push(kind), ...options.boundary }
  const { store } = boundary
  const reconciliation: Reconciliation = { boundary, operations, intervalMs: 1000, maxAttempts: 3 }
  const runner = openRunner({
    store,
    nodeId: boundary.nodeId,
    daemons: options.daemons ?? [],
    bulk: { ...bulkActions(reconciliation), ...(options.bulk ? { reconcile: options.bulk } : {}) },
    answerAfterMs: options.answerAfterMs,
  })
  const guard = openGuard(store)
  const findRecord = (id: string) => findOperatorRecord(store, id)

  return {
    gateway,
    operations,
    boundary,
    reconciliation,
    runner,
    observed,
    ...reconciliationUseCases(reconciliation, guard, findRecord),
    ...maintenanceUseCases(
      {
        store,
        operations,
        runner,
        findRecord,
        selectKeyIds: (filter: KeyFilter, limit) => selectKeyIds(store, filter, limit),
      },
      guard,
    ),

    /** A key whose provider gave no clear answer. */
    async unknown(order: Partial<OrderRequest> = {}) {
      const key = newKey()
      const body = orderOf(order)
      gateway.nextCall(timedOut)
      await bench.place(gateway, body, { key })
      return { key, body, ...(await seen(key)) }
    },
    async unknownAccepted() {
      const key = newKey()
      gateway.nextCall(timedOut)
      await bench.place(gateway, orderOf(), { key, acceptedAs: enqueueAccepted })
      await runAcceptedJob(boundary, operations, (await bench.recordOf(key)).id)
      return { key, ...(await seen(key)) }
    },
    async unknownRefund(amountCents = 400, ofCents = 1000) {
      const orderId = await bench.paidOrder(ofCents)
      const key = newKey()
      gateway.nextCall(timedOut)
      await bench.refund(gateway, orderId, { amountCents }, { key })
      return { key, orderId, ...(await seen(key)) }
    },
    async pastSettleWindow(key: string): Promise<void> {
      await bench.rows(
        `UPDATE idempotency_records SET settles_at = clock_timestamp() - interval '1 ms' WHERE key = $1`,
        [key],
      )
    },
    /** As if a second had gone by since people asked about it. */
    async nextAsk(id: string): Promise<void> {
      await bench.rows(`UPDATE asks_by_people SET asked_at = asked_at - interval '1 s' WHERE record_id = $1`, [id])
    },
    audit: (target: string) =>
      bench.rows<Record<string, unknown>>(
        `SELECT actor_id, action, target, outcome, reason, before, after, request_id FROM audit_entries
         WHERE target = $1 ORDER BY seq`,
        [target],
      ),
  }

  async function seen(key: string) {
    const { id, version, state } = await bench.recordOf(key)
    expect(state).toBe('unknown')
    return { id, version }
  }
}

export type Desk = ReturnType<typeof openDesk>
