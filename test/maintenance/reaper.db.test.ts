import sql from 'sql-template-tag'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Boundary } from '../../lib/idempotency/boundary'
import type { AnyOperation } from '../../lib/idempotency/operation'
import { runOnce } from '../../lib/maintenance/daemon'
import { RUN_OUT, reaper, stoodFor } from '../../lib/maintenance/reaper'
import { barrier, newKey, openBench, orderOf, refused, scriptedGateway, timedOut } from '../support/boundary'

let bench: Awaited<ReturnType<typeof openBench>>
const gateway = scriptedGateway()
const operations = () => {
  const all: AnyOperation[] = [bench.placeOrder(gateway), bench.refundOrder(gateway)]
  return new Map(all.map((operation) => [operation.endpoint, operation]))
}

beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(async () => {
  await bench.rows('TRUNCATE idempotency_records, orders, refunds, ledger_entries, evidence CASCADE')
})

const reap = () => reaper(bench.store, { tombstoneHours: 1, operations: operations() })

async function finished(script?: Parameters<typeof gateway.nextCall>[0]): Promise<string> {
  const key = newKey()
  if (script) gateway.nextCall(script)
  await bench.place(gateway, orderOf(), { key })
  return key
}

async function standLong(): Promise<void> {
  await bench.rows(`UPDATE idempotency_records SET expired_at = now() - interval '2 hours' WHERE state = 'expired'`)
}

