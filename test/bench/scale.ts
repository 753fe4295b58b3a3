// Does it get slower with size? Ten thousand records against ten million, in two databases of one server, turn by turn:
// what a fresh order costs, what every page of the console costs, what the daemons cost for a key and for live traffic.
// Durability is on, except while the tables are filled. Prints a table, and exits non-zero where something is not met.
//
// --records 10000000: how many; --keep <folder>: leave the filled server there; --reuse <folder>: take it from there.
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { migrateJobs } from '../../lib/jobs/worker'
import { applyMigrations } from '../../scripts/migrations'
import { createDatabase } from '../../scripts/postgres-client'
import { type Cluster, openCluster } from '../../scripts/postgres-cluster'
import { endLeases, endRetention, reapedMsPerKey, reapUntil, sweepUntil, sweptMsPerKey } from './scale-daemons'
import { type Line, newSample, percentile, type Sample, tableOf } from './scale-figures'
import { fillScaled } from './scale-fill'
import { consoleReads, fillBesides } from './scale-reads'
import { openSubject, type Subject } from './scale-subject'

const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '10000000' },
    keep: { type: 'string' },
    reuse: { type: 'string' },
  },
})
const SMALL = 10_000
const LARGE = Number(options.records)
const ROUNDS = 7
const ORDERS_A_ROUND_MS = 3000
const READS = 9
const LIVE_MS = 6000
const LIVE_ROUNDS = 3
const LEASES = 10_000

const root = path.resolve(import.meta.dirname, '..', '..')
const RUNNING = { shared_buffers: '2GB', max_wal_size: '4GB', max_connections: 100 }
const FILLING = {
  ...RUNNING,
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  maintenance_work_mem: '1GB',
  autovacuum: 'off',
}

type Size = keyof Sample
type Subjects = Record<Size, Subject>
const SIZES: readonly Size[] = ['small', 'large']

const folder = options.reuse ?? options.keep ?? (await mkdtemp(path.join(os.tmpdir(), 'onceover-scale-')))
let cluster: Cluster | undefined
try {
  const names = { small: `records_${SMALL}`, large: `records_${LARGE}` }
  if (!options.reuse || !existsSync(folder)) await fill(names)
  cluster = await openCluster(folder, RUNNING)
  for (const size of SIZES) {
    await applyMigrations(root, cluster.urlOf(names[size]))
    await migrateJobs(cluster.urlOf(names[size]))
  }
  const subjects: Subjects = {
    small: openSubject(cluster.urlOf(names.small)),
    large: openSubject(cluster.urlOf(names.large)),
  }
  for (const size of SIZES) await subjects[size].warm()
  const lines = [await ordersOf(subjects), ...(await readsOf(subjects)), ...(await daemonsOf(subjects))]
  const [table, unmet] = tableOf(lines, { small: SMALL, large: LARGE })
  console.log(`\n${table}`)
  for (const what of unmet) console.error(`not met: ${what}`)
  process.exitCode = unmet.length === 0 ? 0 : 1
  for (const size of SIZES) await subjects[size].close()
} finally {
  await cluster?.stop()
  if (!options.keep && !options.reuse) await rm(folder, { recursive: true, force: true })
}

async function fill(names: Record<Size, string>): Promise<void> {
  const server = await openCluster(folder, FILLING)
  try {
    for (const [size, count] of [
      ['small', SMALL],
      ['large', LARGE],
    ] as const) {
      const startedAt = performance.now()
      await createDatabase(server.urlOf('postgres'), names[size])
      await applyMigrations(root, server.urlOf(names[size]))
      await fillScaled(server.urlOf(names[size]), count, LARGE)
      const subject = openSubject(server.urlOf(names[size]))
      await fillBesides(subject.db, count)
      await subject.close()
      console.log(`filled ${count} records in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
    }
  } finally {
    await server.stop()
  }
}

/** Turn by turn, and in each round the other one first: whatever disturbs the machine disturbs both. */
async function alternating(rounds: number, measure: (size: Size) => Promise<number>): Promise<Sample> {
  const sample = newSample()
  for (let round = 0; round < rounds; round++)
    for (const size of round % 2 ? SIZES : SIZES.toReversed()) sample[size].push(await measure(size))
  return sample
}

function lasting(ms: number): () => boolean {
  const until = performance.now() + ms
  return () => performance.now() >= until
}

async function ordersOf(subjects: Subjects): Promise<Line> {
  const measure = async (size: Size) => {
    const took = await subjects[size].orders(lasting(ORDERS_A_ROUND_MS))
    return ORDERS_A_ROUND_MS / took.length
  }
  await alternating(1, measure)
  return { what: 'a fresh order', unit: 'ms', sample: await alternating(ROUNDS, measure), ratio: 1.25 }
}

async function readsOf(subjects: Subjects): Promise<Line[]> {
  const [small, large] = [await consoleReads(subjects.small.db), await consoleReads(subjects.large.db)]
  const lines: Line[] = []
  for (const [n, { what, isSummary }] of small.entries()) {
    const measure = async (size: Size) => {
      const startedAt = performance.now()
      await (size === 'small' ? small : large)[n]!.read(subjects[size].reading)
      return performance.now() - startedAt
    }
    await alternating(1, measure)
    lines.push({
      what,
      unit: 'ms',
      sample: await alternating(READS, measure),
      limit: 300,
      ...(isSummary ? {} : { ratio: 2 }),
    })
  }
  return lines
}

async function daemonsOf(subjects: Subjects): Promise<Line[]> {
  const perKey = async (what: string, cost: (subject: Subject) => Promise<number>): Promise<Line> => {
    const measure = (size: Size) => cost(subjects[size])
    await alternating(1, measure)
    return { what, unit: 'ms', sample: await alternating(ROUNDS, measure), ratio: 1.25 }
  }
  const { large } = subjects
  return [
    await perKey('reaper, a key', reapedMsPerKey),
    await perKey('sweeper, a key', sweptMsPerKey),
    await live('p99 of a fresh order while the reaper runs, against quiet', large, reapUntil, () =>
      endRetention(large.db, LEASES),
    ),
    await live('p99 of a fresh order while the sweeper runs, against quiet', large, sweepUntil, () =>
      endLeases(large.db, LEASES),
    ),
  ]
}

/** Both columns are of the large database: quiet, and while the daemon runs. */
async function live(
  what: string,
  subject: Subject,
  daemon: (subject: Subject, over: () => boolean) => Promise<number>,
  seed: () => Promise<void>,
): Promise<Line> {
  const sample = newSample()
  for (let round = 0; round < LIVE_ROUNDS; round++) {
    sample.small.push(percentile(await subject.orders(lasting(LIVE_MS)), 0.99))
    await seed()
    const until = lasting(LIVE_MS)
    let over = false
    const running = daemon(subject, until).finally(() => {
      over = true
    })
    const took = await subject.orders(() => over)
    await running
    sample.large.push(percentile(took, 0.99))
  }
  return { what, unit: 'ms', sample, ratio: 2 }
}
