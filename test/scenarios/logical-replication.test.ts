// A database is moved to another server by logical replication, as for a major version of PostgreSQL: everything is
// published and subscribed to while orders come in, nothing is lost or refused, the audit log stays what it was, and nodes
// go on from the new server.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verifyAudit } from '../../lib/audit/verify'
import { openStore } from '../../lib/db/store'
import { migrateJobs } from '../../lib/jobs/worker'
import {
  ADMIN_TOKEN,
  type Client,
  countCharges,
  createClient,
  freshKey,
  type OrderView,
  orderBody,
  SECRETS,
  send,
  until,
} from '../support/client'
import { startNode, type TestNode } from '../support/node'
import { startMigratedPostgres, type ThrowawayPostgres } from '../support/postgres'
import { SHORT_TIMES } from '../support/site'

const SERVER = { fsync: 'off', full_page_writes: 'off', max_connections: 100, wal_level: 'logical' }
const ENV = { ...SECRETS, ...SHORT_TIMES, SWEEP_INTERVAL_SECONDS: '0.5', RECONCILE_INTERVAL_SECONDS: '0.5' }

let servers: ThrowawayPostgres[] = []
let from: pg.Pool
let to: pg.Pool
const urls = { from: '', to: '' }
let node: TestNode | undefined
let client: Client
const sent: { key: string; order: ReturnType<typeof orderBody>; body: string }[] = []

beforeAll(async () => {
  const started = await Promise.all([startMigratedPostgres(SERVER), startMigratedPostgres(SERVER)])
  servers = started.map(([server]) => server)
  ;[urls.from, urls.to] = [started[0][1], started[1][1]]
  await Promise.all([migrateJobs(urls.from), migrateJobs(urls.to)])
  from = new pg.Pool({ connectionString: urls.from, max: 4 })
  to = new pg.Pool({ connectionString: urls.to, max: 4 })
  for (const pool of [from, to]) pool.on('error', () => {})
  node = await startNode({ databaseUrl: urls.from, env: ENV })
  client = createClient(node.url)
})
afterAll(async () => {
  await node?.stop()
  await to?.query('DROP SUBSCRIPTION IF EXISTS everything').catch(() => {})
  await Promise.all([from?.end(), to?.end()])
  await Promise.all(servers.map((server) => server.remove()))
})

/** All tables of ours and of the job engine, but for those that are unlogged: none of their rows is replicated. */
async function tables(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(`
    SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`)
  return rows.map(({ name }) => name)
}

/** What each table holds, row by row, as one hash. */
async function contents(pool: pg.Pool): Promise<Record<string, string>> {
  const all: Record<string, string> = {}
  for (const table of await tables(pool)) {
    const { rows } = await pool.query(
      `SELECT count(*) || ' rows ' || coalesce(md5(string_agg(t::text, E'\\n' ORDER BY t::text COLLATE "C")), '') AS held FROM ${table} t`,
    )
    all[table] = rows[0].held
  }
  return all
}

/** As an operator of a new server does it: the schema of the same release, and no row. */
async function emptyForSubscription(): Promise<void> {
  const all = (await tables(to)).filter((table) => !table.startsWith('public.audit_'))
  await to.query(`TRUNCATE ${all.join(', ')}`)
}

async function place(paymentMethod: string): Promise<void> {
  const [key, order] = [freshKey(), orderBody({ paymentMethod, note: 'Grüße 🚀' })]
  const answer = await client.order(key, order)
  if (answer.status !== 201) return
  const body = answer.bytes.toString()
  sent.push({ key, order, body })
  await client.refund(JSON.parse(body).id, freshKey(), { amountCents: 100, reason: 'too warm' })
}

const admin = (method: string, path: string, body?: unknown) =>
  send(new URL(path, node!.url), {
    method,
    body,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, ...(body ? { 'content-type': 'application/json' } : {}) },
  })

const METHODS = ['pm_ok', 'pm_declined', 'pm_refused_once', 'pm_error_once', 'pm_ok', 'pm_timeout_charged']

/** Orders and refunds of every outcome, acts of operators, refusals; until the function that is given back is called. */
function traffic(): () => Promise<void> {
  let going = true
  const orders = async (first: number) => {
    for (let n = first; going; n++) await place(METHODS[n % METHODS.length]!)
  }
  const acts = async () => {
    for (let n = 1; going; n++) {
      const made = await admin('POST', '/api/admin/tokens', { name: `token ${n} of ${freshKey()}`, role: 'viewer' })
      const { id, secret } = made.json<{ id: string; secret: string }>()
      const headers = { authorization: `Bearer ${secret}` }
      for (let refused = 0; refused < 3; refused++) await send(new URL('/api/admin/tokens', node!.url), { headers })
      await admin('DELETE', `/api/admin/tokens/${id}`)
    }
  }
  const all = Promise.allSettled([orders(0), orders(2), orders(4), acts()])
  return async () => {
    going = false
    for (const end of await all) if (end.status === 'rejected') throw end.reason
  }
}

const subscribed = async () => {
  const { rows } = await to.query(`SELECT bool_and(srsubstate = 'r') AS ready FROM pg_subscription_rel`)
  return rows[0].ready === true
}
const failures = async () =>
  (await to.query('SELECT apply_error_count::int + sync_error_count::int AS failed FROM pg_stat_subscription_stats'))
    .rows[0].failed as number