describe('the reaper', () => {
  it('turns keys past their retention into tombstones that hold neither request nor answer', async () => {
    const completed = await finished()
    const retryable = await finished(refused)
    const young = await finished()
    for (const key of [completed, retryable]) await bench.endRetention(key)

    expect(await runOnce(reap(), { dryRun: true })).toEqual({ expired: 2 })
    expect(await runOnce(reap())).toEqual({ expired: 2 })
    expect(await bench.recordOf(completed)).toMatchObject({
      state: 'expired',
      request: null,
      response_body: null,
      response_headers: null,
      response_status: 201,
    })
    expect((await bench.recordOf(completed)).resource_id).toMatch(/^ord_/)
    expect((await bench.recordOf(retryable)).state).toBe('expired')
    expect((await bench.recordOf(young)).state).toBe('completed')
  })

  it('abandons the order of a key that expires as failed_retryable, and no other, in the same transaction', async () => {
    const statusOf = async (key: string) => {
      const { id } = await bench.recordOf(key)
      const [order] = await bench.rows<{ status: string }>('SELECT status FROM orders WHERE record_id = $1', [id])
      return order!.status
    }
    const [paid, unpaid, young] = [await finished(), await finished(refused), await finished(refused)]
    for (const key of [paid, unpaid]) await bench.endRetention(key)
    const sent = await bench.sentBy(() => runOnce(reap()))
    const first = sent.slice(0, sent.indexOf('COMMIT')).join('\n')
    expect(first).toContain("state = 'expired'")
    expect(first).toContain("UPDATE orders SET status = 'abandoned'")
    expect(await Promise.all([paid, unpaid, young].map(statusOf))).toEqual(['paid', 'abandoned', 'pending_payment'])
  })

  it('abandons the refund of a key that expires as failed_retryable, and holds nothing of its order', async () => {
    const orderId = await bench.paidOrder(1000)
    const key = newKey()
    gateway.nextCall(refused)
    await bench.refund(gateway, orderId, { amountCents: 400 }, { key })
    await bench.endRetention(key)
    await runOnce(reap())
    const refunds = await bench.rows('SELECT status FROM refunds WHERE order_id = $1', [orderId])
    expect(refunds).toEqual([{ status: 'abandoned' }])
    const orders = await bench.rows('SELECT status, held_cents, refunded_cents FROM orders WHERE id = $1', [orderId])
    expect(orders).toEqual([{ status: 'paid', held_cents: '0', refunded_cents: '0' }])
  })

  it('never expires a key that is unknown or in progress, however old', async () => {
    const unknown = await finished(timedOut)
    const hang = barrier()
    gateway.nextCall(() => hang.pass().then(timedOut))
    const running = newKey()
    const owner = bench.place(gateway, orderOf(), { key: running })
    await hang.reached
    for (const key of [unknown, running]) await bench.endRetention(key)
    expect(await runOnce(reap())).toEqual({})
    expect((await bench.recordOf(unknown)).state).toBe('unknown')
    expect((await bench.recordOf(running)).state).toBe('in_progress')
    hang.open()
    await owner
  })

  it('does not expire a retryable key with evidence of a charge', async () => {
    const key = await finished(refused)
    await bench.rows('UPDATE idempotency_records SET effect_evidence = true WHERE key = $1', [key])
    await bench.endRetention(key)
    expect(await runOnce(reap())).toEqual({})
  })

  it('deletes tombstones after their time, and keeps orders and ledger', async () => {
    const key = await finished()
    await bench.endRetention(key)
    await runOnce(reap())
    expect(await runOnce(reap())).toEqual({})
    await standLong()
    expect(await runOnce(reap(), { dryRun: true })).toEqual({ deleted: 1 })
    expect(await runOnce(reap())).toEqual({ deleted: 1 })
    expect(await bench.rows('SELECT 1 FROM idempotency_records')).toEqual([])
    const record_id = expect.stringMatching(/^idem_/)
    expect(await bench.rows('SELECT record_id, status FROM orders')).toEqual([{ record_id, status: 'paid' }])
    expect(await bench.rows('SELECT record_id FROM ledger_entries')).toEqual([{ record_id }])
  })

  it('deletes each tombstone once when two reapers run concurrently, and reports how many', async () => {
    await bench.rows(
      `INSERT INTO idempotency_records (id, tenant_id, endpoint, key, fingerprint, state, async, attempt, external,
         request, request_id, retention_seconds, created_at, expires_at, timeline)
       SELECT 'idem_' || n, 'ten_bench', 'POST /api/orders', 'key-0000000000-' || n, 'v1:' || repeat('0', 64), 'pending',
         true, 0, false, '{}', 'req', 60, now(), now(), '[{}]' FROM generate_series(1, 1200) n`,
    )
    await bench.rows('ALTER TABLE idempotency_records DISABLE TRIGGER records_move')
    await bench.rows(
      `UPDATE idempotency_records SET state = 'expired', request = NULL, expired_at = now() - interval '2 hours'`,
    )
    await bench.rows('ALTER TABLE idempotency_records ENABLE TRIGGER records_move')
    const told: number[] = []
    const observe: Boundary['observe'] = (event) => event.kind === 'moved' && told.push(event.count ?? 1)
    const daemon = reaper(bench.store, { tombstoneHours: 1, operations: operations(), observe })
    const counts = await Promise.all([runOnce(daemon), runOnce(daemon)])
    expect(counts.reduce((sum, { deleted = 0 }) => sum + deleted, 0)).toBe(1200)
    expect(told.reduce((sum, count) => sum + count, 0)).toBe(1200)
  })

  it('lowers a tenant’s count of live keys by what it expires', async () => {
    const key = await finished()
    await bench.rows(
      `INSERT INTO tenant_live_keys VALUES ('ten_bench', 5) ON CONFLICT (tenant_id) DO UPDATE SET count = 5`,
    )
    await bench.endRetention(key)
    // Only its first batch: the recount at the run's end would correct the made-up count.
    for await (const batch of reap().batches({ dryRun: false })) {
      expect(batch.counts).toEqual({ expired: 1 })
      break
    }
    expect(await bench.rows('SELECT count FROM tenant_live_keys')).toEqual([{ count: '4' }])
  })

  it('finds due keys and due tombstones by their own indexes', async () => {
    for (const [index, predicate, order] of [
      ['records_to_expire', RUN_OUT, sql`r.expires_at`],
      ['records_tombstones', stoodFor(1), sql`r.expired_at`],
    ] as const) {
      const due = sql`EXPLAIN SELECT r.id FROM idempotency_records r WHERE ${predicate} ORDER BY ${order} LIMIT 500 FOR UPDATE SKIP LOCKED`
      const client = await bench.transaction()
      try {
        // an empty table is read as a whole, whatever indexes it has
        await client.query('SET LOCAL enable_seqscan = off')
        const plan = await client.query(due)
        expect(plan.rows.map((row) => row['QUERY PLAN']).join('\n')).toContain(index)
      } finally {
        await client.query('ROLLBACK')
        client.release()
      }
    }
  })
})
