// A node whose wall clock is wrong changes nothing: every decision about time is the database's.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, countCharges, createClient, freshKey, orderBody, SECRETS, until } from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { startNode, type TestNode } from '../support/node'

const DAY_MS = 86_400_000
const WRONG_CLOCK = path.resolve(import.meta.dirname, '..', 'support', 'wrong-clock.mjs')
const FAST = {
  ...SECRETS,
  GATEWAY_TIMEOUT_MS: '2000',
  LEASE_SECONDS: '5',
  SETTLE_SECONDS: '1',
  SWEEP_INTERVAL_SECONDS: '0.25',
  REAP_INTERVAL_SECONDS: '0.25',
  RECONCILE_INTERVAL_SECONDS: '0.25',
  MAX_REQUEST_AGE_SECONDS: '60',
}

describe.each([
  ['three days fast', 3 * DAY_MS],
  ['three days slow', -3 * DAY_MS],
])('a node whose clock is %s', (_, shiftMs) => {
  let database: TestDatabase
  let wrong: TestNode
  let right: TestNode
  let onWrong: Client
  let onRight: Client

  beforeAll(async () => {
    database = await cloneDatabase()
    const shifted = { NODE_OPTIONS: `--import=${WRONG_CLOCK}`, CLOCK_SHIFT_MS: String(shiftMs) }
    // Only the wrong one works in the background.
    wrong = await startNode({ databaseUrl: database.url, env: { ...FAST, ...shifted } })
    right = await startNode({ databaseUrl: database.url, env: { ...FAST, WORKER: 'off' } })
    onWrong = createClient(wrong.url)
    onRight = createClient(right.url)
  })
  afterAll(async () => {
    await Promise.all([wrong?.stop(), right?.stop()])
    await database?.drop()
  })

  const now = () => ({ date: new Date().toUTCString() })

  it('answers, replays and sets expiry times like a node with the right clock', async () => {
    const key = freshKey()
    const body = orderBody()
    const first = await onWrong.order(key, body, now())
    expect(first.status).toBe(201)
    const lifetimeMs = Date.parse(String(first.headers['idempotency-expires'])) - Date.now()
    expect(Math.abs(lifetimeMs - DAY_MS)).toBeLessThan(60_000)
    const replay = await onRight.order(key, body, now())
    expect(replay.bytes.equals(first.bytes)).toBe(true)
    expect(replay.headers['idempotent-replayed']).toBe('true')
  })

  it('judges the age of a request by the database’s clock', async () => {
    expect((await onWrong.order(freshKey(), orderBody(), now())).status).toBe(201)
    const old = { date: new Date(Date.now() - 5 * 60_000).toUTCString() }
    expect((await onWrong.order(freshKey(), orderBody(), old)).status).toBe(400)
  })

  it('respects the live lease of another node, and reconciles a lost answer in time', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_slow_1500' })
    const owner = onRight.order(key, body, now())
    await until(
      () => onRight.record(key),
      ({ status }) => status === 200,
    )
    expect((await onWrong.order(key, body, now())).status).toBe(409)
    expect((await owner).status).toBe(201)
    expect(await countCharges(right.url, body.customerId)).toBe(1)

    const lost = { key: freshKey(), body: orderBody({ paymentMethod: 'pm_timeout_lost_once' }) }
    expect((await onRight.order(lost.key, lost.body, now())).status).toBe(504)
    const again = await until(
      () => onRight.order(lost.key, lost.body, now()),
      ({ status }) => status === 201,
      30_000,
    )
    expect(again.status).toBe(201)
    expect(await countCharges(right.url, lost.body.customerId)).toBe(1)
  })
})
