// The database goes away under traffic and comes back. Meanwhile nothing is done and everybody is told to come again;
// afterwards everything works by itself; and through all of it no key is charged twice, although the provider of these
// tests has no idempotency keys of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Answer,
  type Client,
  countCharges,
  createClient,
  freshKey,
  orderBody,
  type ProblemView,
  SECRETS,
  send,
  until,
} from '../support/client'
import { HOLDABLE, startNode } from '../support/node'
import { startMigratedPostgres } from '../support/postgres'
import { expectProblem } from '../support/problem'
import { SHORT_TIMES } from '../support/site'
import { addTenant, runSql } from '../support/tenant'

const ENV = { ...SECRETS, ...SHORT_TIMES, ...HOLDABLE, SANDBOX_IDEMPOTENT: 'false', GATEWAY_TIMEOUT_MS: '2500' }
/** From the return of the database: the circuit's next probe is at most two seconds away. */
const RECOVERY_MS = 8000

const HASTY_LEASE_MS = 5100
/** An owner tries to write down what it knows until its lease ends, and its last try may begin a moment later. */
const LAST_TRY_MS = 1500

type Postgres = Awaited<ReturnType<typeof startMigratedPostgres>>[0]
type Node = Awaited<ReturnType<typeof startNode>>

let postgres: Postgres
let databaseUrl: string
/** One whose leases outlive an outage, and one whose leases don't. */
let patient: { node: Node; client: Client }
let hasty: { node: Node; client: Client }

beforeAll(async () => {
  ;[postgres, databaseUrl] = await startMigratedPostgres()
  const start = async (env: Record<string, string>) => {
    const node = await startNode({ databaseUrl, env: { ...ENV, ...env } })
    return { node, client: createClient(node.url) }
  }
  ;[patient, hasty] = await Promise.all([
    start({ LEASE_SECONDS: '20', WORKER: 'off' }),
    start({ LEASE_SECONDS: String(HASTY_LEASE_MS / 1000), SWEEP_INTERVAL_SECONDS: '1' }),
  ])
})
afterAll(async () => {
  await Promise.all([patient, hasty].map((started) => started?.node.stop()))
  await postgres?.remove()
})

async function duringOutage<T>(work: () => Promise<T>): Promise<T> {
  await postgres.stop({ mode: 'immediate' })
  try {
    return await work()
  } finally {
    await postgres.start()
  }
}

const recovered = (client: Client) => {
  const key = freshKey()
  const body = orderBody()
  return until(
    () => client.order(key, body),
    (answer) => answer.status === 201,
    RECOVERY_MS,
  )
}

async function timed<T>(promise: Promise<T>): Promise<[T, number]> {
  const startedAt = performance.now()
  return [await promise, performance.now() - startedAt]
}

test('a database outage gives every API request 503 without effects, and the nodes recover from it without a restart', async () => {
  const { client } = patient
  const known = { key: freshKey(), body: orderBody() }
  const first = await client.order(known.key, known.body)
  expect(first.status).toBe(201)
  const fresh = { key: freshKey(), body: orderBody() }
  const unseen = (await addTenant(databaseUrl)).apiKey
  expect((await send(`${client.url}/api/ready`)).status).toBe(200)

  await duringOutage(async () => {
    for (let i = 0; i < 8; i++) {
      const answer = await client.order(fresh.key, fresh.body)
      expectProblem(answer, 503, 'idempotency_store_unavailable', 'later')
      expect(answer.headers['idempotency-key']).toBe(`"${fresh.key}"`)
      expect(answer.headers['idempotency-expires']).toBeUndefined()
    }
    const unavailable: Promise<Answer>[] = [
      client.order(known.key, known.body),
      client.order(known.key, known.body, { prefer: 'wait=20' }),
      client.order(freshKey(), orderBody(), { prefer: 'respond-async' }),
      client.refund('ord_none', freshKey()),
      client.get('/api/orders'),
      client.get('/api/orders/ord_none'),
      client.record(known.key),
      // Whether a key is good can't be told now: that is 503 for a good one and a bad one alike, and never 401.
      createClient(client.url, unseen).order(freshKey(), orderBody()),
      createClient(client.url, 'oo_live_unknown').order(freshKey(), orderBody()),
      createClient(client.url, 'oo_live_unknown').get('/api/orders'),
    ]
    for (const answer of await Promise.all(unavailable))
      expectProblem(answer, 503, 'idempotency_store_unavailable', 'later')
    const [open, ms] = await timed(client.order(freshKey(), orderBody()))
    expectProblem(open, 503, 'idempotency_store_unavailable', 'later')
    expect(ms).toBeLessThan(1000)
    expect((await send(`${client.url}/api/ready`)).status).toBe(503)
    expect((await send(`${client.url}/api/health`)).status).toBe(200)
  })

  const replay = await until(
    () => client.order(known.key, known.body),
    (answer) => answer.status === 201,
    RECOVERY_MS,
  )
  expect(replay.bytes).toEqual(first.bytes)
  expect((await send(`${client.url}/api/ready`)).status).toBe(200)
  expect((await client.record(fresh.key)).status).toBe(404)
  expect(await countCharges(client.url, fresh.body.customerId)).toBe(0)
  expect((await client.order(fresh.key, fresh.body)).status).toBe(201)
  expectProblem(await createClient(client.url, 'oo_live_unknown').get('/api/orders'), 401, 'unauthenticated', 'same')

  const accepted = await client.order(freshKey(), orderBody(), { prefer: 'respond-async, wait=20' })
  expect(accepted.status).toBe(201)
  const slow = { key: freshKey(), body: orderBody({ paymentMethod: 'pm_slow_1000' }) }
  const running = patient.client.order(slow.key, slow.body)
  await until(
    () => client.record(slow.key),
    (record) => record.status === 200,
  )
  const [waited, ms] = await timed(hasty.client.order(slow.key, slow.body, { prefer: 'wait=20' }))
  expect(waited.bytes).toEqual((await running).bytes)
  // half of the wait
  expect(ms).toBeLessThan(10_000)
})

