// A database that the first release filled is migrated forward under that release's traffic, and its nodes go on beside
// new ones: no statement of theirs fails or waits for long, each key is charged once, and an answer is the same whoever
// gives it. The provider has no idempotency keys of its own, so whoever called twice would charge twice.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../lib/audit/verify'
import { openStore } from '../../lib/db/store'
import { migrateJobs } from '../../lib/jobs/worker'
import {
  ADMIN_TOKEN,
  type Answer,
  type Client,
  createClient,
  freshKey,
  orderBody,
  REFUNDS,
  type RecordView,
  SECRETS,
  send,
  until,
} from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { startNode, type TestNode } from '../support/node'
import { expectProblem } from '../support/problem'
import { SHORT_TIMES } from '../support/site'
import { addTenant, type TestTenant } from '../support/tenant'
import { catalogue, deploy, deployFirstRelease, prisma } from './upgrade/deploy'
import { type Filled, fillEveryState } from './upgrade/every-state'
import { type Attempt, type FirstReleaseNode, openFirstReleaseNode } from './upgrade/first-release-node'
import { emptyDatabase, expectSound } from './upgrade/upgraded-database'

const TIMES = { leaseMs: 3000, settleMs: 1000 }
/** A migration may hold a lock for as long as a catalogue entry takes to write, and not for as long as a table to read. */
const LONGEST_MS = 2000

