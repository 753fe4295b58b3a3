// A node is killed with SIGKILL between any two steps of an attempt (the whole matrix is in ./crash). Whoever comes after finds out what happened and
// answers right, and nobody is ever charged twice, whether the provider honours keys or not.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Step } from '../../lib/idempotency/boundary'
import {
  type Client,
  countCharges,
  createClient,
  freshKey,
  type OrderRequest,
  orderBody,
  SECRETS,
  until,
} from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { HOLDABLE, startNode, type TestNode } from '../support/node'

const LEASE_SECONDS = 1.5
const SETTLE_SECONDS = 1
const INTERVAL_SECONDS = 0.25
const FAST = {
  ...SECRETS,
  ...HOLDABLE,
  GATEWAY_TIMEOUT_MS: '400',
  LEASE_SECONDS: String(LEASE_SECONDS),
  SETTLE_SECONDS: String(SETTLE_SECONDS),
  SWEEP_INTERVAL_SECONDS: String(INTERVAL_SECONDS),
  RECONCILE_INTERVAL_SECONDS: String(INTERVAL_SECONDS),
}
/** Nothing stays stuck longer than this; twice, for a machine that does other things too. */
const STUCK_MS = 2 * (LEASE_SECONDS + SETTLE_SECONDS + INTERVAL_SECONDS) * 1000 + 5000

interface Crash {
  at: Step
  paymentMethod: string
  prefer?: string
  /** The first request does not reach the step: its retry does. */
  onRetry?: boolean
  endpoint?: 'refund'
}

const SYNC: Crash[] = [
  { at: 'reserving', paymentMethod: 'pm_ok' },
  { at: 'reserved', paymentMethod: 'pm_ok' },
  { at: 'calling', paymentMethod: 'pm_ok' },
  { at: 'called', paymentMethod: 'pm_ok' },
  { at: 'called', paymentMethod: 'pm_declined' },
  { at: 'settled', paymentMethod: 'pm_ok' },
  { at: 'given_up', paymentMethod: 'pm_timeout_charged' },
  { at: 'given_up', paymentMethod: 'pm_timeout_lost_once' },
  { at: 'released', paymentMethod: 'pm_refused_once' },
  { at: 'claimed', paymentMethod: 'pm_refused_once', onRetry: true },
  { at: 'looked_up', paymentMethod: 'pm_refused_once', onRetry: true },
  { at: 'reserved', paymentMethod: 'pm_ok', endpoint: 'refund' },
  { at: 'reserved', paymentMethod: 'pm_declined', endpoint: 'refund' },
  { at: 'calling', paymentMethod: 'pm_ok', endpoint: 'refund' },
  { at: 'called', paymentMethod: 'pm_ok', endpoint: 'refund' },
  { at: 'settled', paymentMethod: 'pm_ok', endpoint: 'refund' },
]

const ASYNC: Crash[] = [
  { at: 'reserved', paymentMethod: 'pm_ok', prefer: 'respond-async' },
  { at: 'claimed', paymentMethod: 'pm_ok', prefer: 'respond-async' },
  { at: 'called', paymentMethod: 'pm_ok', prefer: 'respond-async' },
  { at: 'settled', paymentMethod: 'pm_ok', prefer: 'respond-async' },
  { at: 'released', paymentMethod: 'pm_refused_once', prefer: 'respond-async' },
]

const titleOf = ({ at, paymentMethod, prefer, onRetry, endpoint }: Crash) =>
  [`killed when ${at}`, paymentMethod, prefer, onRetry && 'on the retry', endpoint].filter(Boolean).join(', ')

describe.each([true, false])('with a provider that honours keys: %s', (idempotent) => {
  const env = { ...FAST, SANDBOX_IDEMPOTENT: String(idempotent) }
  let database: TestDatabase

  beforeAll(async () => {
    database = await cloneDatabase()
  })
  afterAll(() => database?.drop())

  describe('two nodes: the other one finds out', () => {
    let survivor: TestNode
    let client: Client

    beforeAll(async () => {
      survivor = await startNode({ databaseUrl: database.url, env })
      client = createClient(survivor.url)
    })
    afterAll(() => survivor?.stop())

    it.each(SYNC.map((crash) => [titleOf(crash), crash] as const))('%s', async (_, crash) => {
      // The survivor sweeps and reconciles; the victim only serves, so that it is the request that meets the fault.
      await meet(client, crash, { ...env, WORKER: 'off' })
    })
  })

  describe('one node: it is started again', () => {
    it.each(ASYNC.map((crash) => [titleOf(crash), crash] as const))('%s', async (_, crash) => {
      const request = { key: freshKey(), body: orderBody({ paymentMethod: crash.paymentMethod }) }
      await killedBy(crash, env, (victim) => victim.order(request.key, request.body, { prefer: crash.prefer }))
      const again = await startNode({ databaseUrl: database.url, env })
      try {
        await settles(createClient(again.url), request)
      } finally {
        await again.stop()
      }
    })
  })

  async function meet(client: Client, crash: Crash, victimEnv: Record<string, string>) {
    const request = { key: freshKey(), body: orderBody({ paymentMethod: crash.paymentMethod }) }
    if (crash.endpoint === 'refund') {
      const orderId = await placed(client, request)
      const key = freshKey()
      await killedBy(crash, victimEnv, (victim) => victim.refund(orderId, key))
      // An order that was declined can't be refunded.
      const final = crash.paymentMethod === 'pm_declined' ? 409 : 201
      await until(
        () => client.refund(orderId, key),
        ({ status, headers }) => status === final && headers['idempotent-replayed'] === 'true',
        STUCK_MS,
      )
      expect(await countCharges(client.url, request.body.customerId, 'refund')).toBe(final === 201 ? 1 : 0)
      return
    }
    if (crash.onRetry) expect((await client.order(request.key, request.body)).status).toBe(503)
    await killedBy(crash, victimEnv, (victim) => victim.order(request.key, request.body))
    await settles(client, request)
  }

  async function placed(client: Client, { key, body }: { key: string; body: OrderRequest }): Promise<string> {
    await client.order(key, body)
    return (await client.record(key)).json<{ resource: { id: string } }>().resource.id
  }

  /** A node that is killed at the step, met by one request that never gets its answer. */
  async function killedBy(crash: Crash, victimEnv: Record<string, string>, ask: (victim: Client) => Promise<unknown>) {
    const victim = await startNode({ databaseUrl: database.url, env: victimEnv })
    await victim.hold(crash.at)
    const unanswered = ask(createClient(victim.url)).catch(() => {})
    await victim.held()
    await victim.kill()
    await unanswered
  }

  /** The client retries as the answers tell it to, and ends with the final one: the same twice, and charged once. */
  async function settles(client: Client, { key, body }: { key: string; body: OrderRequest }) {
    const final = body.paymentMethod === 'pm_declined' ? 402 : 201
    const answer = await until(
      () => client.order(key, body),
      ({ status }) => status === final,
      STUCK_MS,
    )
    const replay = await client.order(key, body)
    expect(replay.headers['idempotent-replayed']).toBe('true')
    expect(replay.bytes.equals(answer.bytes)).toBe(true)
    expect(await countCharges(client.url, body.customerId)).toBe(final === 201 ? 1 : 0)
  }
})
