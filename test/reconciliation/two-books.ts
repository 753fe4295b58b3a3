// Our ledger and the provider's list, each as the test wants it, and what their comparison files. To import it is enough:
// the hooks are those of the file that does.
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import type { AnyOperation } from '../../lib/idempotency/operation'
import { providerKeyOf } from '../../lib/idempotency/record'
import { migrateJobs } from '../../lib/jobs/worker'
import { runOnce } from '../../lib/maintenance/daemon'
import { reaper } from '../../lib/maintenance/reaper'
import type { ProviderEntry } from '../../lib/payments/gateway'
import { ledgerComparison } from '../../lib/reconciliation/ledger-comparison'
import {
  type Bench,
  newKey,
  newRef,
  openBench,
  orderOf,
  type refused,
  type ScriptedGateway,
  scriptedGateway,
} from '../support/boundary'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
/** The bench's lease and settle window: where a window ends. */
export const WINDOW_END = 3 * MINUTE

export let bench: Bench
beforeAll(async () => {
  bench = await openBench()
  await migrateJobs(bench.url)
})
afterAll(() => bench.close())

export let gateway: ScriptedGateway
export let entries: ProviderEntry[]
export let asked: { from: Date; to: Date }[]
beforeEach(async () => {
  await bench.db.query(
    'TRUNCATE idempotency_records, orders, refunds, ledger_entries, evidence, discrepancies, schedules, runs, ledger_revisits CASCADE',
  )
  gateway = scriptedGateway()
  entries = []
  asked = []
  gateway.listCreated = async (window) => {
    asked.push(window)
    const items = entries.filter(({ createdAt }) => createdAt >= window.from && createdAt < window.to)
    return { items, next: null }
  }
})

export function operations(): Map<string, AnyOperation> {
  const all: AnyOperation[] = [bench.placeOrder(gateway), bench.refundOrder(gateway)]
  return new Map(all.map((operation) => [operation.endpoint, operation]))
}
export const comparison = () => ledgerComparison({ boundary: bench.boundary, operations: operations(), gateway })
export const compare = (options = {}) => runOnce(comparison(), options)

export const findings = () =>
  bench.rows<{ kind: string; subject: string; record_id: string | null; detail: Record<string, unknown> }>(
    'SELECT kind, subject, record_id, detail FROM discrepancies ORDER BY kind, subject',
  )
export const kinds = async () => (await findings()).map(({ kind, subject }) => [kind, subject])

export interface Booked {
  key: string
  id: string
  ref: string
  orderId: string
}

/** An order as its owner left it, and as if all of it had been so long ago. */
export async function order(agoMs: number, changes: { call?: () => ReturnType<typeof refused>; ref?: string } = {}) {
  const key = newKey()
  const ref = changes.ref ?? newRef()
  gateway.nextCall(changes.call ?? (() => ({ kind: 'succeeded', providerRef: ref })))
  await bench.place(gateway, orderOf(), { key })
  const { id, resource_id: orderId } = await bench.recordOf(key)
  await age(orderId, agoMs)
  return { key, id, ref, orderId } satisfies Booked
}

/** Past the triggers, which keep anybody from doing this. */
export async function age(orderId: string, bookedAgoMs: number, reservedAgoMs = bookedAgoMs): Promise<void> {
  const client = await bench.transaction()
  const ago = (ms: number) => `clock_timestamp() - ${ms} * interval '1 ms'`
  await client.query(`SET LOCAL session_replication_role = replica`)
  await client.query(`UPDATE ledger_entries SET created_at = ${ago(bookedAgoMs)} WHERE order_id = $1`, [orderId])
  await client.query(`UPDATE orders SET created_at = ${ago(reservedAgoMs)} WHERE id = $1`, [orderId])
  await client.query('COMMIT')
  client.release()
}

/** What the provider has, so long ago by its clock. */
export function entry(
  of: { id: string; ref: string },
  agoMs: number,
  changes: Partial<ProviderEntry> = {},
): ProviderEntry {
  const made: ProviderEntry = {
    ref: of.ref,
    providerKey: providerKeyOf(of.id),
    kind: 'charge',
    status: 'succeeded',
    amountCents: 2500,
    currency: 'USD',
    orderId: null,
    createdAt: new Date(Date.now() - agoMs),
    ...changes,
  }
  entries.push(made)
  return made
}

export async function remove(key: string): Promise<void> {
  await bench.endRetention(key)
  await runOnce(reaper(bench.store, { tombstoneHours: 1e-9, operations: new Map() }))
  expect(await bench.rows('SELECT 1 FROM idempotency_records WHERE key = $1', [key])).toEqual([])
}
