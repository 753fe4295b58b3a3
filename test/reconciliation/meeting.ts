// Where actors meet on one record: a provider whose charges can be counted, and that honours no keys, so that a second
// call is a second charge; every actor as the node runs it; and places where each can be held.
import type pg from 'pg'
import { expect } from 'vitest'
import type { Statement, Store } from '../../lib/db/store'
import type { Boundary } from '../../lib/idempotency/boundary'
import type { Applied } from '../../lib/idempotency/evidence'
import type { AnyOperation } from '../../lib/idempotency/operation'
import type { Outcome } from '../../lib/idempotency/run'
import { migrateJobs } from '../../lib/jobs/worker'
import { runOnce } from '../../lib/maintenance/daemon'
import { reaper } from '../../lib/maintenance/reaper'
import { sweeper } from '../../lib/maintenance/sweeper'
import type { OrderRequest } from '../../lib/orders/schema'
import type { CallOutcome, Effected, Gateway, LookUpOutcome } from '../../lib/payments/gateway'
import { createSandbox } from '../../lib/payments/sandbox'
import { applyProviderEvent } from '../../lib/reconciliation/evidence'
import { type Reconciliation, reconcile } from '../../lib/reconciliation/reconcile'
import { reconciler } from '../../lib/reconciliation/reconciler'
import {
  type Asking,
  type Barrier,
  barrier,
  newKey,
  openBench,
  orderOf,
  reported,
  tampered,
  toldBy,
} from '../support/boundary'

type Point = 'calling' | 'called' | 'asked'

export interface Provider extends Gateway {
  /** Stops the next call or look-up there: before it arrives, or with its answer on the way back. */
  hold(point: Point): Barrier
  /** The next call ends like this for its caller, whatever it did; `arrives` false: it did nothing. */
  answerCallWith(outcome: CallOutcome, how?: { arrives: boolean }): void
  /** The next look-up says this, as a list that lags behind would. */
  answerLookUpWith(outcome: LookUpOutcome): void
  calls: number
  lookUps: number
}

function openProvider(pool: pg.Pool): Provider {
  const sandbox = createSandbox({ pool, idempotent: false, timeLimitMs: 5000 })
  const holds: Record<Point, Barrier[]> = { calling: [], called: [], asked: [] }
  const calls: { outcome: CallOutcome; arrives: boolean }[] = []
  const lookUps: LookUpOutcome[] = []
  const provider: Provider = {
    ...sandbox,
    timeLimitMs: 1000,
    calls: 0,
    lookUps: 0,
    hold(point) {
      const held = barrier()
      holds[point].push(held)
      return held
    },
    answerCallWith: (outcome, { arrives } = { arrives: true }) => void calls.push({ outcome, arrives }),
    answerLookUpWith: (outcome) => void lookUps.push(outcome),
    async execute(request) {
      provider.calls += 1
      const told = calls.shift()
      await holds.calling.shift()?.pass()
      const outcome = told?.arrives === false ? null : await sandbox.execute(request)
      await holds.called.shift()?.pass()
      return told?.outcome ?? outcome!
    },
    async lookUp(request) {
      provider.lookUps += 1
      const outcome = lookUps.shift() ?? (await sandbox.lookUp(request))
      await holds.asked.shift()?.pass()
      return outcome
    },
  }
  return provider
}

export const LOST: CallOutcome = { kind: 'unclear', code: 'timeout' }
export const REFUSED: CallOutcome = { kind: 'not_executed', code: 'connection_refused' }

export interface Charge {
  ref: string
  provider_key: string
  kind: 'charge' | 'refund'
  status: 'succeeded' | 'failed'
}

let events = 0

