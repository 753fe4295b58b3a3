// Three nodes on one PostgreSQL through PgBouncer in transaction mode, with far fewer sessions than connections: each
// transaction may meet another session, and nothing may depend on what one remembers. The database's own time zone is
// not UTC, and the provider has no idempotency keys of its own: whoever called twice would charge twice.
import { setTimeout as sleep } from 'node:timers/promises'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepsSession } from '../../lib/db/sessions'
import { openStore } from '../../lib/db/store'
import {
  ADMIN_TOKEN,
  type Answer,
  type Client,
  countCharges,
  createClient,
  freshKey,
  orderBody,
  type RecordView,
  SECRETS,
  send,
  until,
} from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { type Call, contradictions, now, toldBy } from '../support/history'
import { startNode, type TestNode } from '../support/node'
import { type Pgbouncer, startPgbouncer } from '../support/pgbouncer'
import { expectProblem } from '../support/problem'
import { SHORT_TIMES } from '../support/site'
import { runSql } from '../support/tenant'

const SESSIONS = 5
const ADMIN = { ADMIN_EMAIL: 'admin@example.com', ADMIN_PASSWORD: 'a password of the tests' }
/** The provider waits for a session like everybody else: on a busy machine that takes its time. */
const PATIENT = { GATEWAY_TIMEOUT_MS: '2400', LEASE_SECONDS: '5' }
const ENV = { ...SECRETS, ...SHORT_TIMES, ...PATIENT, ...ADMIN, SANDBOX_IDEMPOTENT: 'false' }

let database: TestDatabase
let pooler: Pgbouncer
let nodes: TestNode[] = []
let clients: Client[]
beforeAll(async () => {
  database = await cloneDatabase()
  const name = new URL(database.url).pathname.slice(1)
  await runSql(database.url, `ALTER DATABASE ${name} SET timezone TO 'Asia/Tokyo'`)
  pooler = await startPgbouncer(database.url, SESSIONS)
  const env = { ...ENV, DIRECT_DATABASE_URL: database.url }
  nodes = await Promise.all([1, 2, 3].map(() => startNode({ databaseUrl: pooler.url, env })))
  clients = nodes.map(({ url }) => createClient(url))
  // What a node does for the first time takes longest: none is new to it when the crowd comes.
  for (const client of clients) await client.order(freshKey(), orderBody())
})
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()))
  await pooler?.close()
  await database?.drop()
})

/** One node after the other. */
const at = (turn: number) => clients[turn % clients.length]!
const charged = (customerId: string) => countCharges(at(0).url, customerId)
const isReplay = (answer: Answer) => answer.headers['idempotent-replayed'] === 'true'
const stateOf = async (key: string) => (await at(0).record(key)).json<RecordView>().state

function operate(turn: number, path: string, body: unknown = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
  return send(new URL(`/api/admin/${path}`, at(turn).url), { method: 'POST', headers, body })
}

async function runDaemon(turn: number, daemon: 'sweeper' | 'reconciler') {
  const run = await operate(turn, `${daemon}/runs`)
  expect(run.json()).toMatchObject({ kind: daemon, state: 'succeeded' })
}

test.each(['pm_ok', 'pm_slow_300'])('%s: 50 duplicates behind PgBouncer make one charge', async (paymentMethod) => {
  const key = freshKey()
  const body = orderBody({ paymentMethod })
  const answers = await Promise.all(Array.from({ length: 50 }, (_, turn) => at(turn).order(key, body)))
  const firsts = answers.filter((answer) => answer.status === 201 && !isReplay(answer))
  expect(firsts).toHaveLength(1)
  for (const answer of answers)
    if (answer.status === 201) expect(answer.bytes).toEqual(firsts[0]!.bytes)
    else expectProblem(answer, 409, 'idempotency_key_in_progress', 'later')
  expect(await charged(body.customerId)).toBe(1)
})

