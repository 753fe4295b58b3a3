// Listing what the provider did since a backup, and what attempts make of the list. The provider does what the test says.
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import type { Boundary } from '../../lib/idempotency/boundary'
import { keyDigestOf } from '../../lib/idempotency/fingerprint'
import { fingerprintFor } from '../../lib/idempotency/run'
import { enqueueAccepted } from '../../lib/jobs/enqueue'
import { runAcceptedJob } from '../../lib/jobs/run-accepted'
import { migrateJobs } from '../../lib/jobs/worker'
import { runOnce } from '../../lib/maintenance/daemon'
import { reaper } from '../../lib/maintenance/reaper'
import { sweeper } from '../../lib/maintenance/sweeper'
import type { OrderRequest } from '../../lib/orders/schema'
import type { CreatedPage, CreatedWindow, Gateway, ProviderEntry } from '../../lib/payments/gateway'
import { type Fence, openFence } from '../../lib/reconciliation/lost-effects'
import { reconcile } from '../../lib/reconciliation/reconcile'
import { startRestore } from '../../lib/reconciliation/restore'
import { type Bench, barrier, newKey, newRef, openBench, orderOf, scriptedGateway, TENANT } from '../support/boundary'

const MINUTE_MS = 60_000
const HOURS = 192

let bench: Bench
let restoredFrom: Date
let fence: Fence
let boundary: Boundary
beforeAll(async () => {
  bench = await openBench()
  await migrateJobs(bench.url)
})
afterAll(() => bench?.close())
beforeEach(async () => {
  await bench.db.query('DELETE FROM lost_effects')
  await bench.db.query('DELETE FROM restores')
  await bench.db.query('DELETE FROM runs')
  restoredFrom = new Date(Date.now() - 60 * MINUTE_MS)
  fence = openFence(bench.store, { restoredFrom, hours: HOURS })
  boundary = { ...bench.boundary, lostEffects: fence }
})

const ENDPOINT = 'POST /api/orders'

function entryOf(key: string, body: OrderRequest, changes: Partial<ProviderEntry> = {}): ProviderEntry {
  return {
    ref: newRef(),
    providerKey: `onceover-idem_${'0'.repeat(26)}`,
    kind: 'charge',
    status: 'succeeded',
    amountCents: 2500,
    currency: 'USD',
    orderId: 'ord_that_was_lost',
    keyDigest: keyDigestOf({ tenantId: TENANT, endpoint: ENDPOINT, key }),
    fingerprint: fingerprintFor(bench.placeOrder(scriptedGateway()), { params: {}, body }),
    createdAt: new Date(restoredFrom.getTime() + MINUTE_MS),
    ...changes,
  }
}

interface Listing extends Gateway {
  asked: { window: CreatedWindow; cursor: string | null }[]
}

/** A page an entry; what `onPage` throws, the provider can't be asked for. */
function listing(entries: readonly ProviderEntry[], onPage: (cursor: string | null) => unknown = () => {}): Listing {
  const asked: Listing['asked'] = []
  return {
    ...scriptedGateway(),
    asked,
    async listCreated(window, cursor): Promise<CreatedPage> {
      asked.push({ window, cursor })
      await onPage(cursor)
      const within = entries.filter(({ createdAt }) => createdAt >= window.from && createdAt < window.to)
      const at = Number(cursor ?? 0)
      return { items: within.slice(at, at + 1), next: at + 1 < within.length ? String(at + 1) : null }
    },
  }
}

const start = (gateway: Gateway, { nodeId = 'node-1', settledAfterMs = 0 } = {}) =>
  startRestore({ store: bench.store, gateway, nodeId, settledAfterMs, fence })

const PATIENT = { timeout: 30_000, interval: 20 }
const untilListed = () => vi.waitFor(async () => expect(await fence.listedInMs()).toBe(0), PATIENT)

async function list(...entries: ProviderEntry[]): Promise<void> {
  const restore = start(listing(entries))
  await untilListed()
  await restore.stop()
}

const runs = () => bench.rows(`SELECT state, done, counts FROM runs WHERE kind = 'restore'`)
const operationsOf = (gateway: Gateway) => new Map([[ENDPOINT, bench.placeOrder(gateway)]])

it('a restore run goes on at the page at which another node stopped, and is one run', async () => {
  const entries = [1, 2, 3].map(() => entryOf(newKey(), orderOf()))
  const stuck = barrier()
  const first = start(listing(entries, (cursor) => cursor === '1' && stuck.pass()))
  await stuck.reached
  // Dead for all that anybody knows.
  await bench.db.query(`UPDATE runs SET heartbeat_at = heartbeat_at - interval '11 s'`)
  const second = listing(entries)
  const other = start(second, { nodeId: 'node-2' })
  await untilListed()
  expect(second.asked[0]!.cursor).toBe('1')
  stuck.open()
  await Promise.all([first.stop(), other.stop()])
  expect(await runs()).toEqual([
    { state: 'succeeded', done: 3, counts: { listed: 3, keptOfRestore: 3, withoutDigest: 0 } },
  ])
  expect(await bench.rows('SELECT ref FROM lost_effects')).toHaveLength(3)
})

it('a restore run reads on when the provider could not be asked', async () => {
  let away = true
  const entry = entryOf(newKey(), orderOf())
  const restore = start(
    listing([entry], () => {
      if (!away) return
      away = false
      throw new Error('the provider is away')
    }),
  )
  await untilListed()
  await restore.stop()
  expect(await runs()).toMatchObject([{ state: 'succeeded', done: 1 }])
})

