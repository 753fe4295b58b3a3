// Two processes serve one port as one node would: what one answered the other replays, a scraper sees their sum, and
// the end of one of them takes nothing along that it need not.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newClient } from '../../scripts/postgres-client'
import { parseText, sumOf } from '../metrics/prometheus-text'
import { createClient, freshKey, orderBody, SECRETS, until } from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { startNode, type TestNode } from '../support/node'
import { isAlive, type Line, openLine, servingOf } from '../support/serving'
import { runSql } from '../support/tenant'

const METRICS_TOKEN = 'metrics-token-of-several-processes'
const ENV = { ...SECRETS, METRICS_TOKEN, WEB_CONCURRENCY: '2' }
const SLOW = 'pm_slow_1000'
const CREATED = 'api_idempotency_reserve_created_total'
/** For processes to end, and for others to take their place; on a quiet machine they take a fraction of it. */
const SOON = { timeout: 30_000, interval: 50 }

let database: TestDatabase
let node: TestNode
beforeAll(async () => {
  database = await cloneDatabase()
  node = await startNode({ databaseUrl: database.url, env: ENV })
})
afterAll(async () => {
  await node?.kill()
  await database?.drop()
})

/** The process that made a record: its number is part of the node's name. */
async function makerOf(key: string): Promise<number | null> {
  const made = "SELECT timeline->0->>'by' AS node FROM idempotency_records WHERE key = $1"
  const [row] = await runSql<{ node: string }>(database.url, made, [key])
  return row ? Number(/-(\d+)-[^-]+$/.exec(row.node)?.[1]) : null
}

const untilMade = (key: string) =>
  until(
    () => makerOf(key),
    (pid) => pid !== null,
  )

/** A kept connection to each process of the node, by the process's number. */
async function linesTo({ url, pid }: TestNode): Promise<Map<number, Line>> {
  const lines = new Map<number, Line>()
  const serving = servingOf(pid)
  const spare: Line[] = []
  while (lines.size < serving.length) {
    const line = openLine(url)
    const key = freshKey()
    expect((await line.order(key, orderBody())).status).toBe(201)
    const maker = (await makerOf(key)) as number
    expect(serving).toContain(maker)
    if (lines.has(maker)) spare.push(line)
    else lines.set(maker, line)
  }
  for (const line of spare) line.close()
  return lines
}

async function scrape(): Promise<number> {
  const answer = await createClient(node.url, METRICS_TOKEN).get('/api/metrics')
  return sumOf(parseText(String(answer.bytes)), CREATED)
}

test('both serving processes answer on one port, and neither is the process that was started', async () => {
  const lines = await linesTo(node)
  expect([...lines.keys()].sort()).toEqual(servingOf(node.pid).sort())
  expect(lines.size).toBe(2)
  expect(lines.has(node.pid)).toBe(false)
  expect(node.output().match(/ready at/g)).toHaveLength(1)
})

test('one serving process replays the other’s answer, first from the store and then from its cache', async () => {
  const [one, other] = [...(await linesTo(node)).values()] as [Line, Line]
  const key = freshKey()
  const body = orderBody()
  const first = await one.order(key, body)
  expect(first).toMatchObject({ status: 201, replayed: false })
  expect(await other.order(key, body)).toEqual({ ...first, replayed: true })
  // Nobody can read the records now.
  const holder = newClient(database.url, 'holder')
  await holder.connect()
  await holder.query('BEGIN; LOCK TABLE idempotency_records IN ACCESS EXCLUSIVE MODE')
  try {
    expect(await other.order(key, body)).toEqual({ ...first, replayed: true })
  } finally {
    await holder.end()
  }
})

test('a metrics scrape returns the sum of both serving processes, whichever of them answers', async () => {
  const before = await scrape()
  const lines = [...(await linesTo(node)).values()]
  const since = await scrape()
  expect(since).toBeGreaterThanOrEqual(before + 2)
  for (const [count, line] of lines.entries())
    for (let i = 0; i <= count; i++) await line.order(freshKey(), orderBody())
  expect(await Promise.all([scrape(), scrape(), scrape(), scrape()])).toEqual(Array(4).fill(since + 3))
})