async function caughtUp(): Promise<void> {
  const { rows } = await from.query('SELECT pg_current_wal_flush_lsn() AS lsn')
  await until(async () => {
    const { rows: seen } = await from.query(
      'SELECT coalesce(bool_and(replay_lsn >= $1), false) AS there FROM pg_stat_replication',
      [rows[0].lsn],
    )
    return seen[0].there as boolean
  }, Boolean)
}

const verification = async (url: string) => {
  const store = openStore(url, { max: 2, applicationName: 'replication-test' })
  try {
    return await verifyAudit(store)
  } finally {
    await store.close()
  }
}

test('a publication of all tables is applied under traffic, and both servers hold the same', {
  timeout: 180_000,
}, async () => {
  await admin('POST', '/api/admin/tokens', { name: 'before it began', role: 'viewer' })
  for (const method of METHODS) await place(method)
  const stop = traffic()
  try {
    await emptyForSubscription()
    await from.query('CREATE PUBLICATION everything FOR ALL TABLES')
    await to.query(`CREATE SUBSCRIPTION everything CONNECTION '${urls.from}' PUBLICATION everything`)
    await until(subscribed, Boolean, 60_000)
    const copied = sent.length
    const ordered = (count: number) => count >= copied + 20
    await until(async () => sent.length, ordered, 60_000)
  } finally {
    await stop()
  }
  await node!.stop()
  node = undefined
  await caughtUp()
  expect(await contents(to)).toEqual(await contents(from))
  expect(await failures()).toBe(0)
  const original = await verification(urls.from)
  expect(original.holds).toBe(true)
  expect(await verification(urls.to)).toEqual(original)
})

describe('an audit entry in the database that is replicated to', () => {
  const AS_WRITTEN = `(seq, at, actor_id, actor_name, action, target, outcome, reason, before, after, request_id, previous_hash, hash)`
  /** A row like the last one, with a number and the hash before it as they are asked for, and a hash that is right. */
  const forged = (seq: string, previous: string) => `
    INSERT INTO audit_entries ${AS_WRITTEN}
    SELECT (f.row).seq, (f.row).at, (f.row).actor_id, (f.row).actor_name, (f.row).action, (f.row).target, (f.row).outcome,
      (f.row).reason, (f.row).before, (f.row).after, (f.row).request_id, (f.row).previous_hash,
      sha256((f.row).previous_hash || convert_to(audit_content(f.row), 'UTF8'))
    FROM (SELECT ROW(${seq}, e.at, e.actor_id, 'Nobody', e.action, e.target, e.outcome, e.reason, e.before, e.after,
      e.request_id, ${previous}, e.hash)::audit_entries AS row FROM audit_entries e ORDER BY e.seq DESC LIMIT 1) f`

  test.each([
    [
      'with a hash that is not its own',
      `INSERT INTO audit_entries ${AS_WRITTEN} SELECT seq + 1, at, actor_id, 'Nobody', action,
        target, outcome, reason, before, after, request_id, hash, hash FROM audit_entries ORDER BY seq DESC LIMIT 1`,
    ],
    ['beyond the end', forged('e.seq + 2', 'e.hash')],
    ['after another one than it says', forged('e.seq + 1', 'e.previous_hash')],
    ['with a number that is taken', forged('e.seq', 'e.previous_hash')],
    ['before the first one', forged('0', `decode(repeat('00', 32), 'hex')`)],
    ['changed', `UPDATE audit_entries SET actor_name = 'Nobody' WHERE seq = 1`],
    ['deleted', 'DELETE FROM audit_entries WHERE seq = 1'],
    ['cut off', 'TRUNCATE audit_entries'],
  ])('%s is refused, also for a replica’s session', async (_, statement) => {
    const before = await verification(urls.to)
    const session = await to.connect()
    await session.query('SET session_replication_role = replica')
    await expect(session.query(statement)).rejects.toMatchObject({ code: expect.stringMatching(/^23(514|505)$/) })
    await session.query('UPDATE audit_head SET seq = seq - 1')
    session.release(true)
    expect(await verification(urls.to)).toEqual(before)
  })
})

test('nodes go on from the new server: the same answers, new orders, one audit log', { timeout: 120_000 }, async () => {
  await to.query('ALTER SUBSCRIPTION everything DISABLE')
  await to.query('DROP SUBSCRIPTION everything')
  // Sequences are not replicated: each goes on where the old server's stands.
  const { rows } = await from.query<{ name: string; last: string }>(
    `SELECT format('%I.%I', schemaname, sequencename) AS name, last_value AS last FROM pg_sequences WHERE last_value IS NOT NULL`,
  )
  for (const { name, last } of rows) await to.query('SELECT setval($1, $2)', [name, last])
  const { entries } = await verification(urls.to)
  node = await startNode({ databaseUrl: urls.to, env: ENV })
  client = createClient(node.url)
  for (const { key, order, body } of sent.slice(-20)) {
    const again = await client.order(key, order)
    expect([again.headers['idempotent-replayed'], again.bytes.toString()]).toEqual(['true', body])
  }
  const order = orderBody({ paymentMethod: 'pm_ok' })
  const { id } = (await client.order(freshKey(), order)).json<OrderView>()
  expect((await client.refund(id, freshKey(), {}, { prefer: 'respond-async' })).status).toBe(202)
  expect(await countCharges(node.url, order.customerId)).toBeGreaterThanOrEqual(1)
  await admin('POST', '/api/admin/tokens', { name: 'after the change', role: 'viewer' })
  expect(await verification(urls.to)).toMatchObject({ holds: true, entries: entries + 1 })
})