describe('a database outage between the provider’s answer and the settle', () => {
  test('gives 504, later a replay if the lease outlives the outage and 409 unknown if not, and one charge per key', async () => {
    const sides = [patient, hasty].map(({ node, client }) => ({ node, client, key: freshKey(), body: orderBody() }))
    await Promise.all(sides.map(({ node }) => node.hold('called')))
    const answers = sides.map(({ client, key, body }) => client.order(key, body))
    await Promise.all(sides.map(({ node }) => node.held()))
    const hastyGivesUp = sleep(HASTY_LEASE_MS + LAST_TRY_MS)
    const waiters = sides.map(({ client, key, body }) => client.order(key, body, { prefer: 'wait=30' }))
    for (const { client, key, body } of sides) expect((await client.order(key, body)).status).toBe(409)
    await duringOutage(async () => {
      await Promise.all(sides.map(({ node }) => node.release()))
      for (const answer of await Promise.all(answers)) {
        expectProblem(answer, 504, 'payment_outcome_unknown', 'later')
        expect(answer.headers['idempotency-expires']).toMatch(/GMT$/)
      }
      // Those who waited are told as soon as there is nothing to wait for.
      for (const answer of await Promise.all(waiters))
        expectProblem(answer, 503, 'idempotency_store_unavailable', 'later')
      await hastyGivesUp
    })

    const settled = await until(
      () => patient.client.order(sides[0]!.key, sides[0]!.body),
      (answer) => answer.status === 201,
      RECOVERY_MS,
    )
    expect(settled.headers['idempotent-replayed']).toBe('true')
    const unknown = await until(
      () => hasty.client.order(sides[1]!.key, sides[1]!.body),
      (answer) => answer.status === 409 && answer.json<ProblemView>().code !== 'idempotency_key_in_progress',
      RECOVERY_MS,
    )
    expectProblem(unknown, 409, 'idempotency_outcome_unknown', 'later')
    for (const { client, body } of sides) expect(await countCharges(client.url, body.customerId)).toBe(1)
  })
})

test('requests accepted with 202 before a database outage are completed or known to be unknown after it', async () => {
  // Some were being taken up at that moment. Their jobs are locked by nobody: the sweeper gives them out again.
  const { client } = patient
  await recovered(client)
  const accepted = Array.from({ length: 20 }, () => ({ key: freshKey(), body: orderBody() }))
  const answers = accepted.map(({ key, body }) => client.order(key, body, { prefer: 'respond-async' }))
  for (const answer of await Promise.all(answers)) expect(answer.status).toBe(202)
  await duringOutage(async () => {})
  for (const { key, body } of accepted) {
    const done = await until(
      () => client.order(key, body),
      (answer) => answer.status === 201 || answer.bytes.includes('idempotency_outcome_unknown'),
      25_000,
    )
    if (done.status === 201) expect(await countCharges(client.url, body.customerId)).toBe(1)
    else expect(await countCharges(client.url, body.customerId)).toBeLessThanOrEqual(1)
  }
})

test('a database outage under traffic leaves each key with one answer or 409 unknown, and never with two charges', async () => {
  const clients = [patient.client, hasty.client]
  const told = new Map<string, number>()
  let stop = false
  let orders = 0
  /** What a good client does: the same key until there is an answer. */
  async function shop(client: Client): Promise<void> {
    while (!stop) {
      const key = freshKey()
      const body = orderBody({ paymentMethod: orders++ % 3 ? 'pm_ok' : 'pm_slow_50' })
      let last = ''
      await until(
        () => client.order(key, body),
        (answer) => {
          last = answer.status === 201 ? '201' : `${answer.status} ${answer.json<ProblemView>().code}`
          told.set(last, (told.get(last) ?? 0) + 1)
          return answer.status === 201 || last === '409 idempotency_outcome_unknown'
        },
        30_000,
      )
      const moved = await until(
        () => countCharges(client.url, body.customerId).catch(() => -1),
        (count) => count >= 0,
        30_000,
      )
      if (last === '201') expect(moved).toBe(1)
      else expect(moved).toBeLessThanOrEqual(1)
    }
  }
  const shopping = Array.from({ length: 12 }, (_, i) => shop(clients[i % 2]!))
  const before = () => runSql<{ n: number }>(databaseUrl, 'SELECT count(*)::int AS n FROM orders')
  const [start] = await before()
  await until(before, ([now]) => (now?.n ?? 0) > (start?.n ?? 0) + 30)
  await duringOutage(() =>
    until(
      async () => told.get('503 idempotency_store_unavailable') ?? 0,
      (count) => count > 50,
    ),
  )
  for (const client of clients) await recovered(client)
  stop = true
  await Promise.all(shopping)
  const allowed = [
    '201',
    '409 idempotency_key_in_progress',
    '409 idempotency_outcome_unknown',
    '503 idempotency_store_unavailable',
    '503 payment_provider_unavailable',
    '504 payment_outcome_unknown',
  ]
  expect([...told.keys()].filter((code) => !allowed.includes(code))).toEqual([])
  const [twice] = await runSql<{ n: number }>(
    databaseUrl,
    `SELECT count(*)::int AS n FROM (
       SELECT provider_key FROM sandbox.charges WHERE status = 'succeeded' GROUP BY 1 HAVING count(*) > 1) t`,
  )
  expect(twice?.n).toBe(0)
})
