// A database that is there and says nothing: worse than one that is gone, because whoever asks it waits. The circuit is
// for this.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Client, countCharges, createClient, freshKey, orderBody, SECRETS, send, until } from '../support/client'
import { cloneDatabase } from '../support/database'
import { type Line, openLine } from '../support/line'
import { startNode } from '../support/node'
import { expectProblem } from '../support/problem'
import { SHORT_TIMES } from '../support/site'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let line: Line
let node: Awaited<ReturnType<typeof startNode>>
let client: Client
beforeAll(async () => {
  database = await cloneDatabase()
  line = await openLine(database.url)
  node = await startNode({ databaseUrl: line.url, env: { ...SECRETS, ...SHORT_TIMES } })
  client = createClient(node.url)
})
afterAll(async () => {
  await line?.heal()
  await node?.stop()
  await line?.close()
  await database?.drop()
})

async function timed<T>(promise: Promise<T>): Promise<[T, number]> {
  const startedAt = performance.now()
  return [await promise, performance.now() - startedAt]
}

test('with a silent database every request gets 503, only probes wait once the circuit is open, and the node recovers by itself', async () => {
  const { key, body } = { key: freshKey(), body: orderBody() }
  expect((await client.order(freshKey(), orderBody())).status).toBe(201)

  line.silence('up', 'down')
  const first = await Promise.all(Array.from({ length: 8 }, () => timed(client.order(freshKey(), body))))
  for (const [answer, ms] of first) {
    expectProblem(answer, 503, 'idempotency_store_unavailable', 'later')
    expect(ms).toBeLessThan(15_000)
  }

  // Connections that were open when the database fell silent fail by a time limit, and a batch of requests fails as one.
  await until(
    () => timed(client.order(freshKey(), body)),
    ([, ms]) => ms < 1000,
  )
  // Over the time of several probes; those that are not let through must not wait for the one that is.
  const asked: Promise<number>[] = []
  for (const endsAt = performance.now() + 7000; performance.now() < endsAt; ) {
    asked.push(
      timed(client.order(key, body)).then(([answer, ms]) => {
        expectProblem(answer, 503, 'idempotency_store_unavailable', 'later')
        return ms
      }),
    )
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const slow = (await Promise.all(asked)).filter((ms) => ms > 1000)
  expect(slow.length).toBeLessThanOrEqual(4)
  expect((await send(`${client.url}/api/health`)).status).toBe(200)
  expect((await send(`${client.url}/api/ready`)).status).toBe(503)

  await line.heal()
  const answer = await until(
    () => client.order(key, body),
    ({ status }) => status === 201,
    8000,
  )
  expect(answer.headers['idempotent-replayed']).toBeUndefined()
  expect(await countCharges(client.url, body.customerId)).toBe(1)
  expect((await send(`${client.url}/api/ready`)).status).toBe(200)
})