test('a serving process that is killed under traffic loses only its own requests, and is replaced', async () => {
  const before = servingOf(node.pid)
  const lines = await linesTo(node)
  const [victim, survivor] = before as [number, number]
  const counted = await scrape()
  const [lost, kept] = [freshKey(), freshKey()]
  const ofVictim = lines
    .get(victim)!
    .order(lost, orderBody({ paymentMethod: SLOW }))
    .catch((error) => error.code)
  const ofSurvivor = lines.get(survivor)!.order(kept, orderBody({ paymentMethod: SLOW }))
  const traffic = startTraffic()
  const replacement = () => servingOf(node.pid).find((pid) => !before.includes(pid))
  try {
    await Promise.all([untilMade(lost), untilMade(kept), traffic.untilAnswered(20)])
    process.kill(victim, 'SIGKILL')
    await until(async () => (await traffic.makers()).includes(replacement() ?? -1), Boolean, SOON.timeout)
  } finally {
    // Whatever happened here is not the next test's.
    await traffic.stop()
  }
  const { failed, answered } = await traffic.stop()

  expect(await ofVictim).toBe('ECONNRESET')
  expect((await ofSurvivor).status).toBe(201)
  expect(servingOf(node.pid)).toHaveLength(2)
  expect(servingOf(node.pid)).toContain(survivor)
  for (const status of answered) expect(status).toBe(201)
  for (const key of failed) expect([victim, null]).toContain(await makerOf(key))
  expect(await scrape()).toBeGreaterThanOrEqual(counted + 2)
})

/** Fresh orders, each on a connection of its own, a few at a time. */
function startTraffic() {
  const client = createClient(node.url)
  const keys: string[] = []
  const failed: string[] = []
  const answered: number[] = []
  let going = true
  const customer = async () => {
    while (going) {
      const key = freshKey()
      // A connection that nobody answers would be lost as well.
      const signal = AbortSignal.timeout(10_000)
      const sending = { method: 'POST', body: orderBody(), headers: { 'idempotency-key': key }, signal }
      await client.send('/api/orders', sending).then(
        ({ status }) => answered.push(status),
        (error) => {
          expect(error.code).toBe('ECONNRESET')
          failed.push(key)
        },
      )
      keys.push(key)
    }
  }
  const customers = Promise.all(Array.from({ length: 4 }, customer))
  return {
    untilAnswered: (count: number) =>
      until(
        async () => answered.length,
        (answers) => answers >= count,
      ),
    makers: () => Promise.all(keys.slice(-4).map(makerOf)),
    async stop() {
      going = false
      await customers
      return { failed, answered }
    },
  }
}

test('a serving process that gets SIGTERM answers its open requests, and is replaced', async () => {
  const [[pid, line]] = [...(await linesTo(node))] as [[number, Line]]
  const key = freshKey()
  const answer = line.order(key, orderBody({ paymentMethod: SLOW }))
  await untilMade(key)
  const counted = await scrape()
  process.kill(pid, 'SIGTERM')
  expect((await answer).status).toBe(201)
  await expect.poll(() => isAlive(pid), SOON).toBe(false)
  expect(await scrape()).toBe(counted)
  await expect.poll(async () => [...(await linesTo(node)).keys()].includes(pid), SOON).toBe(false)
})

test('a node that gets SIGTERM answers its open requests, and leaves no serving process behind', async () => {
  const lines = await linesTo(node)
  expect(lines.size).toBe(2)
  const keys = [...lines].map(([, line]) => ({ line, key: freshKey() }))
  const answers = keys.map(({ line, key }) => line.order(key, orderBody({ paymentMethod: SLOW })))
  await Promise.all(keys.map(({ key }) => untilMade(key)))
  expect(await node.stop('SIGTERM')).toBe(0)
  for (const { status } of await Promise.all(answers)) expect(status).toBe(201)
  for (const pid of lines.keys()) expect(isAlive(pid)).toBe(false)
})
