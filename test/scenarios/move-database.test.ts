// A database goes from the embedded PostgreSQL 18 to a server of PostgreSQL 15, where an ordinary role owns it, and back,
// by the commands of docs/operations.md. Nodes go on from it there as if nothing had happened.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { withClient } from '../../scripts/postgres-client'
import {
  ADMIN_TOKEN,
  type Answer,
  countCharges,
  createClient,
  freshKey,
  type OrderView,
  orderBody,
  type RecordView,
  SECRETS,
  send,
  until,
} from '../support/client'
import { commandsUnder, type Pasted, paste } from '../support/documented'
import { startNode, type TestNode } from '../support/node'
import { startMigratedPostgres, type ThrowawayPostgres } from '../support/postgres'
import { SHORT_TIMES } from '../support/site'

const MOVE = commandsUnder('docs/operations.md', 'Move to another server')
const MOVE_WITH_PG_DUMP = commandsUnder('docs/operations.md', 'Move with pg_dump')
const ENV = { ...SECRETS, ...SHORT_TIMES, GATEWAY_TIMEOUT_MS: '1000', LEASE_SECONDS: '3' }

let folder: string
let home: ThrowawayPostgres
let homeUrl: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-move-'))
  ;[home, homeUrl] = await startMigratedPostgres()
})
afterAll(async () => {
  await home?.remove()
  await rm(folder, { recursive: true, force: true })
})

/** On the server of PostgreSQL 15, owned by a role that may do nothing else. */
async function emptyDatabase(): Promise<string> {
  const name = `moved_${randomBytes(6).toString('hex')}`
  const server = inject('postgresUrl')
  await withClient(server, async (client) => {
    await client.query(`CREATE ROLE ${name} LOGIN PASSWORD '${name}'`)
    await client.query(`CREATE DATABASE ${name} OWNER ${name}`)
  })
  const url = Object.assign(new URL(server), { pathname: `/${name}`, username: name, password: name })
  return url.href
}

async function move(commands: readonly string[], from: string, to: string): Promise<Pasted> {
  const DUMP = path.join(folder, randomBytes(6).toString('hex'))
  const moved = await paste(commands, { DATABASE_URL: from, NEW_DATABASE_URL: to, DUMP })
  expect(moved).toMatchObject({ code: 0, tail: '' })
  return moved
}

