import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KeyRecord } from '../../lib/idempotency/record'
import { countReplays } from '../../lib/idempotency/store/count-replays'
import { openMetrics } from '../../lib/metrics/metrics'
import type { Labels } from '../../lib/metrics/names'
import { answerOf, type Bench, newKey, openBench, orderOf, scriptedGateway, storeOn, TENANT } from '../support/boundary'

const labels: Labels = { endpoint: 'POST /api/orders', tenantId: TENANT }

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

/** A key with its answer stored, and a request that gets it again. */
async function completed() {
  const key = newKey()
  const body = orderOf()
  const gateway = scriptedGateway()
  answerOf(await bench.place(gateway, body, { key }))
  return { key, replay: () => bench.place(gateway, body, { key }) }
}

const recordOf = async (key: string) => {
  const [row] = await bench.rows<{ replay_count: number; last_replayed_at: Date | null; version: number }>(
    'SELECT replay_count, last_replayed_at, version FROM idempotency_records WHERE key = $1',
    [key],
  )
  return row!
}

describe('replays', () => {
  it('are counted on their record by one UPDATE for a thousand replays', async () => {
    const metrics = openMetrics(bench.store)
    const { key, replay } = await completed()
    const before = await recordOf(key)
    const outcome = await replay()
    const sent = await bench.sentBy(async () => {
      for (let i = 0; i < 1000; i++) metrics.answered(labels, outcome, 0.001)
      await metrics.flush()
    })
    expect(sent.filter((text) => /\bUPDATE (SET|idempotency_records)\b/.test(text))).toHaveLength(2)
    const after = await recordOf(key)
    expect(after.replay_count).toBe(1000)
    expect(after.version).toBe(before.version)
    const [clock] = await bench.rows<{ now: Date }>('SELECT clock_timestamp() AS now')
    expect(clock!.now.getTime() - after.last_replayed_at!.getTime()).toBeLessThan(5000)
    await metrics.close()
  })

  it('add up over flushes and nodes', async () => {
    const nodes = [openMetrics(bench.store), openMetrics(bench.store)]
    const keys = await Promise.all(Array.from({ length: 20 }, completed))
    for (let round = 0; round < 10; round++) {
      for (const [i, node] of nodes.entries())
        for (const { replay } of i === 0 ? keys : keys.toReversed()) node.answered(labels, await replay(), 0.001)
      await Promise.all(nodes.map((node) => node.flush()))
    }
    for (const { key } of keys) expect((await recordOf(key)).replay_count).toBe(20)
    for (const node of nodes) await node.close()
  })

  it('of the same records are saved by two nodes without a deadlock', async () => {
    const ids = await Promise.all(
      Array.from({ length: 9 }, async () => (await bench.recordOf((await completed()).key)).id),
    )
    ids.sort()
    const holder = await bench.transaction()
    await holder.query('SELECT 1 FROM idempotency_records WHERE id = $1 FOR UPDATE', [ids[4]])
    // As in a large table: rows are looked up one by one, in the order in which they are given.
    const options = '-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c TimeZone=UTC'
    const pool = new pg.Pool({ connectionString: bench.url, application_name: 'bench', options })
    pool.on('error', () => {})
    const saving = [ids, ids.toReversed()].map((order) =>
      countReplays(
        bench.store,
        order.map((recordId) => ({ recordId, count: 1, ageMs: 0 })),
      ),
    )
    await bench.untilBlocked(2)
    await holder.query('COMMIT')
    holder.release()
    await Promise.all(saving)
    await pool.end()
    const rows = await bench.rows('SELECT DISTINCT replay_count FROM idempotency_records WHERE id = ANY($1)', [ids])
    expect(rows).toEqual([{ replay_count: 2 }])
  })

  it('update their record once per flush, however many there are', async () => {
    const { key } = await completed()
    const { id: recordId } = await bench.recordOf(key)
    const transaction = await bench.transaction()
    await countReplays(storeOn(transaction), [{ recordId, count: 3, ageMs: 0 }])
    const { rows } = await transaction.query(`
      SELECT pg_stat_get_xact_tuples_updated('idempotency_records'::regclass)::int AS updated`)
    await transaction.query('ROLLBACK')
    transaction.release()
    expect(rows).toEqual([{ updated: 1 }])
  })

  it('don’t include the first answer, which writes no count to the record', async () => {
    const metrics = openMetrics(bench.store)
    const key = newKey()
    metrics.answered(labels, await bench.place(scriptedGateway(), orderOf(), { key }), 0.001)
    const sent = await bench.sentBy(() => metrics.close())
    expect(sent).toHaveLength(1)
    expect(await recordOf(key)).toMatchObject({ replay_count: 0, last_replayed_at: null })
  })

  it('are counted in buckets of their delay since the first request', async () => {
    const metrics = openMetrics(bench.store)
    const { replay } = await completed()
    const outcome = await replay()
    if (outcome.kind !== 'answered' || !outcome.replayed) throw new Error('a replay was expected')
    const bucketsBefore = await delays()
    const bornBefore = (hours: number) => ({
      ...outcome.source,
      createdAt: new Date(outcome.source.createdAt.getTime() - hours * 3_600_000),
    })
    for (const hours of [0, 0, 2]) metrics.answered(labels, { ...outcome, source: bornBefore(hours) }, 0.001)
    // came too late, and so came for it all the same
    metrics.answered(labels, { kind: 'expired', record: bornBefore(200) as KeyRecord }, 0.001)
    await metrics.close()
    const after = await delays()
    const grown = Object.entries(after).map(([bucket, value]) => [bucket, value - (bucketsBefore[bucket] ?? 0)])
    expect(Object.fromEntries(grown.filter(([, value]) => value !== 0))).toEqual({ '1': 2, '21600': 1, '+Inf': 1 })
  })
})

async function delays(): Promise<Record<string, number>> {
  const rows = await bench.rows<{ bucket: string; value: number }>(
    `SELECT bucket, sum(value) AS value FROM metric_minutes WHERE metric = 'replay_delay' GROUP BY bucket`,
  )
  return Object.fromEntries(rows.map(({ bucket, value }) => [bucket, value]))
}
