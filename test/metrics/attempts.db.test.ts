import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Outcome } from '../../lib/idempotency/run'
import { openMetrics } from '../../lib/metrics/metrics'
import {
  answerOf,
  type Bench,
  newKey,
  openBench,
  orderOf,
  refused,
  scriptedGateway,
  timedOut,
} from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

async function attemptsIn(outcome: Outcome): Promise<number> {
  const tenantId = `ten_${newKey()}`
  const metrics = openMetrics(bench.store)
  metrics.answered({ endpoint: 'POST /api/orders', tenantId }, outcome, 0.02)
  await metrics.close()
  const rows = await bench.rows<{ bucket: string; value: number }>(
    `SELECT bucket, value FROM metric_minutes WHERE metric = 'attempt' AND tenant_id = $1`,
    [tenantId],
  )
  for (const { bucket } of rows) expect(bucket).toBe('0.025')
  return rows.reduce((sum, { value }) => sum + value, 0)
}

it('a request that reserves or claims its key counts as one attempt, however it ends', async () => {
  const gateway = scriptedGateway()
  const key = newKey()
  const body = orderOf()
  gateway.nextCall(refused)
  const failed = await bench.place(gateway, body, { key })
  expect(failed.kind).toBe('not_executed')
  expect(await attemptsIn(failed)).toBe(1)
  const claimed = await bench.place(gateway, body, { key })
  expect(answerOf(claimed).status).toBe(201)
  expect(await attemptsIn(claimed)).toBe(1)
  gateway.nextCall(timedOut)
  expect(await attemptsIn(await bench.place(gateway, orderOf()))).toBe(1)
})

it('a replay, a reuse, a 202 acceptance, an expired key and an unknown outcome count as no attempt', async () => {
  const gateway = scriptedGateway()
  const key = newKey()
  const body = orderOf()
  await bench.place(gateway, body, { key })
  expect(await attemptsIn(await bench.place(gateway, body, { key }))).toBe(0)
  expect(await attemptsIn(await bench.place(gateway, orderOf(), { key }))).toBe(0)
  expect(await attemptsIn(await bench.place(gateway, orderOf(), { acceptedAs: async () => {} }))).toBe(0)
  await bench.endRetention(key)
  expect(await attemptsIn(await bench.place(gateway, body, { key }))).toBe(0)
  gateway.nextCall(timedOut)
  const lost = { key: newKey(), body: orderOf() }
  await bench.place(gateway, lost.body, { key: lost.key })
  expect(await attemptsIn(await bench.place(gateway, lost.body, { key: lost.key }))).toBe(0)
})
