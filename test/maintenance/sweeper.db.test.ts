import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AnyOperation } from '../../lib/idempotency/operation'
import { enqueueAccepted } from '../../lib/jobs/enqueue'
import { runAcceptedJob } from '../../lib/jobs/run-accepted'
import { migrateJobs } from '../../lib/jobs/worker'
import { runOnce } from '../../lib/maintenance/daemon'
import { sweeper } from '../../lib/maintenance/sweeper'
import {
  barrier,
  newKey,
  openBench,
  orderOf,
  type ScriptedGateway,
  scriptedGateway,
  timedOut,
} from '../support/boundary'

let bench: Awaited<ReturnType<typeof openBench>>
let gateway: ScriptedGateway
let operations: Map<string, AnyOperation>

beforeAll(async () => {
  bench = await openBench({ leaseMs: 60_000 })
  await migrateJobs(bench.url)
})
afterAll(() => bench?.close())
beforeEach(async () => {
  await bench.rows('TRUNCATE idempotency_records, orders, refunds, ledger_entries, evidence CASCADE')
  await bench.rows('DELETE FROM graphile_worker._private_jobs')
  gateway = scriptedGateway()
  operations = new Map([['POST /api/orders', bench.placeOrder(gateway) as AnyOperation]])
})

const sweep = (boundary = bench.boundary) => sweeper(boundary, operations)

/** Orders whose owner hangs in the provider's call, with their leases over. */
async function stuck(count: number): Promise<{ keys: string[]; letGo(): Promise<void> }> {
  const hang = barrier()
  const keys = Array.from({ length: count }, newKey)
  gateway.nextCall(...keys.map(() => () => hang.pass().then(timedOut)))
  const owners = keys.map((key) => bench.place(gateway, orderOf(), { key }))
  await expect.poll(() => gateway.calls.length).toBe(count)
  for (const key of keys) await bench.endLease(key)
  return {
    keys,
    async letGo() {
      hang.open()
      await Promise.all(owners)
    },
  }
}

const accept = (key: string) => bench.place(gateway, orderOf(), { key, acceptedAs: enqueueAccepted })

describe('the sweeper', () => {
  it('moves records with expired leases that may have called the provider to unknown, and leaves live leases alone', async () => {
    const { keys, letGo } = await stuck(3)
    const live = barrier()
    gateway.nextCall(() => live.pass().then(timedOut))
    const liveKey = newKey()
    const owner = bench.place(gateway, orderOf(), { key: liveKey })
    await live.reached

    expect(await runOnce(sweep())).toEqual({ leasesOver: 3, unknown: 3, failedRetryable: 0 })
    for (const key of keys) {
      const record = await bench.recordOf(key)
      expect(record).toMatchObject({ state: 'unknown', last_error_code: 'lease_over', locked_until: null })
      expect(record.reconcile_after).not.toBeNull()
      expect(record.timeline.at(-1)).toMatchObject({ event: 'lease_over', by: 'sweeper' })
    }
    expect((await bench.recordOf(liveKey)).state).toBe('in_progress')
    live.open()
    await Promise.all([owner, letGo()])
  })

  it('counts in a dry run what the next run moves, and changes nothing', async () => {
    const { keys, letGo } = await stuck(2)
    const before = await bench.rows('SELECT * FROM idempotency_records ORDER BY id')
    expect(await runOnce(sweep(), { dryRun: true })).toEqual({ leasesOver: 2 })
    expect(await bench.rows('SELECT * FROM idempotency_records ORDER BY id')).toEqual(before)
    expect((await runOnce(sweep())).leasesOver).toBe(keys.length)
    expect(await runOnce(sweep(), { dryRun: true })).toEqual({})
    await letGo()
  })

  it('handles each key once when two nodes sweep at the same time', async () => {
    const { letGo } = await stuck(20)
    const [first, second] = await Promise.all([runOnce(sweep()), runOnce(sweep(bench.otherNode()))])
    expect((first.leasesOver ?? 0) + (second.leasesOver ?? 0)).toBe(20)
    const events = await bench.rows<{ count: string }>(
      `SELECT count(*) FROM idempotency_records, jsonb_array_elements(timeline) e WHERE e->>'event' = 'lease_over'`,
    )
    expect(Number(events[0]!.count)).toBe(20)
    await letGo()
  })

  it('settles a record at once when evidence of its charge arrived before its lease ended', async () => {
    const { keys, letGo } = await stuck(1)
    const record = await bench.recordOf(keys[0]!)
    await bench.rows(
      `WITH e AS (INSERT INTO evidence (id, record_id, source, source_id, attempt, verdict, detail)
         VALUES ('evd_1', $1, 'webhook', 'evt_1', 1, 'succeeded', '{"ref":"ch_seen"}'))
       UPDATE idempotency_records SET effect_evidence = true, version = version + 1 WHERE id = $1`,
      [record.id],
    )
    await runOnce(sweep())
    expect(await bench.recordOf(keys[0]!)).toMatchObject({
      state: 'completed',
      response_status: 201,
      effect_ref: 'ch_seen',
    })
    await letGo()
  })

  it('ends an accepted request that no worker started in time with a stored 408 and an abandoned order', async () => {
    const key = newKey()
    await accept(key)
    await bench.endRetention(key)
    expect(await runOnce(sweep(), { dryRun: true })).toEqual({ abandoned: 1 })
    expect(await runOnce(sweep())).toEqual({ abandoned: 1 })
    const record = await bench.recordOf(key)
    expect(record).toMatchObject({ state: 'completed', response_status: 408 })
    expect(await bench.rows('SELECT status FROM orders')).toEqual([{ status: 'abandoned' }])
    expect(gateway.calls).toHaveLength(0)
  })

  it('enqueues a new job for an accepted request whose job was lost with its worker', async () => {
    const key = newKey()
    await accept(key)
    const { id } = await bench.recordOf(key)
    // As long ago as a lease lasts, and a worker that has held the job since.
    await bench.rows(
      `UPDATE graphile_worker._private_jobs SET locked_at = now() - interval '2 minutes', locked_by = 'dead'`,
    )
    expect(await runOnce(sweep())).toEqual({})
    await bench.rows('ALTER TABLE idempotency_records DISABLE TRIGGER records_identity')
    await bench.rows(`UPDATE idempotency_records SET created_at = created_at - interval '2 minutes' WHERE id = $1`, [
      id,
    ])
    await bench.rows('ALTER TABLE idempotency_records ENABLE TRIGGER records_identity')
    expect(await runOnce(sweep())).toEqual({ requeued: 1 })
    expect(await runOnce(sweep())).toEqual({})
    await runAcceptedJob(bench.boundary, operations, id)
    expect((await bench.recordOf(key)).state).toBe('completed')
    expect(gateway.calls).toHaveLength(1)
  })
})