test('three nodes under load use no more sessions than PgBouncer’s pool has', async () => {
  await Promise.all(Array.from({ length: 60 }, (_, turn) => at(turn).order(freshKey(), orderBody())))
  const [sessions] = await runSql<{ pooled: number; listening: number }>(
    database.url,
    `SELECT count(*) FILTER (WHERE application_name IN ('onceover', 'onceover-console', 'onceover-sandbox'))::int AS pooled,
            count(*) FILTER (WHERE application_name = 'onceover-jobs')::int AS listening
     FROM pg_stat_activity WHERE datname = current_database()`,
  )
  expect(sessions!.pooled).toBeGreaterThan(1)
  expect(sessions!.pooled).toBeLessThanOrEqual(SESSIONS)
  expect(sessions!.listening).toBeGreaterThanOrEqual(3)
})

test('behind PgBouncer, duplicates that wait on other nodes are answered long before their wait is over', async () => {
  const key = freshKey()
  const body = orderBody({ paymentMethod: 'pm_slow_600' })
  let endedAt = 0
  const first = at(0)
    .order(key, body)
    .finally(() => {
      endedAt = performance.now()
    })
  await until(
    () => at(1).record(key),
    ({ status }) => status === 200,
  )
  const waited = await Promise.all([1, 2, 3, 4].map((turn) => at(turn).order(key, body, { prefer: 'wait=20' })))
  // Without a notification the waiters look again when the lease of five seconds ends.
  expect(performance.now() - endedAt).toBeLessThan(3500)
  const { bytes } = await first
  for (const answer of waited) {
    expect(answer.bytes).toEqual(bytes)
    expect(isReplay(answer)).toBe(true)
  }
  expect(await charged(body.customerId)).toBe(1)
})

test('behind PgBouncer, each accepted order is run once by the workers of three nodes', async () => {
  const orders = Array.from({ length: 12 }, () => ({ key: freshKey(), body: orderBody() }))
  const answers = await Promise.all(
    orders.map(({ key, body }, turn) => at(turn).order(key, body, { prefer: 'respond-async, wait=20' })),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(201))
  for (const { body } of orders) expect(await charged(body.customerId)).toBe(1)
})

test('behind PgBouncer, a key that an operator expires gets 410 on every node', async () => {
  const key = freshKey()
  const body = orderBody()
  for (const turn of [0, 1, 2]) expect((await at(turn).order(key, body)).status).toBe(201)
  const [record] = await runSql<{ id: string; version: number }>(
    database.url,
    'SELECT id, version FROM idempotency_records WHERE key = $1',
    [key],
  )
  const expire = { reason: 'the order was a test', version: record!.version }
  expect((await operate(1, `keys/${record!.id}/expire`, expire)).status).toBe(200)
  await Promise.all(
    [0, 1, 2].map((turn) =>
      until(
        () => at(turn).order(key, body),
        ({ status }) => status === 410,
        3000,
      ),
    ),
  )
  expect(await charged(body.customerId)).toBe(1)
})

test('behind PgBouncer, an operator signs in, which takes a Prisma transaction of several statements', async () => {
  const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = ADMIN
  const { origin } = new URL(at(1).url)
  const headers = { 'content-type': 'application/json', origin }
  const signedIn = await send(`${origin}/api/auth/sign-in`, { method: 'POST', headers, body: { email, password } })
  expect(signedIn.status).toBe(200)
})

test('behind PgBouncer, every store statement runs in UTC and unprepared, whichever client had its session before', async () => {
  const store = openStore(pooler.url, { max: 10, applicationName: 'a test', pooled: true })
  const SESSION = sql`SELECT current_setting('TimeZone') AS zone, current_setting('statement_timeout') AS "limit",
    (SELECT count(*)::int FROM pg_prepared_statements) AS prepared, pg_backend_pid() AS pid, pg_sleep(0.02) IS NULL AS no`
  const [ours, theirs] = await Promise.all([
    Promise.all(Array.from({ length: 30 }, () => store.query<{ pid: number }>(SESSION))),
    Promise.all(Array.from({ length: 10 }, () => runSql(pooler.url, 'SHOW TimeZone'))),
  ])
  await store.close()
  for (const rows of ours) expect(rows).toMatchObject([{ zone: 'UTC', limit: '8s', prepared: 0 }])
  for (const rows of theirs) expect(rows).toEqual([{ TimeZone: 'Asia/Tokyo' }])
  expect(new Set(ours.map(([row]) => row!.pid)).size).toBeGreaterThan(1)
})

