// Three nodes on one database behind HAProxy, with a provider that has no idempotency keys of its own: a request that
// was lost with its node and sent again must not charge again.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseText, sumOf } from '../metrics/prometheus-text'
import {
  type Answer,
  type Client,
  countCharges,
  createClient,
  freshKey,
  type OrderRequest,
  orderBody,
  SECRETS,
  send,
  until,
} from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { type Haproxy, startHaproxy } from '../support/haproxy'
import { startNode, type TestNode } from '../support/node'

const METRICS_TOKEN = 'metrics-token-of-several-nodes-behind-haproxy'
const CREATED = 'api_idempotency_reserve_created_total'
const ENV = {
  ...SECRETS,
  METRICS_TOKEN,
  SANDBOX_IDEMPOTENT: 'false',
  GATEWAY_TIMEOUT_MS: '1000',
  LEASE_SECONDS: '3',
  SETTLE_SECONDS: '1',
  SWEEP_INTERVAL_SECONDS: '0.5',
  RECONCILE_INTERVAL_SECONDS: '0.5',
}
const CUSTOMERS = 8

let database: TestDatabase
let nodes: TestNode[] = []
let proxy: Haproxy
let client: Client
beforeAll(async () => {
  database = await cloneDatabase()
  nodes = await Promise.all([1, 2, 3].map(() => startNode({ databaseUrl: database.url, env: ENV })))
  proxy = await startHaproxy(nodes.map(({ url }) => url))
  client = createClient(proxy.url)
})
afterAll(async () => {
  await proxy?.close()
  await Promise.all(nodes.map((node) => node.stop()))
  await database?.drop()
})

/** Orders that this node reserved. */
async function createdBy({ url }: TestNode): Promise<number> {
  const answer = await createClient(url, METRICS_TOKEN).get('/api/metrics')
  return sumOf(parseText(String(answer.bytes)), CREATED)
}

interface Sent {
  key: string
  body: OrderRequest
  /** Status by status; 0 where the connection broke. */
  statuses: number[]
  answer: Answer
}

/** As a client with retries does: the same key until there is an answer that is final. */
async function order(): Promise<Sent> {
  const [key, body] = [freshKey(), orderBody({ paymentMethod: 'pm_slow_100' })]
  const statuses: number[] = []
  const ask = () => client.order(key, body).catch(() => null)
  const answer = await until(ask, (given) => {
    statuses.push(given?.status ?? 0)
    return given !== null && given.status !== 409 && given.status < 500
  })
  return { key, body, statuses, answer: answer! }
}

/** Customers who send one order after the other until `stop`. */
function startTraffic() {
  const done: Sent[] = []
  let going = true
  const customer = async () => {
    while (going) done.push(await order())
  }
  const customers = Promise.all(Array.from({ length: CUSTOMERS }, customer))
  return {
    untilMore: async (count: number) => {
      const wanted = done.length + count
      await until(
        async () => done.length,
        (length) => length >= wanted,
      )
    },
    async stop(): Promise<Sent[]> {
      going = false
      await customers
      return done
    },
  }
}

async function expectChargedOnce(sent: readonly Sent[]): Promise<void> {
  for (const { key, body, answer } of sent) {
    expect(answer.status).toBe(201)
    expect(await countCharges(nodes[0]!.url, body.customerId)).toBe(1)
    const again = await client.order(key, body)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.bytes).toEqual(answer.bytes)
  }
}

test('HAProxy spreads orders over three nodes, and each node’s metrics count its own', async () => {
  const before = await Promise.all(nodes.map(createdBy))
  await Promise.all(Array.from({ length: 30 }, order))
  const created = (await Promise.all(nodes.map(createdBy))).map((count, i) => count - before[i]!)
  for (const count of created) expect(count).toBeGreaterThan(0)
  expect(created.reduce((sum, count) => sum + count)).toBe(30)
  expect((await send(`${proxy.url}/api/metrics`)).status).toBe(404)
})

test('a node killed with SIGKILL under traffic charges nothing twice, and retries succeed on the other nodes', async () => {
  const traffic = startTraffic()
  await traffic.untilMore(20)
  const victim = nodes.pop()!
  await victim.kill()
  await traffic.untilMore(40)
  const sent = await traffic.stop()
  // Each customer has an order under way at any time: the killed node had some of them.
  expect(sent.filter(({ statuses }) => statuses.length > 1)).not.toEqual([])
  await expectChargedOnce(sent)

  const back = await startNode({ databaseUrl: database.url, env: ENV, port: Number(new URL(victim.url).port) })
  nodes.push(back)
  await until(
    async () => order().then(() => createdBy(back)),
    (count) => count > 0,
  )
})

test('a node that gets SIGTERM under traffic leaves no order without its answer', async () => {
  const traffic = startTraffic()
  await traffic.untilMore(20)
  expect(await nodes.pop()!.stop('SIGTERM')).toBe(0)
  await traffic.untilMore(20)
  const sent = await traffic.stop()
  for (const { statuses } of sent) expect(statuses).toEqual([201])
  await expectChargedOnce(sent)
})

test('HAProxy answers with a problem that says to retry when no node is ready', async () => {
  await Promise.all(nodes.splice(0).map((node) => node.stop()))
  const answer = await client.order(freshKey(), orderBody())
  expect(answer.status).toBe(503)
  expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', 'retry-after': '1' })
  expect(answer.json()).toMatchObject({ status: 503, retry: { sameKey: true, newKey: false, afterSeconds: 1 } })
})