it('a restore run reads the last minutes when no call of a lost record can be under way any more, and not before', async () => {
  const late = entryOf(newKey(), orderOf(), { createdAt: new Date() })
  const gateway = listing([late])
  const restore = start(gateway, { settledAfterMs: 10 * MINUTE_MS })
  await vi.waitFor(
    async () => expect(await bench.rows('SELECT 1 FROM restores WHERE read_until > restored_from')).toHaveLength(1),
    PATIENT,
  )
  expect(gateway.asked[0]!.window.from).toEqual(new Date(restoredFrom.getTime() - 5 * MINUTE_MS))
  expect(gateway.asked[0]!.window.to.getTime()).toBeLessThan(Date.now() - 4 * MINUTE_MS)
  expect(await fence.listedInMs()).toBeGreaterThan(9 * MINUTE_MS)
  await bench.db.query('UPDATE restores SET ends_at = clock_timestamp()')
  await untilListed()
  await restore.stop()
  expect(gateway.asked).toHaveLength(2)
  expect(gateway.asked[1]!.window.from).toEqual(gateway.asked[0]!.window.to)
  expect(await bench.rows('SELECT ref FROM lost_effects')).toEqual([{ ref: late.ref }])
})

it('an effect that was pending when it was listed is asked about by its reference, until it is decided', async () => {
  const [key, body] = [newKey(), orderOf()]
  const entry = entryOf(key, body, { status: 'pending' })
  await list(entry)
  const gateway = scriptedGateway()
  gateway.knows(entry)
  expect(await bench.place(gateway, body, { boundary, key })).toMatchObject({
    kind: 'outcome_unknown',
    code: 'provider_pending',
  })
  gateway.knows({ ...entry, status: 'succeeded' })
  const { id } = await bench.recordOf(key)
  const reconciliation = { boundary, operations: operationsOf(gateway), intervalMs: 1000, maxAttempts: 12 }
  expect(await reconcile(reconciliation, id, 'a test')).toMatchObject({ verdict: 'succeeded', state: 'completed' })
  expect(await bench.recordOf(key)).toMatchObject({ response_status: 201, effect_ref: entry.ref })
  expect(gateway.calls).toEqual([])
})

it('an effect that another record has booked is not the outcome of a later record of its key', async () => {
  const [key, body] = [newKey(), orderOf()]
  const entry = entryOf(key, body)
  await list(entry)
  const gateway = scriptedGateway()
  expect(await bench.place(gateway, body, { boundary, key })).toMatchObject({
    kind: 'answered',
    answer: { status: 201 },
  })
  expect(gateway.calls).toEqual([])
  await bench.endRetention(key)
  const reaping = reaper(bench.store, { tombstoneHours: 0, operations: operationsOf(gateway) })
  for (let i = 0; i < 2; i++) await runOnce(reaping)
  expect(await bench.place(gateway, body, { boundary, key })).toMatchObject({
    kind: 'answered',
    answer: { status: 201 },
  })
  expect(gateway.calls).toHaveLength(1)
})

it.each([
  ['with another request', { fingerprint: 'v1:another' }],
  ['with other money', { amountCents: 1 }],
  ['with another request and declined', { fingerprint: 'v1:another', status: 'failed' as const }],
])('an effect of the key %s is left to a person, also when the node dies before it says so', async (_, changes) => {
  const [key, body] = [newKey(), orderOf()]
  await list(entryOf(key, body, changes))
  const gateway = scriptedGateway()
  const died = barrier()
  const dying = { ...boundary, step: (step: string) => (step === 'evidence_kept' ? died.pass() : undefined) }
  const lost = bench.place(gateway, body, { boundary: dying, key })
  await died.reached
  await bench.endLease(key)
  await runOnce(sweeper(bench.boundary, operationsOf(gateway)))
  expect(await bench.recordOf(key)).toMatchObject({
    state: 'unknown',
    last_error_code: 'restored_differs',
    dead_lettered_at: expect.any(Date),
    reconcile_after: null,
  })
  died.open()
  await lost
  expect(
    await bench.rows('SELECT kind FROM discrepancies WHERE record_id = $1', [(await bench.recordOf(key)).id]),
  ).toEqual([{ kind: 'restored_differs' }])
  expect(gateway.calls).toEqual([])
})

it('an accepted order past its retention is not abandoned if it was executed before the restore', async () => {
  const [key, body] = [newKey(), orderOf()]
  const entry = entryOf(key, body)
  await list(entry)
  const gateway = scriptedGateway()
  const operations = operationsOf(gateway)
  await bench.place(gateway, body, { key, acceptedAs: enqueueAccepted })
  await bench.endRetention(key)
  await runOnce(sweeper(boundary, operations))
  expect(await bench.recordOf(key)).toMatchObject({ state: 'pending' })
  await runAcceptedJob(boundary, operations, (await bench.recordOf(key)).id)
  expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', response_status: 201, effect_ref: entry.ref })
  expect(gateway.calls).toEqual([])
})

it('no attempt begins before all is listed: a client’s retry gets restoring, and a worker comes back later', async () => {
  const [key, accepted, body] = [newKey(), newKey(), orderOf()]
  const gateway = scriptedGateway()
  gateway.nextCall(() => ({ kind: 'not_executed', code: 'connection_refused' }))
  await bench.place(gateway, body, { key })
  await bench.place(gateway, body, { key: accepted, acceptedAs: enqueueAccepted })
  expect(await bench.place(gateway, body, { boundary, key })).toMatchObject({ kind: 'restoring' })
  const { id } = await bench.recordOf(accepted)
  await runAcceptedJob(boundary, operationsOf(gateway), id)
  expect(await bench.recordOf(accepted)).toMatchObject({ state: 'pending', attempt: 0 })
  expect(
    await bench.rows('SELECT run_at > clock_timestamp() AS later FROM graphile_worker.jobs WHERE key = $1', [id]),
  ).toEqual([{ later: true }])
  expect(gateway.calls).toHaveLength(1)
})