/** Every row of every table, its triggers and its sequences, as text that is the same on every server. */
async function contentOf(url: string): Promise<Record<string, unknown>> {
  return withClient(url, async (client) => {
    await client.query(`SET TimeZone = 'UTC'`)
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname IN ('public', 'sandbox', 'graphile_worker')
         AND tablename NOT IN ('_prisma_migrations', 'migrations') ORDER BY 1`,
    )
    const content: Record<string, unknown> = {}
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`SELECT to_jsonb(t)::text AS row FROM ${name} t`)
      content[name] = rows.map(({ row }) => row).sort()
    }
    const { rows: triggers } = await client.query(
      `SELECT tgrelid::regclass::text AS table, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`,
    )
    const { rows: sequences } = await client.query(
      `SELECT schemaname, sequencename, last_value FROM pg_sequences ORDER BY 1, 2`,
    )
    return { ...content, triggers, sequences }
  })
}

const admin = (node: TestNode, path: string, body: object) =>
  send(`${node.url}/api/admin/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body,
  })

describe('a database that was moved from the embedded server to PostgreSQL 15', () => {
  const sent: { key: string; order: ReturnType<typeof orderBody>; answer: Answer }[] = []
  const order = async (node: TestNode, changes: Partial<ReturnType<typeof orderBody>> = {}, prefer?: string) => {
    const [key, body] = [freshKey(), orderBody(changes)]
    const answer = await createClient(node.url).order(key, body, { prefer })
    return { key, order: body, answer }
  }
  let accepted: (typeof sent)[number]
  let refused: (typeof sent)[number]
  let expired: (typeof sent)[number]
  let before: Record<string, unknown>
  let movedUrl: string
  let moved: Pasted
  let node: TestNode

  beforeAll(async () => {
    const old = await startNode({ databaseUrl: homeUrl, env: { ...ENV, WORKER: 'off' } })
    const note = 'tab\t, line\n, \\N, \\., "quotes", Grüße 🚀'
    for (const paymentMethod of ['pm_ok', 'pm_declined', 'pm_ok']) sent.push(await order(old, { paymentMethod, note }))
    const client = createClient(old.url)
    await client.refund(sent[0]!.answer.json<OrderView>().id, freshKey(), { amountCents: 500 })
    await order(old, { paymentMethod: 'pm_timeout_lost_once' })
    refused = await order(old, { paymentMethod: 'pm_refused_once' })
    accepted = await order(old, {}, 'respond-async')
    expect(accepted.answer.status).toBe(202)
    expired = sent.pop()!
    const detail = (
      await send(`${old.url}/api/admin/keys?q=${expired.key}`, {
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      })
    ).json<{ items: { id: string; version: number }[] }>().items[0]!
    const ended = await admin(old, `keys/${detail.id}/expire`, { reason: 'for the test', version: detail.version })
    expect(ended.status).toBe(200)
    expect((await admin(old, 'tenants', { name: 'acme' })).status).toBe(201)
    expect(await old.stop()).toBe(0)
    // As a worker leaves it that was killed.
    await withClient(homeUrl, (db) =>
      db.query(`UPDATE graphile_worker._private_jobs SET locked_at = now(), locked_by = 'killed'`),
    )
    before = await contentOf(homeUrl)
    movedUrl = await emptyDatabase()
    moved = await move(MOVE, homeUrl, movedUrl)
  })
  afterAll(() => node?.stop())

  test('has the same rows, triggers and sequences, and jobs that no worker holds', async () => {
    const after = await contentOf(movedUrl)
    const jobs = (before['graphile_worker._private_jobs'] as string[]).map((row) => JSON.parse(row))
    expect(jobs).toHaveLength(1)
    const free = jobs.map((job) => ({ ...job, locked_at: null, locked_by: null, is_available: true }))
    const freed = (after['graphile_worker._private_jobs'] as string[]).map((row) => JSON.parse(row))
    expect(freed).toMatchObject(free.map(({ updated_at, ...job }) => job))
    const others = { 'graphile_worker._private_jobs': null }
    expect({ ...after, ...others }).toEqual({ ...before, ...others })
    expect(moved.output).toMatch(/^public\.idempotency_records: \d+ rows$/m)
    expect(moved.output).toMatch(/^[1-9]\d* entries, the chain holds/m)
  })

  test('refuses changes of its audit log', async () => {
    const change = withClient(movedUrl, (client) => client.query(`UPDATE audit_entries SET reason = 'other'`))
    await expect(change).rejects.toThrow()
  })

  test('replays byte for byte, runs what was accepted, and takes new orders', async () => {
    node = await startNode({ databaseUrl: movedUrl, env: ENV })
    const client = createClient(node.url)
    for (const { key, order, answer } of sent) {
      const again = await client.order(key, order)
      expect(again.headers['idempotent-replayed']).toBe('true')
      expect([again.status, again.bytes]).toEqual([answer.status, answer.bytes])
    }
    expect((await client.order(expired.key, expired.order)).status).toBe(410)
    expect((await client.order(refused.key, refused.order)).status).toBe(201)
    await until(
      async () => (await client.record(accepted.key)).json<RecordView>().state,
      (state) => state === 'completed',
    )
    expect((await client.order(accepted.key, accepted.order)).status).toBe(201)
    expect(await countCharges(node.url, accepted.order.customerId)).toBe(1)
    const fresh = await order(node)
    expect(fresh.answer.status).toBe(201)
    const refund = await client.refund(fresh.answer.json<OrderView>().id, freshKey())
    expect(refund.status).toBe(201)
    const later = await order(node, {}, 'respond-async')
    expect(later.answer.status).toBe(202)
    await until(
      async () => (await client.record(later.key)).json<RecordView>().state,
      (state) => state === 'completed',
    )
    expect(await node.stop()).toBe(0)
  })

  test('moves back to the embedded server with the same rows', async () => {
    const back = new URL(homeUrl)
    back.pathname = '/back'
    await withClient(home.urlOf('postgres'), (client) => client.query('CREATE DATABASE back'))
    await move(MOVE, movedUrl, back.href)
    expect(await contentOf(back.href)).toEqual(await contentOf(movedUrl))
  })

  test('moves by pg_dump and pg_restore with the same rows and a chain that holds', async () => {
    const restoredUrl = await emptyDatabase()
    await move(MOVE_WITH_PG_DUMP, movedUrl, restoredUrl)
    expect(await contentOf(restoredUrl)).toEqual(await contentOf(movedUrl))
    const verified = await paste(['npm run --silent audit:verify'], { DATABASE_URL: restoredUrl })
    expect(verified).toMatchObject({ code: 0 })
  })
})
