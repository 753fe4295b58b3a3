import sql from 'sql-template-tag'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Group } from '../../lib/maintenance/daemon'
import { wouldTouch } from '../../lib/maintenance/dry-run'
import { reaper } from '../../lib/maintenance/reaper'
import { findRunView } from '../../lib/maintenance/run-view'
import { startRun } from '../../lib/maintenance/runs'
import { sweeper } from '../../lib/maintenance/sweeper'
import { type Bench, openBench } from '../support/boundary'
import { type Columns, insertInto, move, pendingColumns } from '../support/rows'

let bench: Bench

beforeAll(async () => {
  bench = await openBench()
  await insertInto(bench.db, 'tenants', { id: 'ten_acme', name: 'acme' })
})
afterAll(() => bench?.close())
beforeEach(() => bench.rows('TRUNCATE idempotency_records, runs, run_items CASCADE'))

const OVER = { expires_at: `now() - interval '1 minute'` }

async function record(state: 'completed' | 'failed_retryable' | 'unknown' | 'in_progress', tenant = 'ten_acme') {
  const columns: Columns = { ...pendingColumns(), tenant_id: tenant }
  await insertInto(bench.db, 'idempotency_records', columns)
  await move(bench.db, columns.id as string, 'in_progress')
  if (state !== 'in_progress') await move(bench.db, columns.id as string, state, OVER)
  return columns.id as string
}

async function dryRunOf(daemon: ReturnType<typeof reaper>) {
  const request = { dryRun: true, scheduled: false, requestedBy: 'opr_1', reason: null }
  const { ended } = await startRun(bench.store, daemon, request)
  const { id } = await ended
  return (await findRunView(bench.store, id))!
}

describe('a dry run', () => {
  it('groups what would change by rule, state and tenant, and names what would be left alone', async () => {
    for (let i = 0; i < 3; i++) await record('completed')
    await record('completed', 'ten_gone')
    await record('failed_retryable')
    await record('unknown')
    const run = await dryRunOf(reaper(bench.store, { tombstoneHours: 1, operations: new Map() }))
    expect(run).toMatchObject({ done: 5, counts: { expired: 5 } })
    expect(run.groups).toEqual([
      {
        rule: 'expired',
        from: 'completed',
        to: 'expired',
        count: 4,
        tenants: [
          { id: 'ten_acme', name: 'acme', count: 3 },
          { id: 'ten_gone', name: 'ten_gone', count: 1 },
        ],
      },
      {
        rule: 'expired',
        from: 'failed_retryable',
        to: 'expired',
        count: 1,
        tenants: [{ id: 'ten_acme', name: 'acme', count: 1 }],
      },
      {
        rule: 'leftAlone',
        from: 'unknown',
        to: null,
        count: 1,
        tenants: [{ id: 'ten_acme', name: 'acme', count: 1 }],
      },
    ])
  })

  it('separates leases that ended before the provider call from those that ended after it', async () => {
    const [before, after] = [await record('in_progress'), await record('in_progress')]
    await bench.rows(`UPDATE idempotency_records SET locked_until = now() - interval '1 s', external = id = $1`, [
      after,
    ])
    const run = await dryRunOf(sweeper(bench.boundary, new Map()))
    expect(run.groups.map(({ rule, from, to, count }) => ({ rule, from, to, count }))).toEqual(
      expect.arrayContaining([
        { rule: 'leasesOver', from: 'in_progress', to: 'unknown', count: 1 },
        { rule: 'leasesOver', from: 'in_progress', to: 'failed_retryable', count: 1 },
      ]),
    )
    expect(run.sample).toEqual(expect.arrayContaining([before, after]))
  })

  it('only counts when there are too many records to inspect', async () => {
    const many = { query: async () => [{ count: 250_000 }] } as unknown as Bench['store']
    const groups: Group[] = []
    for await (const batch of wouldTouch(many, 'expired', sql`true`)) groups.push(...(batch.groups ?? []))
    expect(groups).toEqual([{ rule: 'expired', from: null, to: null, count: 250_000, tenants: [] }])
  })
})
