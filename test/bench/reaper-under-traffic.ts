// What the reaper costs live traffic: the p99 of fresh orders while tombstones are deleted, against the p99 of quiet
// rounds of the same run. Alternating, so that a noisy machine disturbs both alike. Exits non-zero above the limit.
import { randomUUID } from 'node:crypto'
import http from 'node:http'
import pg from 'pg'
import { openStore } from '../../lib/db/store'
import { runOnce } from '../../lib/maintenance/daemon'
import { reaper } from '../../lib/maintenance/reaper'
import { API_KEY, orderBody, SECRETS } from '../support/client'
import { startNode } from '../support/node'
import { startMigratedPostgres } from '../support/postgres'

const TOMBSTONES = Number(process.argv[2] ?? 200_000)
const ROUNDS = 4
const CLIENTS = 4
const QUIET_MS = 8000
const LIMIT = 2

const [server, url] = await startMigratedPostgres({ max_connections: 200 })
const node = await startNode({ databaseUrl: url, env: { ...SECRETS, REAP_INTERVAL_SECONDS: '0' } })
const db = new pg.Pool({ connectionString: url })
const store = openStore(url, { max: 4, applicationName: 'bench' })
const agent = new http.Agent({ keepAlive: true })
try {
  const quiet: number[] = []
  const busy: number[] = []
  await traffic(new Promise((resolve) => setTimeout(resolve, QUIET_MS)))
  let deleted = 0
  let reapedMs = 0
  for (let round = 0; round < ROUNDS; round++) {
    await seed(TOMBSTONES / ROUNDS, round)
    quiet.push(...(await traffic(new Promise((resolve) => setTimeout(resolve, QUIET_MS)))))
    const startedAt = performance.now()
    const reaping = runOnce(reaper(store, { tombstoneHours: 1, operations: new Map() })).then((counts) => {
      deleted += counts.deleted ?? 0
      reapedMs += performance.now() - startedAt
    })
    busy.push(...(await traffic(reaping)))
  }
  const ratio = percentile(busy, 0.99) / percentile(quiet, 0.99)
  console.log(`deleted ${deleted} tombstones, ${(reapedMs / deleted).toFixed(3)} ms each`)
  for (const [name, sample] of [
    ['quiet', quiet],
    ['reaping', busy],
  ] as const)
    console.log(`${name.padEnd(8)} ${sample.length} orders, p50 ${ms(sample, 0.5)}, p99 ${ms(sample, 0.99)}`)
  console.log(`p99 while reaping / p99 quiet: ${ratio.toFixed(2)} (limit ${LIMIT})`)
  process.exitCode = ratio <= LIMIT && deleted === TOMBSTONES ? 0 : 1
} finally {
  agent.destroy()
  await node.stop()
  await store.close()
  await db.end()
  await server.remove()
}

/** Tombstones with their orders and ledger rows, as a busy week leaves them. */
async function seed(count: number, round: number): Promise<void> {
  const client = await db.connect()
  try {
    await client.query(`SET session_replication_role = replica`)
    await client.query(
      `WITH n AS (SELECT 'b' || $2 || '_' || g AS id FROM generate_series(1, $1) g), r AS (
         INSERT INTO idempotency_records (id, tenant_id, endpoint, key, fingerprint, state, async, attempt, external,
           request_id, response_status, resource_type, resource_id, retention_seconds, created_at, completed_at, expires_at, expired_at, timeline)
         SELECT id, 'ten_bench', 'POST /api/orders', 'key-0000000000-' || id, 'v1:' || repeat('0', 64), 'expired', false, 1, true,
           'req', 201, 'order', id, 60, now() - interval '3 h', now() - interval '3 h', now() - interval '3 h', now() - interval '2 h', '[{},{},{}]' FROM n),
       o AS (
         INSERT INTO orders (id, tenant_id, record_id, customer_id, currency, amount_cents, items, payment_method, status, created_at)
         SELECT id, 'ten_bench', id, 'cus', 'USD', 100, '[]', 'pm_ok', 'paid', now() - interval '3 h' FROM n)
       INSERT INTO ledger_entries (id, kind, status, tenant_id, order_id, record_id, amount_cents, currency, provider_ref)
       SELECT id, 'charge', 'succeeded', 'ten_bench', id, id, 100, 'USD', id FROM n`,
      [count, String(round)],
    )
    await client.query('SET session_replication_role = DEFAULT; ANALYZE idempotency_records')
  } finally {
    client.release()
  }
}

/** Clients that send one fresh order after the other until `until` is over: how long each took, in ms. */
async function traffic(until: Promise<unknown>): Promise<number[]> {
  const took: number[] = []
  let over = false
  const ended = until.then(() => {
    over = true
  })
  const client = async () => {
    while (!over) {
      const startedAt = performance.now()
      await order()
      took.push(performance.now() - startedAt)
    }
  }
  await Promise.all([ended, ...Array.from({ length: CLIENTS }, client)])
  return took
}

function order(): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${API_KEY}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    }
    const request = http.request(`${node.url}/api/orders`, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.on('end', () => (response.statusCode === 201 ? resolve() : reject(new Error(`${response.statusCode}`))))
    })
    request.on('error', reject)
    request.end(JSON.stringify(orderBody()))
  })
}

function percentile(sample: number[], p: number): number {
  const sorted = [...sample].sort((a, b) => a - b)
  return sorted[Math.floor(p * (sorted.length - 1))] ?? Number.NaN
}

function ms(sample: number[], p: number): string {
  return `${percentile(sample, p).toFixed(1)} ms`
}