test('behind PgBouncer, the key of a killed node is completed by sweeper and reconciler with one charge', async () => {
  const key = freshKey()
  const body = orderBody({ paymentMethod: 'pm_slow_900' })
  const lost = at(2).order(key, body)
  lost.catch(() => {})
  await until(
    () => charged(body.customerId),
    (count) => count === 1,
  )
  await nodes.pop()!.kill()
  clients.pop()
  await expect(lost).rejects.toThrow()
  expectProblem(await at(0).order(key, body), 409, 'idempotency_key_in_progress', 'later')
  await until(
    async () => {
      await runDaemon(0, 'sweeper')
      return stateOf(key)
    },
    (state) => state === 'unknown',
  )
  await until(
    async () => {
      await runDaemon(1, 'reconciler')
      return stateOf(key)
    },
    (state) => state === 'completed',
  )
  for (const turn of [0, 1]) {
    const answer = await at(turn).order(key, body)
    expect(answer.status).toBe(201)
    expect(isReplay(answer)).toBe(true)
  }
  expect(await charged(body.customerId)).toBe(1)
})

test('a restart of PgBouncer under traffic costs temporary errors, but no second charge and no contradicting answer', async () => {
  const calls: Call[] = []
  const customers: string[] = []
  const open = { shop: true, desk: true }
  async function shop(turn: number) {
    while (open.shop) {
      const [key, body] = [freshKey(), orderBody()]
      customers.push(body.customerId)
      for (let tries = 0; ; tries++) {
        const askedAt = now()
        const answer = await at(turn + tries).order(key, body, { prefer: 'wait=1' })
        calls.push({ key, request: body.customerId, askedAt, answeredAt: now(), told: toldBy(answer) })
        if (answer.status === 201) break
        await sleep(100)
      }
    }
  }
  // Whoever was interrupted while the provider had the money needs somebody who asks the provider.
  async function reconcile() {
    while (open.desk) {
      await operate(0, 'sweeper/runs')
      await operate(1, 'reconciler/runs')
      await sleep(200)
    }
  }
  const shoppers = Array.from({ length: 8 }, (_, turn) => shop(turn))
  const daemons = reconcile()
  const served = (after: number) =>
    until(
      async () => calls.filter(({ told, askedAt }) => told?.status === 201 && askedAt > after).length,
      (count) => count > 20,
      20_000,
    )
  for (let round = 0; round < 2; round++) {
    await served(now())
    await pooler.stop()
    await sleep(300)
    await pooler.start()
  }
  await served(now())
  open.shop = false
  await Promise.all(shoppers)
  open.desk = false
  await daemons

  const refused = calls.flatMap(({ told }) => (told!.status === 201 ? [] : [`${told!.status} ${told!.code}`]))
  expect(refused).toContain('503 idempotency_store_unavailable')
  // The sandbox is behind the same pooler: it too went away, before a call or in the middle of one.
  const allowed = [
    '503 idempotency_store_unavailable',
    '503 payment_provider_unavailable',
    '504 payment_outcome_unknown',
  ]
  const meanwhile = ['409 idempotency_key_in_progress', '409 idempotency_outcome_unknown']
  expect([...allowed, ...meanwhile]).toEqual(expect.arrayContaining([...new Set(refused)]))
  expect(contradictions(calls)).toEqual([])
  const twice = await runSql(
    database.url,
    `SELECT customer_id FROM sandbox.charges WHERE status = 'succeeded' AND customer_id = ANY($1)
     GROUP BY 1 HAVING count(*) <> 1`,
    [customers],
  )
  expect(twice).toEqual([])
})

test('keepsSession tells a transaction pooler from a session pooler and from a direct connection', async () => {
  expect(await keepsSession(database.url)).toBe(true)
  expect(await keepsSession(pooler.sessionUrl)).toBe(true)
  for (let times = 0; times < 20; times++) expect(await keepsSession(pooler.url)).toBe(false)
})

test('a node behind a transaction pooler does not start without DIRECT_DATABASE_URL, and says so', async () => {
  const start = (env: Record<string, string> = {}) => startNode({ databaseUrl: pooler.url, env: { ...ENV, ...env } })
  await expect(start()).rejects.toThrow('DATABASE_URL: leads through a transaction pooler; set DIRECT_DATABASE_URL')
})
