// Several nodes on one database: one of them is as good as another, and one that dies takes nothing along. The provider
// of these tests has no idempotency keys of its own, so whoever called twice would charge twice.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Answer,
  type Client,
  countCharges,
  createClient,
  freshKey,
  type OrderView,
  orderBody,
  type RecordView,
  SECRETS,
  until,
} from '../support/client'
import { cloneDatabase } from '../support/database'
import { startNode } from '../support/node'
import { expectProblem } from '../support/problem'
import { SHORT_TIMES } from '../support/site'
import { addTenant, runSql } from '../support/tenant'

const ENV = { ...SECRETS, ...SHORT_TIMES, SANDBOX_IDEMPOTENT: 'false' }
type Node = Awaited<ReturnType<typeof startNode>>

let database: Awaited<ReturnType<typeof cloneDatabase>>
let nodes: [Node, Node]
let one: Client
let other: Client
beforeAll(async () => {
  database = await cloneDatabase()
  const start = () => startNode({ databaseUrl: database.url, env: { ...ENV, WORKER: 'off' } })
  nodes = await Promise.all([start(), start()])
  one = createClient(nodes[0].url)
  other = createClient(nodes[1].url)
})
afterAll(async () => {
  await Promise.all((nodes ?? []).map((node) => node.stop()))
  await database?.drop()
})

/** A third node, for a test that ends it; it is ended in any case. */
async function withNode<T>(env: Record<string, string>, use: (node: Node, client: Client) => Promise<T>): Promise<T> {
  const node = await startNode({ databaseUrl: database.url, env: { ...ENV, ...env } })
  try {
    return await use(node, createClient(node.url))
  } finally {
    await node.kill()
  }
}

const stateOf = async (key: string) => (await one.record(key)).json<RecordView>().state
const untilState = (key: string, state: string) =>
  until(
    () => one.record(key),
    (record) => record.json<RecordView>().state === state,
  )
const charged = (customerId: string) => countCharges(one.url, customerId)
const isReplay = (answer: Answer) => answer.headers['idempotent-replayed'] === 'true'

describe('50 duplicates at once over two processes', () => {
  test.each(['pm_ok', 'pm_slow_300'])(
    '%s: one request executes, the others get 409 or its replay, one charge',
    async (paymentMethod) => {
      const key = freshKey()
      const body = orderBody({ paymentMethod })
      const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 2 ? one : other).order(key, body)))
      const firsts = answers.filter((answer) => answer.status === 201 && !isReplay(answer))
      expect(firsts).toHaveLength(1)
      for (const answer of answers)
        if (answer.status === 201) expect(answer.bytes).toEqual(firsts[0]?.bytes)
        else expectProblem(answer, 409, 'idempotency_key_in_progress', 'later')
      expect(await charged(body.customerId)).toBe(1)
    },
  )

  test('with Prefer: wait: all get the first answer', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_slow_300' })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 2 ? one : other).order(key, body, { prefer: 'wait=20' })),
    )
    expect(answers.map((answer) => answer.status)).toEqual(Array(50).fill(201))
    expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1)
    expect(new Set(answers.map((answer) => answer.bytes.toString())).size).toBe(1)
    expect(await charged(body.customerId)).toBe(1)
  })

  test('after a failed attempt: one of them claims the key again, one charge', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_refused_once' })
    expect((await one.order(key, body)).status).toBe(503)
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 2 ? one : other).order(key, body)))
    expect(answers.filter((answer) => answer.status === 201 && !isReplay(answer))).toHaveLength(1)
    for (const answer of answers) expect([201, 409]).toContain(answer.status)
    expect(await charged(body.customerId)).toBe(1)
  })

  test('of two different requests with one key: one request keeps the key, the other gets 422', async () => {
    const key = freshKey()
    const bodies = [orderBody(), orderBody()] as const
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? one : other).order(key, bodies[i < 10 ? 0 : 1])),
    )
    const misuses = answers.filter((answer) => answer.status === 422)
    expect(misuses).toHaveLength(10)
    expect((await charged(bodies[0].customerId)) + (await charged(bodies[1].customerId))).toBe(1)
  })
})

test('an answer of one node is replayed by the other, byte for byte', async () => {
  const key = freshKey()
  const body = orderBody({ note: 'Grüße 🚀' })
  const first = await one.order(key, body)
  const replay = await other.order(key, body)
  expect(replay.bytes).toEqual(first.bytes)
  expect(replay.headers.location).toBe(first.headers.location)
  expect(isReplay(replay)).toBe(true)
  expectProblem(await other.order(key, orderBody()), 422, 'idempotency_key_reused', 'new')
})

