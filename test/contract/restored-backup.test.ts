// A database that came back from a backup, with a provider that forgets nothing: the runbook's one variable, and what
// clients get. The sandbox keeps its books in the same database, so they are carried over.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { withClient } from '../../scripts/postgres-client'
import {
  ADMIN_TOKEN,
  type Answer,
  type Client,
  countCharges,
  createClient,
  freshKey,
  type OrderView,
  orderBody,
  type ProblemView,
  type RecordView,
  type RefundView,
  SECRETS,
  send,
  until,
} from '../support/client'
import { cloneDatabase } from '../support/database'
import { commandsUnder, paste, pasteAndServe, type Served } from '../support/documented'
import { startNode, type TestNode } from '../support/node'
import { expectProblem } from '../support/problem'
import { SHORT_TIMES } from '../support/site'
import { runSql } from '../support/tenant'

const TOOLS = commandsUnder('docs/runbooks.md', 'Before you begin')
const ENV = { ...SECRETS, ...SHORT_TIMES }
/** Where nothing is to run out of time: a database that is copied keeps its server from the disk for seconds. */
const UNHURRIED = { ...ENV, GATEWAY_TIMEOUT_MS: '10000', LEASE_SECONDS: '60' }

const OPERATOR = { authorization: `Bearer ${ADMIN_TOKEN}` }

const names: string[] = []
const urlOf = (name: string) => Object.assign(new URL(inject('postgresUrl')), { pathname: `/${name}` }).href

async function copyOf(url: string): Promise<string> {
  const name = `copy_${randomBytes(6).toString('hex')}`
  const from = new URL(url).pathname.slice(1)
  await withClient(inject('postgresUrl'), (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY FILE_COPY`),
  )
  names.push(name)
  return urlOf(name)
}

/** The database as it was at the backup, and the provider as it is now. */
async function restore(): Promise<string> {
  const url = await copyOf(backup)
  const [books] = await runSql<{ charges: string }>(
    lost.url,
    'SELECT json_agg(c)::text AS charges FROM sandbox.charges c',
  )
  await runSql(url, 'DELETE FROM sandbox.charges')
  await runSql(
    url,
    'INSERT INTO sandbox.charges SELECT * FROM json_populate_recordset(NULL::sandbox.charges, $1::json)',
    [books!.charges],
  )
  return url
}

const reconcile = (url: string, id: string) =>
  send(`${url}/api/admin/keys/${id}/reconcile`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: {},
  })

const sent = {
  /** Ended before the backup. */
  ended: { key: freshKey(), body: orderBody() },
  /** Unknown in the backup, and found out in the gap. */
  underWay: { key: freshKey(), body: orderBody({ paymentMethod: 'pm_timeout_charged' }) },
  /** Accepted before the backup, and run in the gap. */
  accepted: { key: freshKey(), body: orderBody() },
  /** First sent in the gap. */
  ofTheGap: { key: freshKey(), body: orderBody() },
  declinedInTheGap: { key: freshKey(), body: orderBody({ paymentMethod: 'pm_declined' }) },
  /** And sent again with another body. */
  reused: { key: freshKey(), body: orderBody() },
  refundOfTheGap: { key: freshKey(), body: { amountCents: 500 } },
}
type Sent = keyof Omit<typeof sent, 'refundOfTheGap'>
const order = (client: Client, which: Sent, headers: Record<string, string> = {}): Promise<Answer> =>
  client.order(sent[which].key, sent[which].body, headers)
const chargesFor = (url: string, which: Sent) => countCharges(url, sent[which].body.customerId)

let lost: Awaited<ReturnType<typeof cloneDatabase>>
let backup: string
let restoredFrom: string
let first: Answer
let foundOut: OrderView
let gapOrder: OrderView
let gapRefund: RefundView

beforeAll(async () => {
  lost = await cloneDatabase()
  const before = await startNode({ databaseUrl: lost.url, env: { ...ENV, WORKER: 'off' } })
  const early = createClient(before.url)
  first = await order(early, 'ended')
  expect((await order(early, 'underWay')).status).toBe(504)
  expect((await order(early, 'accepted', { prefer: 'respond-async' })).status).toBe(202)
  await before.stop()
  backup = await copyOf(lost.url)
  const [last] = await runSql<{ at: Date }>(lost.url, 'SELECT clock_timestamp() AS at')
  restoredFrom = last!.at.toISOString()

  const gap = await startNode({ databaseUrl: lost.url, env: UNHURRIED })
  const client = createClient(gap.url)
  const state = async (which: Sent) => (await client.record(sent[which].key)).json<RecordView>().state
  await until(
    () => state('accepted'),
    (now) => now === 'completed',
  )
  const [unknown] = await runSql<{ id: string }>(lost.url, `SELECT id FROM idempotency_records WHERE state = 'unknown'`)
  expect((await reconcile(gap.url, unknown!.id)).status).toBe(200)
  foundOut = (await order(client, 'underWay')).json()
  gapOrder = (await order(client, 'ofTheGap')).json()
  expect((await order(client, 'declinedInTheGap')).status).toBe(402)
  expect((await order(client, 'reused')).status).toBe(201)
  const { id } = first.json<OrderView>()
  gapRefund = (await client.refund(id, sent.refundOfTheGap.key, sent.refundOfTheGap.body)).json()
  expect([foundOut.status, gapOrder.status, gapRefund.status]).toEqual(['paid', 'paid', 'succeeded'])
  await gap.stop()
})
afterAll(async () => {
  for (const name of names)
    await withClient(inject('postgresUrl'), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`))
  await lost?.drop()
})

