// A database with traffic takes the migrations of a later release: a column, an index that is built beside the traffic, a
// CHECK that is validated on its own. The node of this release serves on, no order fails or waits for long, and two hosts
// that deploy at once don't end each other.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, freshKey, orderBody, SECRETS, until } from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { brokenRules } from '../support/migration-rules'
import { startNode, type TestNode } from '../support/node'

const root = path.resolve(import.meta.dirname, '..', '..')
const CLIENTS = 4
/** An order queues behind a migration that waits for its own lock, and that gives up after its lock_timeout. */
const LONGEST_MS = 5000
/** `prisma migrate` takes it for a deploy. */
const MIGRATE_LOCK = 72707369

const LATER: Record<string, string> = {
  '99990101000000_channel': `SET lock_timeout = '5s';
ALTER TABLE idempotency_records ADD COLUMN channel text;
ALTER TABLE orders ADD COLUMN channel text, ADD CONSTRAINT orders_channel CHECK (channel <> '') NOT VALID;`,
  '99990101000100_index_channel':
    'CREATE INDEX CONCURRENTLY orders_channel ON orders (channel) WHERE channel IS NOT NULL;',
  '99990101000200_validate_channel': `SET lock_timeout = '5s';
ALTER TABLE orders VALIDATE CONSTRAINT orders_channel;`,
}

let folder: string
let database: TestDatabase
let db: pg.Client
let node: TestNode
let client: Client
let traffic: { stop: () => Promise<number[]>; answered: () => number }
const sent: { key: string; order: ReturnType<typeof orderBody>; bytes: Buffer }[] = []

beforeAll(async () => {
  folder = await laterRelease()
  database = await cloneDatabase()
  db = new pg.Client(database.url)
  await db.connect()
  node = await startNode({ databaseUrl: database.url, env: SECRETS })
  client = createClient(node.url)
  traffic = send()
})
afterAll(async () => {
  await traffic?.stop().catch(() => {})
  await node?.stop()
  await db?.end()
  await database?.drop()
  await rm(folder, { recursive: true, force: true })
})

/** A checkout's migrations and those that come after them. */
async function laterRelease(): Promise<string> {
  const later = await mkdtemp(path.join(os.tmpdir(), 'onceover-later-'))
  await cp(path.join(root, 'prisma', 'migrations'), path.join(later, 'migrations'), { recursive: true })
  for (const [name, text] of Object.entries(LATER)) {
    expect([name, brokenRules(text)]).toEqual([name, []])
    await mkdir(path.join(later, 'migrations', name))
    await writeFile(path.join(later, 'migrations', name, 'migration.sql'), text)
  }
  return later
}

/** `npx prisma migrate deploy`, as the later release's hosts run it. */
async function deploy(url: string): Promise<string> {
  const engine = path.join(root, 'scripts', 'prisma-schema-engine.mjs')
  const settings = {
    schema: path.join(root, 'prisma', 'schema.prisma'),
    migrations: { path: path.join(folder, 'migrations') },
    datasource: { url },
  }
  const config = path.join(folder, 'prisma.config.mjs')
  await writeFile(
    config,
    `process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= ${JSON.stringify(engine)}; export default ${JSON.stringify(settings)}`,
  )
  const cli = path.join(root, 'node_modules', 'prisma', 'build', 'index.js')
  const command = [cli, 'migrate', 'deploy', '--config', config]
  return (await promisify(execFile)(process.execPath, command, { cwd: root })).stdout
}

/** Clients that send an order, and the same again, until they are stopped. */
function send(): typeof traffic {
  let going = true
  const took: number[] = []
  const write = async () => {
    while (going) {
      const [key, order] = [freshKey(), orderBody({ note: 'Grüße 🚀' })]
      const since = performance.now()
      const first = await client.order(key, order)
      took.push(performance.now() - since)
      const again = await client.order(key, order)
      expect([first.status, again.status, again.bytes.equals(first.bytes)]).toEqual([201, 201, true])
      sent.push({ key, order, bytes: first.bytes })
    }
  }
  const all = Promise.allSettled(Array.from({ length: CLIENTS }, write))
  const stop = async () => {
    going = false
    for (const end of await all) if (end.status === 'rejected') throw end.reason
    return took
  }
  return { stop, answered: () => sent.length }
}

const more = (count: number) => {
  const from = traffic.answered()
  return until(
    async () => traffic.answered() - from,
    (answered) => answered >= count,
    30_000,
  )
}

describe('an upgrade under traffic', () => {
  it('waits for a deploy of another host, and does not block an index that this one builds', async () => {
    await more(20)
    await db.query(`SELECT pg_advisory_lock(${MIGRATE_LOCK})`)
    const waiting = Promise.all([deploy(database.url), deploy(database.url)])
    await until(
      () =>
        db.query(`SELECT FROM pg_stat_activity WHERE datname = current_database()
          AND application_name = 'prisma-schema-engine' AND query ~ 'pg_(try_)?advisory_lock'`),
      ({ rowCount }) => rowCount === 2,
      30_000,
    )
    await db.query('CREATE INDEX CONCURRENTLY beside_the_others ON refunds (reason)')
    await db.query(`SELECT pg_advisory_unlock(${MIGRATE_LOCK})`)
    const outputs = await waiting
    expect(outputs.filter((text) => text.includes('All migrations have been successfully applied'))).toHaveLength(1)
    expect(outputs.filter((text) => text.includes('No pending migrations to apply'))).toHaveLength(1)
  })

  it('leaves every object valid', async () => {
    const { rows } = await db.query(`
      SELECT relname AS name, indisvalid AS valid FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname = 'orders_channel'
      UNION ALL SELECT conname, convalidated FROM pg_constraint WHERE conname = 'orders_channel'`)
    expect(rows).toEqual([
      { name: 'orders_channel', valid: true },
      { name: 'orders_channel', valid: true },
    ])
  })

  it('lets the nodes of the release before serve: ready, no order failed, none waited for long', async () => {
    await more(20)
    expect((await fetch(`${node.url}/api/ready`)).status).toBe(200)
    expect(Math.max(...(await traffic.stop()))).toBeLessThan(LONGEST_MS)
  })

  it('leaves each order charged and booked once, and its answer as it was', async () => {
    for (const { key, order, bytes } of [...sent.slice(0, 10), ...sent.slice(-10)]) {
      const replay = await client.order(key, order)
      expect([replay.status, replay.headers['idempotent-replayed'], replay.bytes]).toEqual([201, 'true', bytes])
    }
    const { rows } = await db.query(`SELECT
      (SELECT count(*)::integer FROM sandbox.charges WHERE status = 'succeeded') AS charges,
      (SELECT count(DISTINCT record_id)::integer FROM ledger_entries) AS booked,
      (SELECT count(*)::integer FROM ledger_entries) AS entries,
      (SELECT count(*)::integer FROM discrepancies) AS discrepancies`)
    const orders = sent.length
    expect(rows[0]).toEqual({ charges: orders, booked: orders, entries: orders, discrepancies: 0 })
  })
})