test('a duplicate that waits on another node gets the first answer long before its wait ends', async () => {
  const key = freshKey()
  const body = orderBody({ paymentMethod: 'pm_slow_900' })
  let endedAt = 0
  const first = one.order(key, body).finally(() => {
    endedAt = performance.now()
  })
  await until(
    () => one.record(key),
    (record) => record.status === 200,
  )
  const waited = await other.order(key, body, { prefer: 'wait=20' })
  const lateMs = performance.now() - (endedAt || performance.now())
  expect(isReplay(waited)).toBe(true)
  expect(waited.bytes).toEqual((await first).bytes)
  // Without a notification the waiter looks again when the lease of six seconds ends.
  expect(lateMs).toBeLessThan(4000)
})

describe('limits hold over both nodes, with at most a second’s traffic more', () => {
  async function spend(settings: Parameters<typeof addTenant>[1], code: string) {
    const { apiKey } = await addTenant(database.url, settings)
    const [first, second] = [createClient(one.url, apiKey), createClient(other.url, apiKey)]
    // The second node has its own idea of the tenant before the first one spends everything.
    const seen = { key: freshKey(), body: orderBody() }
    expect((await second.order(seen.key, seen.body)).status).toBe(201)
    const spent = await Promise.all(Array.from({ length: 20 }, () => first.order(freshKey(), orderBody())))
    expect(spent.filter((answer) => answer.status === 429).length).toBeGreaterThan(0)
    const refused = await until(
      () => second.order(freshKey(), orderBody()),
      (answer) => answer.status === 429,
      1500,
    )
    expectProblem(refused, 429, code, 'later')
    expect(isReplay(await first.order(seen.key, seen.body))).toBe(true)
    expect(isReplay(await second.order(seen.key, seen.body))).toBe(true)
  }

  test('the rate of new keys', () => spend({ newKeysPerMinute: 12 }, 'rate_limited'))
  test('the cap of live keys', () => spend({ liveKeyCap: 12 }, 'active_key_limit'))

  test('600 key lookups a minute', async () => {
    const { apiKey } = await addTenant(database.url)
    const [first, second] = [createClient(one.url, apiKey), createClient(other.url, apiKey)]
    for (let round = 0; round < 30; round++)
      await Promise.all(Array.from({ length: 20 }, () => first.record('a-key-that-is-none')))
    const refused = await until(
      () => second.record('a-key-that-is-none'),
      (answer) => answer.status === 429,
      1500,
    )
    expectProblem(refused, 429, 'rate_limited', 'later')
  })
})

test('after a node is killed during the provider call, its key is 409 in progress until the lease ends, then 409 unknown, with one charge', async () => {
  const key = freshKey()
  const body = orderBody({ paymentMethod: 'pm_slow_900' })
  await withNode({ WORKER: 'off' }, async (node, client) => {
    const lost = client.order(key, body)
    lost.catch(() => {})
    await until(
      () => charged(body.customerId),
      (count) => count === 1,
    )
    await node.kill()
    await expect(lost).rejects.toThrow()
  })
  expectProblem(await one.order(key, body), 409, 'idempotency_key_in_progress', 'later')
  expectProblem(await other.order(key, orderBody()), 422, 'idempotency_key_reused', 'new')
  const waited = await other.order(key, body, { prefer: 'wait=20' })
  expectProblem(waited, 409, 'idempotency_outcome_unknown', 'later')
  const again = await Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 ? one : other).order(key, body)))
  for (const answer of again) expectProblem(answer, 409, 'idempotency_outcome_unknown', 'later')
  expect(await stateOf(key)).toBe('unknown')
  expect(await charged(body.customerId)).toBe(1)
})

/** A node with a worker may take longer to start than one request waits. */
async function untilAnswered(key: string, body: ReturnType<typeof orderBody>): Promise<Answer> {
  const answer = await other.order(key, body, { prefer: 'wait=30' })
  return answer.status === 202 ? untilAnswered(key, body) : answer
}