const ready = async (url: string) => (await (await fetch(`${url}/api/ready`)).json()) as { restore?: string }
const untilListed = (url: string) =>
  until(
    () => ready(url),
    ({ restore }) => restore === 'done',
  )
const restoreRuns = async (url: string) => {
  const { items } = (await send(`${url}/api/admin/runs?kind=restore`, { headers: OPERATOR })).json<{
    items: { kind: string; state: string; counts: Record<string, number> }[]
  }>()
  return items.map(({ kind, state, counts }) => ({ kind, state, counts }))
}

async function expectRestoring(client: Client): Promise<void> {
  for (const prefer of ['wait=0', 'respond-async']) {
    const held = await order(client, 'ofTheGap', { prefer })
    const { retry } = expectProblem(held, 503, 'restore_in_progress', 'later')
    expect(retry.afterSeconds).toBeLessThanOrEqual(7)
  }
  expect((await order(client, 'ended')).bytes).toEqual(first.bytes)
  expect((await order(client, 'underWay')).json<ProblemView>().code).toBe('idempotency_outcome_unknown')
}

async function expectOutcomesOfTheGap(node: { url: string }): Promise<void> {
  const client = createClient(node.url)
  const again = await order(client, 'ofTheGap')
  expect(again.status).toBe(201)
  expect(again.headers['idempotent-replayed']).toBeUndefined()
  const placed = again.json<OrderView>()
  expect(placed.payment).toMatchObject({ providerRef: gapOrder.payment!.providerRef })
  expect((await order(client, 'ofTheGap')).bytes).toEqual(again.bytes)
  expect((await client.get(`/api/orders/${placed.id}`)).status).toBe(200)
  expect(await chargesFor(node.url, 'ofTheGap')).toBe(1)

  const declined = await order(client, 'declinedInTheGap')
  expectProblem(declined, 402, 'payment_declined', 'new')

  const { id } = first.json<OrderView>()
  const refund = await client.refund(id, sent.refundOfTheGap.key, sent.refundOfTheGap.body)
  expect(refund.status).toBe(201)
  expect(refund.json<RefundView>().providerRef).toBe(gapRefund.providerRef)
  expect(await countCharges(node.url, sent.ended.body.customerId, 'refund')).toBe(1)
}

async function expectReuseLeftToPeople(node: { url: string }, databaseUrl: string): Promise<void> {
  const client = createClient(node.url)
  const other = orderBody()
  expectProblem(await client.order(sent.reused.key, other), 504, 'payment_outcome_unknown', 'later')
  const { retry } = expectProblem(
    await client.order(sent.reused.key, other),
    409,
    'idempotency_outcome_unknown',
    'later',
  )
  expect(retry.afterSeconds).toBe(300)
  expect(await countCharges(node.url, other.customerId)).toBe(0)
  const [record] = await runSql(
    databaseUrl,
    `SELECT r.id, state, last_error_code, dead_lettered_at IS NOT NULL AS dead, d.kind
     FROM idempotency_records r JOIN discrepancies d ON d.record_id = r.id WHERE r.key = '${sent.reused.key}'`,
  )
  expect(record).toMatchObject({
    state: 'unknown',
    last_error_code: 'restored_differs',
    dead: true,
    kind: 'restored_differs',
  })
}

