// The retry logic that HTTP clients come with, set up as /docs shows it: whatever goes wrong, the program ends with the
// right answer and there is one charge. The provider of these tests has no idempotency keys of its own.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  countCharges,
  createClient,
  freshKey,
  type OrderView,
  orderBody,
  type RecordView,
  SECRETS,
} from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { HOLDABLE, startNode, type TestNode } from '../support/node'
import { runSql } from '../support/tenant'
import { type Ended, openFolder, PROGRAMS, type Program, type Sent } from './clients/programs'

const ENV = { ...SECRETS, SANDBOX_IDEMPOTENT: 'false' }
const QUICK = { ...ENV, ...HOLDABLE, GATEWAY_TIMEOUT_MS: '3000', LEASE_SECONDS: '7', SETTLE_SECONDS: '1' }

let database: TestDatabase
let node: TestNode
beforeAll(async () => {
  const missing = PROGRAMS.filter(({ isRun }) => !isRun).map(({ name }) => name)
  if (missing.length > 0) console.warn(`Its runtime is not installed, so its requests are sent raw: ${missing}`)
  database = await cloneDatabase()
  node = await startNode({ databaseUrl: database.url, env: QUICK })
})
afterAll(async () => {
  await node?.stop()
  await database?.drop()
})

interface Scenario {
  when: string
  paymentMethod: string
  /** The time-out of each try, where it is not the one that is shown. */
  trySeconds?: number
  /** The first try got no answer, so the last one gets a replay. */
  replayed?: boolean
  /** The node is killed when it has charged all of them and answered none. */
  killed?: boolean
}

const SCENARIOS: readonly Scenario[] = [
  { when: 'the provider refuses the first call', paymentMethod: 'pm_refused_once' },
  { when: 'the answer of the charge is lost', paymentMethod: 'pm_timeout_charged', replayed: true },
  { when: 'the first call never arrives', paymentMethod: 'pm_timeout_lost_once' },
  { when: 'the order outlasts its time-out of 1 s', paymentMethod: 'pm_slow_2000', trySeconds: 1, replayed: true },
  { when: 'the node is killed between charge and answer', paymentMethod: 'pm_ok', killed: true },
]

/** All programs at once, each with an order of its own. */
async function runAll({ paymentMethod, trySeconds, killed }: Omit<Scenario, 'when'>) {
  const folder = openFolder({ trySeconds })
  try {
    if (killed) await node.hold('called')
    const { url } = node
    const runs = PROGRAMS.map(async ({ name }) => {
      const sent = { url, key: freshKey(), request: orderBody({ paymentMethod }) }
      return [name, { ...sent, ...(await folder.run(name, sent)) }] as const
    })
    if (killed) {
      await node.held(PROGRAMS.length)
      await node.kill()
      node = await startNode({ databaseUrl: database.url, env: QUICK, port: Number(new URL(url).port) })
    }
    return new Map(await Promise.all(runs))
  } finally {
    folder.remove()
  }
}

async function replaysOf(key: string): Promise<number> {
  const sql = 'SELECT replay_count FROM idempotency_records WHERE key = $1'
  const [row] = await runSql<{ replay_count: number }>(database.url, sql, [key])
  return row!.replay_count
}

const titled = PROGRAMS.map((program) => ({
  ...program,
  title: program.isRun ? program.name : `${program.name} (sent raw)`,
}))

describe.each(SCENARIOS)('when $when', (scenario) => {
  let runs: Map<Program['name'], Sent & Ended>
  beforeAll(async () => {
    runs = await runAll(scenario)
  })

  test.each(titled)('$title ends with the order, and there is one charge', async ({ name }) => {
    const { code, output, order, key, request } = runs.get(name)!
    const client = createClient(node.url)
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(order).toMatchObject({ status: 'paid', customerId: request.customerId })
    expect((await client.get(`/api/orders/${order!.id}`)).json<OrderView>()).toEqual(order)
    expect((await client.record(key)).json<RecordView>()).toMatchObject({
      state: 'completed',
      resource: { id: order!.id },
    })
    expect(await countCharges(node.url, request.customerId)).toBe(1)
    if (scenario.replayed) await expect.poll(() => replaysOf(key)).toBeGreaterThan(0)
  })
})

describe('when the payment is declined', () => {
  let runs: Map<Program['name'], Sent & Ended>
  beforeAll(async () => {
    runs = await runAll({ paymentMethod: 'pm_declined' })
  })

  test.each(titled)('$title fails with the 402 and does not retry it', async ({ name }) => {
    const { code, seconds } = runs.get(name)!
    expect(code).not.toBe(0)
    expect(seconds).toBeLessThan(30)
  })
})

test('with the default settings, a client that comes back as Retry-After says has its order within seconds of a 504', async () => {
  const own = await cloneDatabase()
  const patient = await startNode({ databaseUrl: own.url, env: ENV })
  try {
    const [key, body] = [freshKey(), orderBody({ paymentMethod: 'pm_timeout_charged' })]
    const answers: { status: number; afterSeconds: number; atMs: number }[] = []
    do {
      const { status, headers } = await createClient(patient.url).order(key, body)
      const afterSeconds = Number(headers['retry-after'] ?? 0)
      answers.push({ status, afterSeconds, atMs: performance.now() })
      await new Promise((resolve) => setTimeout(resolve, afterSeconds * 1000))
    } while (answers.at(-1)!.afterSeconds > 0)
    expect(answers[0]).toMatchObject({ status: 504 })
    expect(answers.at(-1)).toMatchObject({ status: 201 })
    for (const { status, afterSeconds } of answers.slice(1, -1)) expect([status, afterSeconds]).toEqual([409, 1])
    // The reconciler's interval is 30 s.
    expect(answers.at(-1)!.atMs - answers[0]!.atMs).toBeLessThan(10_000)
    expect(await countCharges(patient.url, body.customerId)).toBe(1)
  } finally {
    await patient.stop()
    await own.drop()
  }
})
