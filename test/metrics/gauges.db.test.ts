import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { STATES } from '../../lib/idempotency/states'
import { openExposition } from '../../lib/metrics/exposition'
import { readGauges } from '../../lib/metrics/gauges'
import { openMetrics } from '../../lib/metrics/metrics'
import { type Bench, barrier, connectionLost, openBench, tampered } from '../support/boundary'
import { recordIn } from '../support/rows'
import { parseText } from './prometheus-text'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
beforeEach(() => bench.db.query('TRUNCATE idempotency_records CASCADE'))
afterAll(() => bench.close())

/** An outcome that has been unknown for so long, as its own timeline has it. */
async function unknownFor(seconds: number, deadLettered = false): Promise<void> {
  const id = await recordIn(bench.db, 'unknown')
  await bench.db.query(
    `UPDATE idempotency_records SET
       settles_at = clock_timestamp() - $2 * interval '1 s',
       timeline = jsonb_build_array(
         jsonb_build_object('event', 'reserved', 'at', clock_timestamp() - interval '1 year'),
         jsonb_build_object('event', 'outcome_unknown', 'at', clock_timestamp() - $2 * interval '1 s'),
         jsonb_build_object('event', 'looked_up', 'at', clock_timestamp())),
       dead_lettered_at = CASE WHEN $3 THEN clock_timestamp() END, reconcile_after = CASE WHEN NOT $3 THEN clock_timestamp() END
     WHERE id = $1`,
    [id, seconds, deadLettered],
  )
}

describe('the metric gauges', () => {
  it('are all present and zero for an empty table', async () => {
    expect(await readGauges(bench.store)).toEqual({
      records: Object.fromEntries(STATES.map((state) => [state, { count: 0, estimated: false }])),
      oldestUnknownSeconds: 0,
      deadLetters: 0,
    })
  })

  it('count the records of every state in one statement', async () => {
    for (const [i, state] of STATES.entries()) for (let n = 0; n <= i; n++) await recordIn(bench.db, state)
    let records = {}
    const sent = await bench.sentBy(async () => {
      records = (await readGauges(bench.store)).records
    })
    expect(sent).toHaveLength(1)
    expect(records).toEqual(Object.fromEntries(STATES.map((state, i) => [state, { count: i + 1, estimated: false }])))
  })

  it('count dead letters among unknown and failed_retryable records', async () => {
    await unknownFor(10, true)
    await unknownFor(10, false)
    const retryable = await recordIn(bench.db, 'failed_retryable')
    await recordIn(bench.db, 'failed_retryable')
    await bench.db.query('UPDATE idempotency_records SET dead_lettered_at = clock_timestamp() WHERE id = $1', [
      retryable,
    ])
    expect((await readGauges(bench.store)).deadLetters).toBe(2)
  })

  it.each([
    ['a record due for lookup', false],
    ['a dead letter', true],
  ])('report the age of the oldest unknown outcome, which is %s', async (_, deadLettered) => {
    await unknownFor(30)
    await unknownFor(5000, deadLettered)
    await unknownFor(700, !deadLettered)
    const { oldestUnknownSeconds } = await readGauges(bench.store)
    expect(oldestUnknownSeconds).toBeGreaterThanOrEqual(5000)
    expect(oldestUnknownSeconds).toBeLessThan(5060)
  })

  it('estimate large numbers of finished records within 10 percent, without a scan of the whole table', {
    timeout: 30_000,
  }, async () => {
    await manyRecords({ completed: 30_000, expired: 24_000 })
    await unknownFor(60)
    await bench.db.query('VACUUM ANALYZE idempotency_records')
    const reads: string[] = []
    const store = tampered(bench.store, async (send, statement) => {
      const { rows } = await bench.db.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${statement.text}`, statement.values)
      visit(rows[0]['QUERY PLAN'][0].Plan)
      return send()
    })
    function visit(node: PlanNode): void {
      node.Plans?.forEach(visit)
      if (node['Relation Name'] !== 'idempotency_records') return
      const read = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      reads.push(`${node['Index Name'] ?? node['Node Type']} ${read}`)
      expect(read, JSON.stringify(node)).toBeLessThanOrEqual(20_000)
    }
    const { records } = await readGauges(store)
    expect(records.completed.estimated).toBe(true)
    expect(records.expired.estimated).toBe(true)
    expect(Math.abs(records.completed.count - 30_000)).toBeLessThan(3000)
    expect(Math.abs(records.expired.count - 24_000)).toBeLessThan(2400)
    expect(records.unknown).toEqual({ count: 1, estimated: false })
    // two finished states up to the limit, four open ones, the dead letters, and twice the oldest
    expect(reads).toHaveLength(9)
    expect(reads.filter((read) => read.startsWith('Seq Scan'))).toEqual([])
  })
})

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/** Rows as they would be after their moves, with the triggers that watch the moves asleep. */
async function manyRecords(counts: { completed: number; expired: number }): Promise<void> {
  const client = await bench.transaction()
  await client.query('SET LOCAL session_replication_role = replica')
  for (const [state, count] of Object.entries(counts))
    await client.query(
      `INSERT INTO idempotency_records (id, tenant_id, endpoint, key, fingerprint, state, async, attempt, external, request,
         request_id, response_status, response_headers, response_body, response_version, completed_at, retention_seconds,
         created_at, expires_at, expired_at, timeline)
       SELECT $1 || i, 'ten_rows', 'POST /api/orders', lpad($1 || i, 32, '0'), 'v1:' || repeat('0', 64), $1::record_state,
         false, 1, true, CASE WHEN completed THEN '{}' END, 'req_test', 201, CASE WHEN completed THEN '{}' END,
         CASE WHEN completed THEN '{}' END, CASE WHEN completed THEN 1 END, now(), 3600, now(), now(),
         CASE WHEN NOT completed THEN now() END, '[{"event": "test"}]'
       FROM generate_series(1, $2::int) i, (SELECT $1 = 'completed' AS completed) c`,
      [state, count],
    )
  await client.query('COMMIT')
  client.release()
}

describe('a metrics scrape', () => {
  const labels = { endpoint: 'POST /api/orders', tenantId: 'ten_a' }

  it('has the counters but no gauges while the database is unreachable', async () => {
    const away = tampered(bench.store, () => Promise.reject(connectionLost()))
    const metrics = openMetrics(away)
    metrics.storeFailed(labels)
    const families = parseText(await openExposition(metrics.registry, away).text())
    expect(families.get('api_idempotency_store_error_total')?.samples).toMatchObject([{ value: 1 }])
    expect([...families.keys()].filter((name) => /records|oldest|dead/.test(name))).toEqual([])
    await metrics.close()
  })

  it('does not wait for a slow database, and sends it no second query meanwhile', async () => {
    const slow = barrier()
    let asked = 0
    const store = tampered(bench.store, async (send) => {
      asked++
      await slow.pass()
      return send()
    })
    const metrics = openMetrics(bench.store)
    const exposition = openExposition(metrics.registry, store, { patienceMs: 20 })
    const texts = await Promise.all([exposition.text(), exposition.text(), exposition.text()])
    for (const text of texts) expect(parseText(text).has('api_idempotency_dead_letters')).toBe(false)
    expect(asked).toBe(1)
    slow.open()
    await expect.poll(async () => parseText(await exposition.text()).has('api_idempotency_dead_letters')).toBe(true)
    await metrics.close()
  })
})
