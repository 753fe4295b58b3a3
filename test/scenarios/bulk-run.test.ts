// A node dies, or is stopped, in the middle of a bulk run. Another one does the rest, and only the rest.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN_TOKEN, type Client, createClient, freshKey, orderBody, SECRETS, send, until } from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { startNode, type TestNode } from '../support/node'
import { SHORT_TIMES } from '../support/site'
import { runSql } from '../support/tenant'

const KEYS = 45
const BATCH = 20
/** How long a look-up waits for a provider that does not answer: time enough to catch a node in a batch. */
const LIMIT_MS = 2000
const ENV = { ...SECRETS, ...SHORT_TIMES, GATEWAY_TIMEOUT_MS: String(LIMIT_MS), LEASE_SECONDS: '5' }

interface RunView {
  id: string
  state: string
  done: number
  items: { recordId: string; outcome: { verdict: string; settled: boolean } | null }[]
}

let database: TestDatabase
let survivor: TestNode
let client: Client
beforeAll(async () => {
  database = await cloneDatabase()
  survivor = await startNode({ databaseUrl: database.url, env: ENV })
  client = createClient(survivor.url)
})
afterAll(async () => {
  await survivor?.stop()
  await database?.drop()
})

const sql = <Row>(text: string, values: unknown[] = []) => runSql<Row>(database.url, text, values)

/** Charged, with the answer lost. */
async function unknownKeys(): Promise<string[]> {
  const keys = Array.from({ length: KEYS }, freshKey)
  await Promise.all(keys.map((key) => client.order(key, orderBody({ paymentMethod: 'pm_timeout_charged' }))))
  const rows = await sql<{ id: string }>(
    `SELECT id FROM idempotency_records WHERE key = ANY($1) AND state = 'unknown' ORDER BY id`,
    [keys],
  )
  expect(rows).toHaveLength(KEYS)
  return rows.map(({ id }) => id)
}

/** The provider takes every question and answers none, until this is called off. */
async function silentProvider(): Promise<() => Promise<void>> {
  const holder = new pg.Client({ connectionString: database.url })
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('LOCK TABLE sandbox.charges IN ACCESS EXCLUSIVE MODE')
  return () => holder.end()
}

const asOperator = (url: string, path: string, body?: unknown) =>
  send(new URL(`/api/admin/${path}`, url), {
    method: body ? 'POST' : 'GET',
    body,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
  })
const runOf = async (id: string) => (await asOperator(survivor.url, `runs/${id}?limit=200`)).json<RunView>()

/** A run that a node of its own has begun: the first batch is done, the second one is in hand. */
async function inTheSecondBatch(ids: string[]): Promise<{ runId: string; node: TestNode; answer(): Promise<void> }> {
  const node = await startNode({ databaseUrl: database.url, env: { ...ENV, WORKER: 'off' } })
  const answer = await silentProvider()
  const made = await asOperator(node.url, 'keys/bulk', { action: 'reconcile', ids, reason: 'the provider is back' })
  const { id: runId } = made.json<RunView>()
  await until(
    () => runOf(runId),
    ({ done }) => done === BATCH,
  )
  return { runId, node, answer }
}

async function expectOnlyTheRest(runId: string, ids: string[]): Promise<void> {
  const run = await until(
    () => runOf(runId),
    ({ state }) => state !== 'running',
    20_000,
  )
  expect(run).toMatchObject({ state: 'succeeded', done: KEYS })
  expect(run.items.map(({ recordId }) => recordId)).toEqual(ids)
  const verdicts = run.items.map(({ outcome }) => outcome?.verdict)
  expect(verdicts.slice(0, BATCH)).toEqual(Array(BATCH).fill('unreachable'))
  expect(new Set(run.items.slice(2 * BATCH).map(({ outcome }) => outcome?.verdict))).toEqual(new Set(['succeeded']))
  const settled = run.items.filter(({ outcome }) => outcome?.settled).map(({ recordId }) => recordId)
  const [booked] = await sql<{ keys: number; rows: number }>(
    'SELECT count(DISTINCT record_id)::int AS keys, count(*)::int AS rows FROM ledger_entries WHERE record_id = ANY($1)',
    [ids],
  )
  expect(booked).toEqual({ keys: settled.length, rows: settled.length })
}

describe('a bulk run whose node', () => {
  test('is killed continues on another node after a minute without a heartbeat', async () => {
    const ids = await unknownKeys()
    const { runId, node, answer } = await inTheSecondBatch(ids)
    await node.kill()
    await answer()
    expect((await runOf(runId)).done).toBe(BATCH)
    await sql(`UPDATE runs SET heartbeat_at = clock_timestamp() - interval '61 s' WHERE id = $1`, [runId])
    await expectOnlyTheRest(runId, ids)
  })

  test('is stopped continues on another node at once', async () => {
    const ids = await unknownKeys()
    const { runId, node, answer } = await inTheSecondBatch(ids)
    const stopped = node.stop()
    expect(await stopped).toBe(0)
    await answer()
    await expectOnlyTheRest(runId, ids)
  })
})
