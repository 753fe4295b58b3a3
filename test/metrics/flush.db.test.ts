import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Db, openStore, type Reads, type Store } from '../../lib/db/store'
import { startFlushing } from '../../lib/metrics/flush'
import { openMetrics } from '../../lib/metrics/metrics'
import { BUCKETS, bucketOf } from '../../lib/metrics/names'
import { nameOfNumber, type UnsavedNumber, unsavedNumbers, unsavedReplays } from '../../lib/metrics/unsaved'
import { type Bench, connectionLost, openBench, tampered } from '../support/boundary'

const ORDERS = 'POST /api/orders'
const created = (tenantId: string, endpoint = ORDERS) => ({ kind: 'created', endpoint, tenantId }) as const
const answered = { kind: 'answered', answer: { status: 201, headers: {}, body: '' }, expiresAt: new Date() } as const
const source = { id: 'idem_a', createdAt: new Date() }
const first = { ...answered, replayed: false, created: true, source } as const

let bench: Bench
let second: Store

beforeAll(async () => {
  bench = await openBench()
  second = openStore(bench.url, { max: 4, applicationName: 'bench' })
})
beforeEach(() => bench.db.query('TRUNCATE metric_minutes'))
afterAll(async () => {
  await second.close()
  await bench.close()
})

const minutes = () =>
  bench.rows<{ at: Date; metric: string; endpoint: string; tenant_id: string; bucket: string; value: number }>(
    'SELECT * FROM metric_minutes ORDER BY metric, tenant_id, endpoint, bucket, at',
  )
const total = async (metric: string) =>
  (await minutes()).filter((row) => row.metric === metric).reduce((sum, { value }) => sum + value, 0)

describe('a metrics flush', () => {
  it('writes all counts in one statement', async () => {
    const metrics = openMetrics(bench.store)
    for (let i = 0; i < 1000; i++) {
      metrics.observe(created(`ten_${i % 10}`))
      metrics.answered({ endpoint: ORDERS, tenantId: `ten_${i % 10}` }, first, i / 100)
    }
    const sent = await bench.sentBy(() => metrics.flush())
    expect(sent).toHaveLength(1)
    expect(await total('reserve_created')).toBe(1000)
    expect(await total('duration')).toBe(1000)
    await metrics.close()
  })

  it('sends nothing when nothing was counted', async () => {
    const metrics = openMetrics(bench.store)
    expect(await bench.sentBy(() => metrics.flush())).toEqual([])
    await metrics.close()
  })

  it('runs by itself within a few seconds', async () => {
    const metrics = openMetrics(bench.store)
    metrics.observe(created('ten_timer'))
    await expect.poll(() => total('reserve_created')).toBe(1)
    await metrics.close()
  })

  it('writes the replays of few records every two seconds, and those of many every ten', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'performance'] })
    const written: number[] = []
    const query: Reads['query'] = async ({ text, values }) => {
      if (text.includes('replay_count')) written.push((values[0] as unknown[]).length)
      return []
    }
    const store: Db = { query, transaction: (work) => work({ query, client: null as never }) }
    const replays = unsavedReplays(1000)
    const replayed = (records: number) => {
      for (let i = 0; i < records; i++) replays.add(`idem_${i}`, { recordId: `idem_${i}`, count: 1, lastMs: 0 })
    }
    const writtenAfter = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms)
      return written.splice(0)
    }
    const flushing = startFlushing(store, { numbers: unsavedNumbers(), replays, collect: () => {} })
    try {
      replayed(100)
      expect(await writtenAfter(2000)).toEqual([100])
      replayed(101)
      expect(await writtenAfter(9999)).toEqual([])
      expect(await writtenAfter(1)).toEqual([101])
      // before there are more than are kept
      replayed(500)
      expect(await writtenAfter(2000)).toEqual([500])
      // and whoever asks for it gets it at once
      replayed(200)
      await flushing.flush()
      expect(written).toEqual([200])
    } finally {
      await flushing.close()
      vi.useRealTimers()
    }
  })

  it('runs a last time when the node stops', async () => {
    const metrics = openMetrics(bench.store)
    metrics.storeFailed({ endpoint: ORDERS, tenantId: '' })
    await metrics.close()
    expect(await minutes()).toMatchObject([{ metric: 'store_error', tenant_id: '', endpoint: ORDERS, value: 1 }])
  })

  it('stores counts by the minute of the database clock, and histograms by bucket', async () => {
    const metrics = openMetrics(bench.store)
    const labels = { endpoint: ORDERS, tenantId: 'ten_a' }
    for (const seconds of [0.001, 0.0011, 61]) metrics.answered(labels, first, seconds)
    await metrics.close()
    const [clock] = await bench.rows<{ minute: Date }>(`SELECT date_trunc('minute', clock_timestamp()) AS minute`)
    const rows = await minutes()
    // the first answer to a key is an attempt, too
    expect(rows.map(({ metric, bucket, value }) => [metric, bucket, value])).toEqual(
      ['attempt', 'duration'].flatMap((metric) => [
        [metric, '+Inf', 1],
        [metric, '0.001', 1],
        [metric, '0.0025', 1],
      ]),
    )
    for (const { at } of rows) expect(clock!.minute.getTime() - at.getTime()).toBeOneOf([0, 60_000])
  })

  it('stores a delayed count under the minute in which it was counted, at most an hour back', async () => {
    const numbers = unsavedNumbers()
    const count = (metric: string, agoMs: number) => {
      const number = {
        metric,
        endpoint: ORDERS,
        tenantId: 't',
        bucket: '',
        value: 1,
        countedMs: performance.now() - agoMs,
      }
      numbers.add(nameOfNumber(number), number)
    }
    count('five_minutes', 5 * 60_000)
    count('five_minutes', 5 * 60_000 + 61_000)
    count('a_day', 86_400_000)
    await startFlushing(bench.store, { numbers, replays: unsavedReplays(), collect: () => {} }).close()
    const ages = await bench.rows<{ metric: string; minutes: number }>(
      `SELECT metric, round(extract(epoch FROM date_trunc('minute', clock_timestamp()) - at) / 60)::int AS minutes
       FROM metric_minutes ORDER BY metric, at`,
    )
    expect(ages.map(({ metric }) => metric)).toEqual(['a_day', 'five_minutes', 'five_minutes'])
    expect(ages[0]!.minutes).toBeOneOf([60, 61])
    expect(ages[1]!.minutes).toBeOneOf([6, 7])
    expect(ages[2]!.minutes).toBeOneOf([5, 6])
  })
})

