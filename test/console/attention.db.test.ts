// What needs somebody: each concern counts what its own list shows, and is there with zero where all is quiet.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Attention, CONCERNS, readAttention } from '../../lib/console/attention'
import { KeyFilter, selectKeyIds } from '../../lib/console/keys-filter'
import { KEY_SORTS } from '../../lib/console/keys-order'
import { type Bench, openBench } from '../support/boundary'
import { move, recordIn } from '../support/rows'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
  await bench.db.query(
    `INSERT INTO tenants (id, name) VALUES ('ten_a', 'acme'), ('ten_b', 'other'), ('ten_rows', 'rows')`,
  )
})
beforeEach(() => bench.db.query('TRUNCATE metric_minutes, discrepancies, idempotency_records CASCADE'))
afterAll(() => bench.close())

const read = async () => new Map((await readAttention(bench.store)).map((one) => [one.concern, one]))
const misused = (tenant: string, minutesAgo: number, value: number) =>
  bench.db.query(
    `INSERT INTO metric_minutes VALUES (date_trunc('minute', clock_timestamp()) - $2 * interval '1 minute', 'reserve_key_misuse', 'e', $1, '', $3)`,
    [tenant, minutesAgo, value],
  )
const set = (id: string, assignments: string) =>
  bench.db.query(`UPDATE idempotency_records SET ${assignments} WHERE id = $1`, [id])

describe('the attention list of a quiet node', () => {
  it('has every concern, in order, with a count of zero', async () => {
    const all = await readAttention(bench.store)
    expect(all.map(({ concern }) => concern)).toEqual([...CONCERNS])
    for (const one of all) {
      expect(Attention.parse(one)).toEqual(one)
      expect(one.count).toBe(0)
    }
  })

  it('links to key lists with filters and sorts that those lists accept', async () => {
    for (const { rows } of await readAttention(bench.store)) {
      if (rows?.list !== 'keys') continue
      const { sort, ...filter } = Object.fromEntries(new URLSearchParams(rows.query))
      expect(KeyFilter.safeParse(filter).success).toBe(true)
      if (sort) expect(KEY_SORTS).toContain(sort)
    }
  })
})

describe('the attention list', () => {
  it('counts dead letters and unknown outcomes, with the age of the oldest unknown outcome', async () => {
    const unknown = await Promise.all([recordIn(bench.db, 'unknown'), recordIn(bench.db, 'unknown')])
    await recordIn(bench.db, 'completed')
    await set(unknown[0]!, 'dead_lettered_at = clock_timestamp()')
    await set(
      unknown[1]!,
      `timeline = timeline || jsonb_build_array(jsonb_build_object('event', 'outcome_unknown', 'at', clock_timestamp() - interval '10 minutes'))`,
    )
    const attention = await read()
    expect(attention.get('dead_letters')?.count).toBe(1)
    expect(await selectKeyIds(bench.store, { deadLettered: true }, 10)).toEqual([unknown[0]])
    expect(attention.get('oldest_unknown')?.count).toBe(2)
    expect(attention.get('oldest_unknown')?.oldestSeconds).toBeGreaterThanOrEqual(600)
  })

  it('counts leases that have run out, and not running ones', async () => {
    await recordIn(bench.db, 'in_progress')
    const over = await recordIn(bench.db, 'in_progress')
    await set(over, `locked_until = clock_timestamp() - interval '1 s'`)
    expect((await read()).get('expired_leases')?.count).toBe(1)
  })

  it('counts tenants whose key misuse is far above that of their own last day', async () => {
    for (let hour = 2; hour < 24; hour++) await misused('ten_a', hour * 60, 100)
    await misused('ten_a', 5, 120)
    await misused('ten_b', 5, 30)
    await misused('ten_b', 300, 24)
    await misused('ten_c', 5, 9)
    const spikes = (await read()).get('misuse_spikes')!
    expect(spikes.count).toBe(1)
    expect(spikes.tenants).toMatchObject([{ id: 'ten_b', name: 'other', count: 30, usual: 1 }])
    expect(spikes.tenants![0]!.rows.query).toMatch(/^tenant=ten_b&from=/)
  })

  it('counts keys with many replays in a short time, and not those whose replays have stopped', async () => {
    const storm = await recordIn(bench.db, 'completed')
    await set(storm, 'replay_count = 50, last_replayed_at = clock_timestamp()')
    const slow = await recordIn(bench.db, 'completed')
    await set(slow, `replay_count = 50, last_replayed_at = clock_timestamp() + interval '2 hours'`)
    const over = await recordIn(bench.db, 'completed')
    await set(over, `replay_count = 5000, last_replayed_at = clock_timestamp() - interval '11 minutes'`)
    const few = await recordIn(bench.db, 'completed')
    await set(few, 'replay_count = 19, last_replayed_at = clock_timestamp()')
    const storms = (await read()).get('replay_storms')!
    expect(storms).toMatchObject({ count: 1, keys: [{ id: storm, replayCount: 50 }] })
  })

  it('counts open discrepancies, and store errors of the last hour', async () => {
    await bench.db.query(`INSERT INTO discrepancies (id, kind, subject, detail, closed_at) VALUES
      ('dis_1', 'k', 'a', '{}', NULL), ('dis_2', 'k', 'b', '{}', now())`)
    await bench.db.query(`INSERT INTO metric_minutes VALUES
      (date_trunc('minute', clock_timestamp()), 'store_error', 'e', '', '', 4),
      (date_trunc('minute', clock_timestamp()) - interval '2 hours', 'store_error', 'e', '', '', 9)`)
    const attention = await read()
    expect(attention.get('open_discrepancies')).toMatchObject({ count: 1, rows: { query: 'state=open' } })
    expect(attention.get('store_errors')).toMatchObject({ count: 4, rows: null })
  })
})

describe('a dead-lettered key that is completed', () => {
  it('is no longer counted in the attention list', async () => {
    const id = await recordIn(bench.db, 'unknown')
    await set(id, 'dead_lettered_at = clock_timestamp()')
    await move(bench.db, id, 'completed', { dead_lettered_at: 'NULL' })
    const attention = await read()
    expect([attention.get('dead_letters')?.count, attention.get('oldest_unknown')?.count]).toEqual([0, 0])
  })
})
