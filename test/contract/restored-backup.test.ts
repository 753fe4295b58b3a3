// A database that came back from a backup, with a provider that forgets nothing: what the guarantee does not cover, and
// the runbook that covers it by hand. The sandbox keeps its books in the same database, so they are carried over.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { withClient } from '../../scripts/postgres-client'
import {
  ADMIN_TOKEN,
  type Answer,
  API_KEY,
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
import { startNode } from '../support/node'
import { SHORT_TIMES } from '../support/site'
import { runSql } from '../support/tenant'

const TOOLS = commandsUnder('docs/runbooks.md', 'Before you begin')
const ENV = { ...SECRETS, ...SHORT_TIMES }
/** Where nothing is to run out of time: a database that is copied keeps its server from the disk for seconds. */
const UNHURRIED = { ...ENV, GATEWAY_TIMEOUT_MS: '10000', LEASE_SECONDS: '60' }
const AN_HOUR_MS = 3_600_000

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
  refundOfTheGap: { key: freshKey(), body: { amountCents: 500 } },
}
type Sent = keyof Omit<typeof sent, 'refundOfTheGap'>
const order = (client: Client, which: Sent, headers: Record<string, string> = {}): Promise<Answer> =>
  client.order(sent[which].key, sent[which].body, headers)
const chargesFor = (url: string, which: Sent) => countCharges(url, sent[which].body.customerId)

let lost: Awaited<ReturnType<typeof cloneDatabase>>
let backup: string
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

test('after a restore, a key first used after the backup is charged again when it is resent, even if the provider honours keys', async () => {
  const node = await startNode({ databaseUrl: await restore(), env: { ...UNHURRIED, WORKER: 'off' } })
  try {
    expect(await chargesFor(node.url, 'ofTheGap')).toBe(1)
    const again = await order(createClient(node.url), 'ofTheGap')
    expect(again.status).toBe(201)
    expect(again.headers['idempotent-replayed']).toBeUndefined()
    expect(await chargesFor(node.url, 'ofTheGap')).toBe(2)
  } finally {
    await node.stop()
  }
})

test('after a restore by the runbook, nothing is charged or refunded again, and every lost charge is found', async () => {
  const databaseUrl = await restore()
  const [migrate] = commandsUnder('docs/runbooks.md', '2. Restore, and bring the schema up to date')
  expect(await paste([migrate!], { DATABASE_URL: databaseUrl })).toMatchObject({ code: 0, tail: '' })
  const [serve] = commandsUnder('docs/runbooks.md', '3. Start one node that no client can reach, without a worker')
  const node = await pasteAndServe(serve!, { ...ENV, DATABASE_URL: databaseUrl, PORT: '0' })
  try {
    await followUntilOpen(node)
  } finally {
    await node.stop()
  }
  await expectAcceptedOnce(databaseUrl)
})

async function followUntilOpen({ url }: Served): Promise<void> {
  const client = createClient(url)
  const { id: orderId } = first.json<OrderView>()
  const follow = async (blocks: readonly string[]): Promise<string> => {
    const { code, tail, output } = await paste([...TOOLS, ...blocks], {
      ONCEOVER_URL: url,
      OPERATOR_TOKEN: ADMIN_TOKEN,
    })
    expect({ code, tail }).toEqual({ code: 0, tail: '' })
    return output
  }

  // 4: what is not known is not run. Nobody has asked this node for the tenant before, so it holds at once.
  await follow(commandsUnder('docs/runbooks.md', 'Stop new keys'))
  expect((await order(client, 'ofTheGap')).status).toBe(429)
  const refund = await client.refund(orderId, sent.refundOfTheGap.key, sent.refundOfTheGap.body)
  expect(refund.status).toBe(429)
  expect((await order(client, 'ended')).bytes).toEqual(first.bytes)

  // 5 and 6: what the restored database knows is found out by its own key.
  const reported = await follow(commandsUnder('docs/runbooks.md', '5. Ask about what was accepted for later'))
  expect(reported).toMatch(/"verdict":"succeeded","state":"pending"/)
  await follow(commandsUnder('docs/runbooks.md', '6. Find out about what was under way'))
  const settled = (await order(client, 'underWay')).json<OrderView>()
  const { payment, ...same } = foundOut
  expect(settled).toMatchObject({ ...same, payment: { providerRef: payment!.providerRef } })
  expect(settled.payment!.id).not.toBe(payment!.id)
  expect(await chargesFor(url, 'underWay')).toBe(1)

  // 7 and 8: what it does not know is at the provider.
  const compare = commandsUnder('docs/runbooks.md', '7. Compare the books')
  const found = await until(
    () => follow(compare),
    (output) => output.includes(gapRefund.providerRef!),
  )
  expect(found).toContain(gapOrder.payment!.providerRef)
  expect(found.match(/providerKey/g)).toHaveLength(2)
  const closed = await follow(commandsUnder('docs/runbooks.md', '8. Decide each of them, with its tenant'))
  expect(closed).toContain('given back at the provider')
  expect(await chargesFor(url, 'ofTheGap')).toBe(1)
  expect(await countCharges(url, sent.ended.body.customerId, 'refund')).toBe(1)
}

/** A provider that honours keys answers the worker with the charge that it has. */
async function expectAcceptedOnce(databaseUrl: string): Promise<void> {
  const [open] = commandsUnder('docs/runbooks.md', '9. Open again')
  const stoppedAt = new Date(Date.now() - AN_HOUR_MS)
  const env = { ...UNHURRIED, DATABASE_URL: databaseUrl, PORT: '0', STOPPED_AT: stoppedAt.toISOString() }
  await runSql(databaseUrl, 'UPDATE tenants SET new_keys_per_minute = 600000')
  const node = await pasteAndServe(open!, env)
  try {
    const client = createClient(node.url)
    const state = async () => (await client.record(sent.accepted.key)).json<RecordView>().state
    await until(state, (now) => now === 'completed')
    expect(await chargesFor(node.url, 'accepted')).toBe(1)

    // 9: by the time at which it was first made, a request of the gap is refused; so is one that does not say.
    const madeInTheGap = { date: new Date(stoppedAt.getTime() - 60_000).toUTCString() }
    for (const headers of [madeInTheGap, {}]) {
      const refused = await order(client, 'ofTheGap', headers)
      expect({ status: refused.status, code: refused.json<ProblemView>().code }).toEqual({
        status: 400,
        code: 'request_too_old',
      })
    }
    expect(await chargesFor(node.url, 'ofTheGap')).toBe(1)
    const fresh = await client.order(freshKey(), orderBody(), { date: new Date().toUTCString() })
    expect(fresh.status).toBe(201)
  } finally {
    await node.stop()
  }
}

test('after a restore, a worker that is started too early charges an accepted order again if the provider ignores keys', async () => {
  const env = { ...UNHURRIED, SANDBOX_IDEMPOTENT: 'false' }
  const node = await startNode({ databaseUrl: await restore(), env })
  try {
    const client = createClient(node.url, API_KEY)
    const state = async () => (await client.record(sent.accepted.key)).json<RecordView>().state
    await until(state, (now) => now === 'completed')
    expect(await chargesFor(node.url, 'accepted')).toBe(2)
  } finally {
    await node.stop()
  }
})
