// The long run: three nodes of the build for use on a database that keeps what it has committed, a steady load of all
// that clients and operators do, something broken every few seconds, and a provider that ignores idempotency keys. It
// ends with a table of numbers, and with 1 if anybody was charged twice, if anything was lost, contradicted or stuck.
//   npm run soak -- --minutes 10 --rate 40 --seed 1
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openFleet } from '../support/fleet'
import { type Books, openBooks } from './books'
import { startFaults } from './faults'
import { openGauge, residentMemory } from './gauges'
import { type Checked, type Journal, openJournal } from './journal'
import { openRandom } from './random'
import { percentile, table, violations } from './report'
import { startTraffic } from './traffic'

const LEASE_S = 6
const SETTLE_S = 4
const INTERVAL_S = 2
const ENV = {
  // nodes as `npm start` serves them, whose attempts can't be held
  NODE_ENV: 'production',
  SANDBOX_IDEMPOTENT: 'false',
  GATEWAY_TIMEOUT_MS: '2000',
  LEASE_SECONDS: String(LEASE_S),
  SETTLE_SECONDS: String(SETTLE_S),
  SWEEP_INTERVAL_SECONDS: String(INTERVAL_S),
  RECONCILE_INTERVAL_SECONDS: String(INTERVAL_S),
  REAP_INTERVAL_SECONDS: '10',
  LEDGER_INTERVAL_SECONDS: '60',
  // so that keys also come to the end of their time within a run
  KEY_TTL_HOURS: '0.05',
  TOMBSTONE_HOURS: '0.02',
  LOG_LEVEL: 'fatal',
}
const NODES = 3
const SAMPLE_MS = 5000
const REPORT_MS = 30_000
const WARM_UP_MS = 60_000
/** Past the last fault: the time that the service names, three turns of its daemons, and a slow machine. */
const LAST_MS = (LEASE_S + SETTLE_S + 3 * INTERVAL_S + 30) * 1000

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '40' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const positive = (name: keyof typeof values): number => {
  const number = Number(values[name])
  if (number > 0) return number
  console.error(`--${name} must be a number above 0`)
  process.exit(2)
}
const [minutes, rate, seed] = [positive('minutes'), positive('rate'), positive('seed')]

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())

console.log(`${minutes} min at ${rate}/s on ${NODES} nodes, seed ${seed}`)
const fleet = await openFleet({ nodes: NODES, env: ENV, postgres: { max_connections: 300 } })
const books = openBooks(fleet.databaseUrl)
try {
  process.exitCode = (await soak()) ? 0 : 1
} finally {
  await books.close()
  await fleet.close()
}

async function soak(): Promise<boolean> {
  const journal = openJournal()
  const spared = fleet.members[0]!
  const traffic = startTraffic(fleet, journal, openRandom(seed), rate)
  const faults = startFaults(fleet, openRandom(seed + 1), spared)
  const quietMs: number[] = []
  traffic.onSuccess((member, askedAt, ms) => {
    faults.succeeded(member, askedAt, ms)
    if (faults.isQuiet(askedAt)) quietMs.push(ms)
  })
  const memory = fleet.members.map(() => openGauge(WARM_UP_MS))
  const connections = openGauge(WARM_UP_MS)
  const losses = openLosses(books, journal)
  const startedAt = performance.now()
  const elapsed = () => performance.now() - startedAt

  for (let reportAt = REPORT_MS; elapsed() < minutes * 60_000 && !stopping.signal.aborted; ) {
    await sleep(Math.min(SAMPLE_MS, Math.max(0, minutes * 60_000 - elapsed())), undefined, stopping).catch(() => {})
    for (const [i, member] of fleet.members.entries()) {
      const resident = member.isAlive() ? await residentMemory(member.pid()) : null
      if (resident !== null) memory[i]!.add(resident)
    }
    await books.connections().then(connections.add, () => {})
    await losses.check(journal.forget())
    if (elapsed() < reportAt) continue
    reportAt += REPORT_MS
    const { asked, answered } = traffic.counts
    const perSecond = (n: number) => `${((n * 1000) / elapsed()).toFixed(1)}/s`
    console.log(
      `${(elapsed() / 1000).toFixed(0).padStart(5)} s  asked ${perSecond(asked)}  answered ${perSecond(answered)}` +
        `  p50 ${percentile(quietMs, 0.5).toFixed(0)} ms  p99 ${percentile(quietMs, 0.99).toFixed(0)} ms` +
        `  faults ${faults.faults.length}  open ${journal.open().length}  wrong ${journal.contradictions() + losses.count()}` +
        `  MiB ${memory.map((gauge) => gauge.last().toFixed(0)).join('/')}  connections ${connections.last()}`,
    )
  }
  const { asked, shed, answered } = { ...traffic.counts }
  const seconds = elapsed() / 1000
  await faults.stop()
  await traffic.stop(LAST_MS)
  for (const { kind, key, calls } of journal.open())
    journal.wrong.push(`stuck: ${kind} ${key}, told ${calls.at(-1)?.told?.body}`)
  await losses.check(journal.forgetAll())
  const findings = {
    ...{ seed, seconds, rate, asked, shed, answered, quietMs },
    keys: journal.keys(),
    longestMs: journal.longestMs(),
    faults: faults.faults,
    irreparable: faults.irreparable,
    statuses: journal.statuses,
    duplicates: await books.duplicates(),
    losses: losses.count() + (await books.unbooked()),
    contradictions: journal.contradictions(),
    discrepancies: await books.discrepancies(),
    stuck: Math.max(await books.stuck(), journal.open().length),
    wrong: journal.wrong,
    memory: memory.map((gauge) => gauge.read()),
    connections: connections.read(),
  }
  console.log(`\n${table(findings)}`)
  const found = violations(findings)
  console.log(found.length === 0 ? '\nNothing that must not be.' : `\nMUST NOT BE:\n${found.join('\n')}`)
  return found.length === 0
}

/** What was promised is looked for in the books; while the database is away it is kept for the next time. */
function openLosses(books: Books, journal: Journal) {
  const kept: Checked = { orderIds: [], refundIds: [] }
  let lost = 0
  return {
    count: () => lost,
    async check({ orderIds, refundIds }: Checked) {
      kept.orderIds.push(...orderIds)
      kept.refundIds.push(...refundIds)
      const missing = await books.missing(kept).catch(() => null)
      if (missing === null) return
      if (missing > 0) journal.wrong.push(`lost: ${missing} of ${kept.orderIds.join(' ')} ${kept.refundIds.join(' ')}`)
      lost += missing
      kept.orderIds.length = 0
      kept.refundIds.length = 0
    },
  }
}