describe('the metrics of two nodes', () => {
  it('add up in the same minute, whichever node flushes first', async () => {
    const nodes = [openMetrics(bench.store), openMetrics(second)]
    for (let round = 0; round < 20; round++) {
      for (const [i, node] of nodes.entries()) {
        // the same rows in opposite orders
        const tenants = Array.from({ length: 50 }, (_, tenant) => `ten_${i === 0 ? tenant : 49 - tenant}`)
        for (const tenantId of tenants) node.observe(created(tenantId))
      }
      await Promise.all(nodes.map((node) => node.flush()))
    }
    for (const node of nodes) await node.close()
    expect(await total('reserve_created')).toBe(2 * 20 * 50)
  })

  it('lose only the counts that a dead node had not flushed', async () => {
    const dying = openMetrics(bench.store)
    dying.observe(created('ten_a'))
    await dying.flush()
    dying.observe(created('ten_a'))
    const surviving = openMetrics(second)
    surviving.observe(created('ten_a'))
    await surviving.close()
    expect(await total('reserve_created')).toBe(2)
    await dying.close()
  })
})

describe('metrics with an unreachable store', () => {
  const awayFor = (failures: number) => {
    let left = failures
    return tampered(bench.store, (send) => (left-- > 0 ? Promise.reject(connectionLost()) : send()))
  }

  it('are written once when the store is back', async () => {
    const metrics = openMetrics(awayFor(2))
    metrics.observe(created('ten_a'))
    await metrics.flush()
    metrics.observe(created('ten_a'))
    await metrics.flush()
    expect(await total('reserve_created')).toBe(0)
    await metrics.flush()
    await metrics.flush()
    expect(await total('reserve_created')).toBe(2)
    await metrics.close()
  })

  it('use bounded memory: new counts that do not fit are dropped, earlier ones are kept', async () => {
    const numbers = unsavedNumbers(3)
    const add = (metric: string) => {
      const number: UnsavedNumber = { metric, endpoint: '', tenantId: '', bucket: '', value: 1, countedMs: 0 }
      numbers.add(nameOfNumber(number), number)
    }
    for (const metric of ['a', 'b', 'c', 'd', 'e', 'a']) add(metric)
    expect(numbers.size).toBe(3)
    expect(numbers.takeLost()).toBe(2)
    expect(numbers.takeLost()).toBe(0)
    const taken = numbers.take()
    expect(taken.map(([, { metric, value }]) => [metric, value])).toEqual([
      ['a', 2],
      ['b', 1],
      ['c', 1],
    ])
    add('z')
    numbers.putBack(taken)
    expect(numbers.size).toBe(3)
  })

  it('are not sent again after the store refused them, so that later counts are written', async () => {
    let refusals = 0
    const store = tampered(bench.store, (send) =>
      refusals++ === 0 ? Promise.reject(Object.assign(new Error('a bug'), { code: '22P02' })) : send(),
    )
    const metrics = openMetrics(store)
    metrics.observe(created('ten_a'))
    await metrics.flush()
    metrics.observe(created('ten_b'))
    await metrics.close()
    expect(await minutes()).toMatchObject([{ tenant_id: 'ten_b', value: 1 }])
  })
})

describe('the histogram bucket', () => {
  it.each([
    ['duration', 0, '0.001'],
    ['duration', 0.1, '0.1'],
    ['duration', 0.1000001, '0.25'],
    ['duration', 60, '60'],
    ['duration', 60.1, '+Inf'],
    ['attempt', 2, '2.5'],
    ['replay_delay', 0, '1'],
    ['replay_delay', 3600, '3600'],
    ['replay_delay', 3601, '21600'],
    ['replay_delay', 168 * 3600, '604800'],
    ['replay_delay', 168 * 3600 + 1, '+Inf'],
  ] as const)('of %s for %d is %s', (histogram, value, bucket) => {
    expect(BUCKETS[histogram][bucketOf(histogram, value)]).toBe(bucket)
  })
})