describe('upgrade from the first release under traffic', () => {
  const env = {
    ...SECRETS,
    ...SHORT_TIMES,
    SANDBOX_IDEMPOTENT: 'false',
    SWEEP_INTERVAL_SECONDS: '0.25',
    RECONCILE_INTERVAL_SECONDS: '0.25',
  }
  let database: TestDatabase
  let url: string
  let db: pg.Pool
  let tenant: TestTenant
  let old: FirstReleaseNode
  let filled: Filled
  let nodes: TestNode[] = []
  let one: Client
  let other: Client
  let stopWriters: () => Promise<void>
  const written: { key: string; order: ReturnType<typeof orderBody>; body: string }[] = []

  /** Clients of the old node: each sends an order, and the same again, as long as it is let. */
  function writers(count: number): () => Promise<void> {
    let going = true
    const write = async () => {
      while (going) {
        const request = { key: freshKey(), order: orderBody({ note: 'Grüße 🚀' }) }
        const first = await old.order(request.key, request.order)
        const again = await old.order(request.key, request.order)
        expect([first.status, again.status, again.replayed, again.body]).toEqual([201, 201, true, first.body])
        written.push({ ...request, body: first.body })
      }
    }
    const all = Promise.allSettled(Array.from({ length: count }, write))
    return async () => {
      going = false
      for (const end of await all) if (end.status === 'rejected') throw end.reason
    }
  }

  beforeAll(async () => {
    database = await emptyDatabase()
    url = database.url
    await deployFirstRelease(url)
    await migrateJobs(url)
    db = new pg.Pool({ connectionString: url, max: 4 })
    tenant = await addTenant(url)
    old = openFirstReleaseNode(url, tenant.id, TIMES)
    filled = await fillEveryState(old, db)
    stopWriters = writers(2)
    // two hosts of one deploy
    await Promise.all([deploy(url), deploy(url)])
    const start = () => startNode({ databaseUrl: url, env })
    nodes = await Promise.all([start(), start()])
    one = createClient(nodes[0]!.url, tenant.apiKey)
    other = createClient(nodes[1]!.url, tenant.apiKey)
  })
  afterAll(async () => {
    await stopWriters?.().catch(() => {})
    await Promise.all(nodes.map((node) => node.stop()))
    await old?.close()
    await db?.end()
    await database?.drop()
  })

  const replayed = (answer: Answer) => answer.headers['idempotent-replayed'] === 'true'
  const charges = async ({ recordId }: Attempt) =>
    (
      await db.query(`SELECT FROM sandbox.charges WHERE provider_key = $1 AND status = 'succeeded'`, [
        `onceover-${recordId}`,
      ])
    ).rowCount
  /** Asks both new nodes until the key has its final answer. */
  const final = (key: string, order: unknown) =>
    until(
      () => one.order(key, order),
      ({ status }) => status === 201,
      15_000,
    )

  it('new nodes replay the old node’s answers byte for byte', async () => {
    for (const client of [one, other]) {
      for (const { key, order, answer } of [filled.paid, filled.declined]) {
        const replay = await client.order(key, order)
        expect([replay.status, replay.bytes.toString(), replayed(replay)]).toEqual([answer.status, answer.body, true])
        expect(replay.headers.location).toBe(answer.headers.location)
        expect(replay.headers['content-type']).toBe(answer.headers['content-type'])
        expectProblem(await client.order(key, orderBody()), 422, 'idempotency_key_reused', 'new')
      }
      const { key, orderId, answer } = filled.refund
      const replay = await client.refund(orderId, key, { amountCents: 1000 })
      expect([replay.status, replay.bytes.toString(), replayed(replay)]).toEqual([201, answer.body, true])
      expect((await client.get(answer.headers.location!)).json()).toEqual(JSON.parse(answer.body))
      expectProblem(
        await client.order(filled.expired.key, filled.expired.order),
        410,
        'idempotency_key_expired',
        'none',
      )
    }
  })

  it('a duplicate of a request that the old node is running gets 409, and a waiting one its answer', async () => {
    const { key, order, attempt } = filled.running
    expectProblem(await one.order(key, order), 409, 'idempotency_key_in_progress', 'later')
    const waiting = other.order(key, order, { prefer: 'wait=20' })
    await until(
      () => db.query('SELECT awaited FROM idempotency_records WHERE id = $1', [attempt.recordId]),
      ({ rows }) => rows[0].awaited,
    )
    const answer = await old.settle(attempt, await old.charge(attempt))
    expect((await waiting).bytes.toString()).toBe(answer?.body)
    expect(await charges(attempt)).toBe(1)
  })

  it('an old owner that the new sweeper fenced changes nothing, and its charge becomes the answer', async () => {
    const { key, order, attempt, charged } = filled.dead
    const answer = await final(key, order)
    expect(replayed(answer)).toBe(true)
    expect(answer.json<{ payment: { providerRef: string } }>().payment.providerRef).toBe(charged.ref)
    expect(await old.settle(attempt, charged)).toBeNull()
    expect(await old.release(attempt)).toBe(false)
    expect(await old.giveUp(attempt)).toBe(false)
    expect((await old.testify(attempt, charged.ref))?.state).toBe('completed')
    expect((await other.order(key, order)).bytes).toEqual(answer.bytes)
    expect(await charges(attempt)).toBe(1)
  })

  it.each(['uncalled', 'retryable', 'lost', 'charged'] as const)(
    '%s key of the old node: completed by the new nodes with one charge',
    async (which) => {
      const { key, order, attempt } = filled[which]
      const answer = await final(key, order)
      expect((await other.order(key, order)).bytes).toEqual(answer.bytes)
      expect(await old.order(key, order)).toEqual({ status: 201, body: answer.bytes.toString(), replayed: true })
      expect(await charges(attempt)).toBe(1)
    },
  )

  it('an order that the old node accepted is run by a new node’s worker', async () => {
    const { key, order } = filled.accepted
    await until(
      async () =>
        (
          await db.query(
            `SELECT state, (SELECT json_agg(j) FROM graphile_worker.jobs j) AS jobs
             FROM idempotency_records WHERE key = $1`,
            [key],
          )
        ).rows[0],
      ({ state }) => state === 'completed',
      30_000,
    )
    expect((await other.order(key, order)).status).toBe(201)
  })

  it('a refund that the old node left unknown is settled, and the refundable rest of its order is right', async () => {
    const { key, orderId, attempt } = filled.refundUnknown
    const settled = await until(
      () => one.refund(orderId, key, { amountCents: 700 }),
      ({ status }) => status === 201,
    )
    expect(replayed(settled)).toBe(true)
    expect(await charges(attempt)).toBe(1)
    expect((await one.record(key, REFUNDS)).json<RecordView>().state).toBe('completed')
    // 2500 less 1000, 700 and nothing of the one that was released
    expectProblem(await one.refund(orderId, freshKey(), { amountCents: 801 }), 409, 'refund_exceeds_order', 'new')
    expect((await other.refund(orderId, freshKey(), { amountCents: 800 })).status).toBe(201)
  })

  it('requests with one key at old and new nodes at once are executed once and get one answer', async () => {
    for (let round = 0; round < 20; round++) {
      const [key, order] = [freshKey(), orderBody()]
      const told = await Promise.all(
        Array.from({ length: 9 }, async (_, i) => {
          if (i % 3 === 0) return old.order(key, order)
          const answer = await (i % 3 === 1 ? one : other).order(key, order)
          return { status: answer.status, body: answer.bytes.toString(), replayed: replayed(answer) }
        }),
      )
      const firsts = told.filter(({ status, replayed }) => status === 201 && !replayed)
      expect(firsts).toHaveLength(1)
      for (const { status, body } of told) {
        expect([201, 409]).toContain(status)
        if (status === 201) expect(body).toBe(firsts[0]?.body)
      }
      expect((await old.order(key, order)).body).toBe(firsts[0]?.body)
    }
  })

  it('the old node replays and retries orders that a new node began', async () => {
    const slow = { key: freshKey(), order: orderBody({ paymentMethod: 'pm_slow_600' }) }
    const first = one.order(slow.key, slow.order)
    await until(
      () => one.record(slow.key),
      ({ status }) => status === 200,
    )
    expect((await old.order(slow.key, slow.order)).status).toBe(409)
    const bytes = (await first).bytes.toString()
    expect(await old.order(slow.key, slow.order)).toEqual({ status: 201, body: bytes, replayed: true })

    const refused = { key: freshKey(), order: orderBody({ paymentMethod: 'pm_refused_once' }) }
    expect((await one.order(refused.key, refused.order)).status).toBe(503)
    const retried = await old.order(refused.key, refused.order)
    expect([retried.status, retried.replayed]).toEqual([201, false])
    expect((await other.order(refused.key, refused.order)).bytes.toString()).toBe(retried.body)
  })

  it('the old node’s statements neither fail nor wait long, and charges, audit chain and schema are in order', async () => {
    await stopWriters()
    expect(old.longestMs()).toBeLessThan(LONGEST_MS)
    for (const { key, order, body } of written.slice(-20)) {
      const replay = await other.order(key, order)
      expect([replay.status, replay.bytes.toString(), replayed(replay)]).toEqual([201, body, true])
    }
    await expectSound(db)
    const run = await send(new URL('/api/admin/sweeper/runs', one.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: { reason: 'after the upgrade' },
    })
    expect(run.status).toBe(201)
    const store = openStore(url, { max: 1, applicationName: 'upgrade' })
    try {
      expect(await verifyAudit(store)).toMatchObject({ holds: true, brokenAt: null })
    } finally {
      await store.close()
    }
    const diff = ['migrate', 'diff', '--from-config-datasource', '--to-schema', 'prisma/schema.prisma', '--exit-code']
    expect(await prisma(url, ...diff)).toContain('No difference detected')
    const fresh = await cloneDatabase()
    try {
      expect(await catalogue(url)).toEqual(await catalogue(fresh.url))
    } finally {
      await fresh.drop()
    }
  })
})