describe('a 202-accepted request on nodes without a worker', () => {
  const slow = { key: freshKey(), body: orderBody({ paymentMethod: 'pm_slow_900' }) }
  const async = { prefer: 'respond-async' }

  test('waits for the worker of another node, and is not run again when that node is killed meanwhile', async () => {
    const plain = { key: freshKey(), body: orderBody() }
    expect((await one.order(plain.key, plain.body, async)).json<RecordView>().state).toBe('pending')
    const waited = await other.order(plain.key, plain.body, { prefer: 'wait=1' })
    expect(waited.status).toBe(202)
    expect(waited.json<RecordView>().state).toBe('pending')
    expect(await charged(plain.body.customerId)).toBe(0)
    const waiting = untilAnswered(plain.key, plain.body)

    await withNode({ WORKER: 'on' }, async (node) => {
      const done = await waiting
      expect(done.status).toBe(201)
      expect(done.json<OrderView>().status).toBe('paid')
      expect(await charged(plain.body.customerId)).toBe(1)

      expect((await one.order(slow.key, slow.body, async)).status).toBe(202)
      await until(
        () => charged(slow.body.customerId),
        (count) => count === 1,
      )
      await node.kill()
    })
    expect((await one.order(slow.key, slow.body)).status).toBe(202)
    const unknown = await one.order(slow.key, slow.body, { prefer: 'wait=10' })
    expectProblem(unknown, 409, 'idempotency_outcome_unknown', 'later')
  })

  test('is abandoned with a stored 408 past its retention, and so is its order', async () => {
    const { key, body } = { key: freshKey(), body: orderBody() }
    const { resource } = (await one.order(key, body, async)).json<RecordView>()
    await runSql(
      database.url,
      `UPDATE idempotency_records SET expires_at = clock_timestamp() - interval '1 ms' WHERE key = $1`,
      [key],
    )
    const fresh = { key: freshKey(), body: orderBody() }
    await withNode({ WORKER: 'on' }, async (node, client) => {
      await untilState(key, 'completed')
      const first = await one.order(key, body)
      expectProblem(first, 408, 'request_expired', 'new')
      expect(isReplay(first)).toBe(true)
      expect((await other.order(key, body)).bytes).toEqual(first.bytes)
      expect((await one.get(`/api/orders/${resource?.id}`)).json()).toMatchObject({
        status: 'abandoned',
        payment: null,
      })
      expect(await charged(body.customerId)).toBe(0)

      // What a dead worker had begun is not begun again by this one, which is up and at work.
      expect((await one.order(fresh.key, fresh.body, { prefer: 'respond-async, wait=20' })).status).toBe(201)
      expect(await stateOf(slow.key)).toBe('unknown')
      expect(await charged(slow.body.customerId)).toBe(1)

      const [asked, accepted] = [freshKey(), freshKey()]
      const [askedBody, acceptedBody] = [1, 2].map(() => orderBody({ paymentMethod: 'pm_slow_900' })) as [
        ReturnType<typeof orderBody>,
        ReturnType<typeof orderBody>,
      ]
      const answer = client.order(asked, askedBody)
      expect((await client.order(accepted, acceptedBody, async)).status).toBe(202)
      await untilState(asked, 'in_progress')
      await untilState(accepted, 'in_progress')
      // Asked to stop, it finishes both what it was asked and what it took up, and takes nothing new.
      const stopped = node.stop()
      const drained = await answer
      expect(drained.status).toBe(201)
      expect(isReplay(drained)).toBe(false)
      expect(await stopped).toBe(0)
      await expect(client.get('/api/health')).rejects.toThrow()
      expect(await stateOf(accepted)).toBe('completed')
      expect(isReplay(await one.order(accepted, acceptedBody))).toBe(true)
      expect(await charged(askedBody.customerId)).toBe(1)
      expect(await charged(acceptedBody.customerId)).toBe(1)
    })
  })
})

test('DIRECT_DATABASE_URL is used for notifications and jobs, DATABASE_URL for everything else', async () => {
  const roles = {
    pooled: `pooled_${randomBytes(4).toString('hex')}`,
    direct: `direct_${randomBytes(4).toString('hex')}`,
  }
  const urlAs = (role: string) => {
    const url = new URL(database.url)
    url.username = role
    url.password = 'secret'
    return url.href
  }
  for (const role of Object.values(roles))
    await runSql(database.url, `CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD 'secret'`)
  try {
    const env = { DATABASE_URL: urlAs(roles.pooled), DIRECT_DATABASE_URL: urlAs(roles.direct), WORKER: 'on' }
    await withNode(env, async (node, client) => {
      const key = freshKey()
      const body = orderBody({ paymentMethod: 'pm_slow_500' })
      expect((await client.order(key, body, { prefer: 'respond-async, wait=20' })).status).toBe(201)
      const connections = await runSql<{ name: string; role: string }>(
        database.url,
        `SELECT DISTINCT application_name AS name, usename AS role FROM pg_stat_activity
         WHERE usename = ANY($1) ORDER BY 1, 2`,
        [Object.values(roles)],
      )
      expect(connections).toEqual([
        { name: 'onceover', role: roles.pooled },
        { name: 'onceover-jobs', role: roles.direct },
        { name: 'onceover-listen', role: roles.direct },
        { name: 'onceover-sandbox', role: roles.pooled },
      ])
      await node.stop()
    })
  } finally {
    for (const role of Object.values(roles)) await runSql(database.url, `DROP ROLE ${role}`)
  }
})