export async function openMeeting() {
  const bench = await openBench()
  await migrateJobs(bench.url)

  /** One key with its order, on a provider of its own. */
  function begin(changes: Partial<OrderRequest> = {}) {
    const provider = openProvider(bench.db)
    const key = newKey()
    const body = orderOf(changes)
    const all: AnyOperation[] = [bench.placeOrder(provider), bench.refundOrder(provider)]
    const operations = new Map(all.map((operation) => [operation.endpoint, operation]))
    const reconciliation = (boundary: Boundary): Reconciliation => ({
      boundary,
      operations,
      intervalMs: 30_000,
      maxAttempts: 12,
    })
    const through = (store: Store | undefined): Boundary => ({ ...bench.boundary, store: store ?? bench.store })
    const charges = () =>
      bench.rows<Charge>('SELECT ref, provider_key, kind, status FROM sandbox.charges WHERE customer_id = $1', [
        body.customerId,
      ])
    const idOf = async () => (await bench.recordOf(key)).id

    return {
      provider,
      key,
      body,
      operations,
      charges,
      idOf,
      record: () => bench.recordOf(key),
      state: async () => (await bench.recordOf(key)).state,
      /** A client's request: the owner, if it is the first. */
      request: (asking: Asking<OrderRequest> = {}): Promise<Outcome> => bench.place(provider, body, { key, ...asking }),
      async told(asking: Asking<OrderRequest> = {}): Promise<string> {
        return toldBy(await bench.place(provider, body, { key, ...asking }))
      },
      sweep: ({ store, dryRun }: { store?: Store; dryRun?: boolean } = {}) =>
        runOnce(sweeper(through(store), operations), { dryRun }),
      reconcile: async (store?: Store) => reconcile(reconciliation(through(store)), await idOf(), 'reconciler'),
      reconcileDue: (store?: Store) => runOnce(reconciler({ ...reconciliation(through(store)), lookUpLimitMs: 1000 })),
      reap: (store?: Store, tombstoneHours = 168) =>
        runOnce(reaper(store ?? bench.store, { tombstoneHours, operations })),
      /** What the provider reports of a charge, its only one unless it is named. */
      async webhook(
        of: Partial<{
          id: string
          ref: string
          kind: 'succeeded' | 'declined'
          effect: 'charge' | 'refund'
          money: Partial<Pick<Effected, 'amountCents' | 'currency' | 'orderId'>>
          store: Store
        }> = {},
      ) {
        const recordId = await bench.rows<{ id: string }>('SELECT id FROM idempotency_records WHERE key = $1', [key])
        const [charge] = await charges()
        const event = {
          id: of.id ?? `evt_${++events}_${key}`,
          providerKey: charge?.provider_key ?? `onceover-${recordId[0]!.id}`,
          outcome: reported(of.ref ?? charge!.ref, { kind: of.kind, effect: of.effect, ...of.money }),
        } as const
        return applyProviderEvent(through(of.store), operations, event) as Promise<Applied>
      },
      async pastSettleWindow(): Promise<void> {
        await bench.db.query(
          `UPDATE idempotency_records SET settles_at = clock_timestamp() - interval '1 ms' WHERE key = $1`,
          [key],
        )
      },
      async discrepancies(): Promise<{ kind: string; detail: Record<string, unknown> }[]> {
        return bench.rows('SELECT kind, detail FROM discrepancies WHERE record_id = $1', [await idOf()])
      },
      /** However they met: money moved once, it was booked once, and the client gets the answer for it. */
      async expectOneCharge(): Promise<void> {
        const made = (await charges()).filter(({ status }) => status === 'succeeded')
        expect(made).toHaveLength(1)
        expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', response_status: 201 })
        expect(
          await bench.rows(
            `SELECT o.status, l.status AS ledger, l.provider_ref AS ref
             FROM orders o LEFT JOIN ledger_entries l ON l.order_id = o.id WHERE o.customer_id = $1`,
            [body.customerId],
          ),
        ).toEqual([{ status: 'paid', ledger: 'succeeded', ref: made[0]!.ref }])
        const answer = await bench.place(provider, body, { key })
        expect(toldBy(answer)).toBe('201 replayed')
        expect(JSON.parse(answer.kind === 'answered' ? answer.answer.body : '').payment.providerRef).toBe(made[0]!.ref)
        expect((await charges()).filter(({ status }) => status === 'succeeded')).toHaveLength(1)
        expect(await this.discrepancies()).toEqual([])
      },
    }
  }

  return { bench, begin }
}

export type Meeting = Awaited<ReturnType<typeof openMeeting>>
export type OneKey = ReturnType<Meeting['begin']>

/** A store that stops before the first statement of its kind, as a node would that is slow just there. */
export function heldBefore(store: Store, statement: (sent: Statement) => boolean): { store: Store; held: Barrier } {
  const held = barrier()
  let stopped = false
  return {
    held,
    store: tampered(store, async (send, sent) => {
      if (!stopped && statement(sent)) {
        stopped = true
        await held.pass()
      }
      return send()
    }),
  }
}

export const isClaim = (sent: Statement): boolean => sent.text.includes("state = 'in_progress', attempt")
export const isRelease = (sent: Statement): boolean => sent.text.includes("state = 'failed_retryable', version")