describe.each(['true', 'false'])('a restored database with RESTORED_FROM, where SANDBOX_IDEMPOTENT is %s,', (keys) => {
  let databaseUrl: string
  let node: TestNode
  beforeAll(async () => {
    databaseUrl = await restore()
    node = await startNode({ databaseUrl, env: { ...ENV, RESTORED_FROM: restoredFrom, SANDBOX_IDEMPOTENT: keys } })
  })
  afterAll(() => node?.stop())

  test('answers 503 to what would begin until the gap is listed, and replays what it knows', async () => {
    expect(await ready(node.url)).toEqual({ status: 'ready', restore: 'running' })
    await expectRestoring(createClient(node.url))
    await untilListed(node.url)
    expect(await restoreRuns(node.url)).toMatchObject([{ state: 'succeeded', counts: { withoutDigest: 0 } }])
  })

  test('gives keys of the gap the outcome that the provider has', () => expectOutcomesOfTheGap(node))

  test('leaves a key of the gap to a person when it comes with another request', () =>
    expectReuseLeftToPeople(node, databaseUrl))

  test('charges an accepted order once that was run in the gap', async () => {
    const client = createClient(node.url)
    const state = async () => (await client.record(sent.accepted.key)).json<RecordView>().state
    await until(state, (now) => now === 'completed')
    expect(await chargesFor(node.url, 'accepted')).toBe(1)
  })

  test('charges new keys', async () => {
    expect((await createClient(node.url).order(freshKey(), orderBody())).status).toBe(201)
  })
})

test('a restore run whose node is killed is gone on with by another node, and is one run over all nodes', async () => {
  const databaseUrl = await restore()
  const env = { ...ENV, RESTORED_FROM: restoredFrom, WORKER: 'off' }
  const killed = await startNode({ databaseUrl, env })
  await until(
    () => restoreRuns(killed.url),
    (runs) => runs.length === 1,
  )
  await killed.kill()
  const nodes = await Promise.all([startNode({ databaseUrl, env }), startNode({ databaseUrl, env })])
  try {
    for (const { url } of nodes) await untilListed(url)
    expect(await restoreRuns(nodes[0]!.url)).toMatchObject([{ state: 'succeeded' }])
    await expectOutcomesOfTheGap(nodes[1]!)
  } finally {
    for (const node of nodes) await node.stop()
  }
})

test('without RESTORED_FROM, a key of the gap is charged again when it is resent', async () => {
  const node = await startNode({ databaseUrl: await restore(), env: { ...UNHURRIED, WORKER: 'off' } })
  try {
    expect(await ready(node.url)).toEqual({ status: 'ready' })
    expect((await order(createClient(node.url), 'ofTheGap')).status).toBe(201)
    expect(await chargesFor(node.url, 'ofTheGap')).toBe(2)
  } finally {
    await node.stop()
  }
})

test('the runbook restores, starts with one variable, and finds the charges whose clients have not come back', async () => {
  const databaseUrl = await restore()
  const [migrate] = commandsUnder('docs/runbooks.md', '2. Restore, and bring the schema up to date')
  expect(await paste([migrate!], { DATABASE_URL: databaseUrl })).toMatchObject({ code: 0, tail: '' })
  const [serve, wait] = commandsUnder('docs/runbooks.md', '3. Start the nodes')
  const inTheExample = /RESTORED_FROM=\S+/
  expect(serve).toMatch(inTheExample)
  const node = await pasteAndServe(serve!.replace(inTheExample, `RESTORED_FROM=${restoredFrom}`), {
    ...ENV,
    DATABASE_URL: databaseUrl,
    PORT: '0',
  })
  try {
    await followUntilClosed(node, wait!)
  } finally {
    await node.stop()
  }
})

async function followUntilClosed({ url }: Served, wait: string): Promise<void> {
  const follow = async (blocks: readonly string[]): Promise<string> => {
    const { code, tail, output } = await paste([...TOOLS, ...blocks], {
      ONCEOVER_URL: url,
      OPERATOR_TOKEN: ADMIN_TOKEN,
    })
    expect({ code, tail }).toEqual({ code: 0, tail: '' })
    return output
  }
  expect(await follow([wait])).toContain('keptOfRestore')
  expect((await order(createClient(url), 'ofTheGap')).status).toBe(201)

  const [compare, close] = commandsUnder('docs/runbooks.md', '4. Compare the books')
  const found = await until(
    () => follow([compare!]),
    (output) => output.includes(gapRefund.providerRef!),
  )
  expect(found).not.toContain(gapOrder.payment!.providerRef)
  expect(await follow([close!])).toContain('the client has sent the key again')
}
