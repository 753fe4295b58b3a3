// What operators see at a million records: the time of every list, filter, sort, search and page, and of what else a page
// of the console asks, with the indexes that answer it. Exits non-zero where a big table is read as a whole, or where
// something takes longer than anybody should wait.
import pg from 'pg'
import { readAttention } from '../../lib/console/attention'
import { findKeyDetail } from '../../lib/console/key-detail'
import { listStatement } from '../../lib/console/list-keys'
import { readStats } from '../../lib/console/stats'
import { WINDOWS } from '../../lib/console/window'
import { openStore } from '../../lib/db/store'
import { indexesOf, listShapes, nodesOf, type PlanNode, seqScansOf } from '../console/list-shapes'
import { fillRecords, TENANTS } from '../console/many-records'
import { startMigratedPostgres } from '../support/postgres'

const RECORDS = Number(process.argv[2] ?? 1_000_000)
const RUNS = 5
const LIMIT_MS = 300
/** Charts are streamed in: the page is there before them. */
const CHARTS_LIMIT_MS = 1000

const [server, url] = await startMigratedPostgres({ fsync: 'off', full_page_writes: 'off', max_wal_size: '4GB' })
const db = new pg.Pool({ connectionString: url, max: 2 })
const store = openStore(url, { max: 4, applicationName: 'bench' })
const failures: string[] = []
try {
  console.log(`filling ${RECORDS} records…`)
  await fillRecords(db, RECORDS)
  await fillNumbers()
  console.log('\n| what | ms | answered from |\n|---|---|---|')
  for (const { name, filter, page } of await listShapes(db)) {
    const statement = listStatement(filter, page)
    const ms = await median(() => store.query(statement))
    const { rows } = await db.query(`EXPLAIN (FORMAT JSON) ${statement.text}`, statement.values as unknown[])
    const plan: PlanNode = rows[0]['QUERY PLAN'][0].Plan
    const whole = seqScansOf(plan)
    if (whole.length > 0) failures.push(`${name}: reads ${whole.join(', ')} as a whole`)
    report(name, ms, answeredFrom(plan))
  }
  const { rows } = await db.query<{ id: string }>('SELECT record_id AS id FROM refunds ORDER BY id DESC LIMIT 1')
  report('one key', await median(() => findKeyDetail(store, rows[0]!.id)), 'its id')
  report('what needs attention', await median(() => readAttention(store)), 'partial indexes, minutes')
  const settings = { leaseSeconds: 60, gatewayTimeLimitSeconds: 10, retentionSeconds: 86_400 }
  for (const window of WINDOWS)
    report(
      `the numbers of ${window}`,
      await median(() => readStats(store, settings, { window })),
      'minutes, hours',
      CHARTS_LIMIT_MS,
    )
  for (const failure of failures) console.error(failure)
  process.exitCode = failures.length === 0 ? 0 : 1
} finally {
  await store.close()
  await db.end()
  await server.remove()
}

/** Every tenant and endpoint, with five counters and five buckets each, for two days of minutes and forty of hours. */
async function fillNumbers(): Promise<void> {
  for (const [table, step, span] of [
    ['metric_minutes', '1 minute', '2 days'],
    ['metric_hours', '1 hour', '40 days'],
  ])
    await db.query(`
      INSERT INTO ${table} (at, metric, endpoint, tenant_id, bucket, value)
      SELECT at, m.metric, e.endpoint, 'ten_' || lpad(t::text, 2, '0'), m.bucket, 3
      FROM generate_series(date_trunc('hour', now()) - interval '${span}', now(), interval '${step}') at,
        generate_series(0, ${TENANTS - 1}) t, unnest(ARRAY['POST /api/orders', 'POST /api/orders/{id}/refunds']) e (endpoint),
        (VALUES ('reserve_created', ''), ('reserve_replay', ''), ('reserve_in_progress', ''), ('duration', '0.025'),
          ('duration', '0.1'), ('duration', '0.25'), ('attempt', '0.1'), ('attempt', '0.25'), ('replay_delay', '1'),
          ('replay_delay', '60')) m (metric, bucket)`)
  await db.query('VACUUM (ANALYZE) metric_minutes, metric_hours')
}

async function median(read: () => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const startedAt = performance.now()
    await read()
    took.push(performance.now() - startedAt)
  }
  return took.sort((a, b) => a - b)[Math.floor(RUNS / 2)]!
}

/** The ways in: the primary key, by which every page's rows are then fetched, only where it is the way. */
function answeredFrom(plan: PlanNode): string {
  const ways = indexesOf(plan).filter((index) => index !== 'idempotency_records_pkey')
  const sorts = nodesOf(plan).filter((node) => node['Node Type'].endsWith('Sort')).length
  return `${ways.join(', ') || 'idempotency_records_pkey'}${sorts > 0 ? '; sorted' : ''}`
}

function report(what: string, ms: number, from: string, limitMs = LIMIT_MS): void {
  if (ms > limitMs) failures.push(`${what}: ${ms.toFixed(0)} ms, more than ${limitMs}`)
  console.log(`| ${what} | ${ms.toFixed(1)} | ${from} |`)
}
