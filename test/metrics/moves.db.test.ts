import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { StoreUnavailable } from '../../lib/db/sqlstate'
import { providerKeyOf } from '../../lib/idempotency/record'
import { runAcceptedJob } from '../../lib/jobs/run-accepted'
import { expireKey } from '../../lib/maintenance/expire-key'
import { MOVE } from '../../lib/metrics/names'
import { callOf } from '../../lib/operators/actor'
import { applyProviderEvent } from '../../lib/reconciliation/evidence'
import { reconcile } from '../../lib/reconciliation/reconcile'
import { resolve } from '../../lib/reconciliation/resolve'
import { connectionLost, isSettle, newRef, reported, tampered } from '../support/boundary'
import { type Counted, ORDERS, openCounted, statusOf } from './counted'
import { orderOf } from './node'

const OLGA = callOf({ id: 'opr_olga', name: 'Olga', role: 'operator' }, 'req_olga')
const REASON = 'seen in the provider’s dashboard'

let site: Counted
beforeAll(async () => {
  site = await openCounted()
})
beforeEach(() => site.newTenant())
afterAll(() => site.close())

/** What the store has of this tenant, by flow. */
async function stored(metric: string = MOVE): Promise<Record<string, number>> {
  await site.node.metrics.flush()
  const rows = await site.sqlOf<{ bucket: string; value: number }>(
    `SELECT bucket, sum(value) AS value FROM metric_minutes
     WHERE metric = $1 AND tenant_id = $2 AND endpoint = $3 GROUP BY bucket`,
    metric,
    site.tenant.id,
    ORDERS,
  )
  return Object.fromEntries(rows.map(({ bucket, value }) => [bucket, value]))
}

/** What the work moved, by flow. */
async function moved(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await stored()
  await work()
  const grown = Object.entries(await stored()).map(([flow, value]) => [flow, value - (before[flow] ?? 0)] as const)
  return Object.fromEntries(grown.filter(([, value]) => value !== 0))
}

const set = (key: string, assignments: string) =>
  site.sqlOf(`UPDATE idempotency_records SET ${assignments} WHERE key = $1`, key)
const seen = async (key: string) =>
  (
    await site.sqlOf<{ id: string; version: number }>('SELECT id, version FROM idempotency_records WHERE key = $1', key)
  )[0]!
const PAST = `clock_timestamp() - interval '1 ms'`

/** A key that came to such an end. */
async function sent(paymentMethod: string, status: number, prefer?: string) {
  const order = { key: randomUUID(), body: orderOf(paymentMethod), prefer }
  expect(await statusOf(site.order(order))).toBe(status)
  return order
}
const runJob = async (key: string) => runAcceptedJob(site.node.boundary, site.node.operations, (await seen(key)).id)

describe('the move metric', () => {
  it('counts reserved and settled for an order that is charged or declined', async () => {
    expect(await moved(() => sent('pm_ok', 201))).toEqual({ reserved: 1, settled: 1 })
    expect(await moved(() => sent('pm_declined', 402))).toEqual({ reserved: 1, settled: 1 })
  })

  it('counts nothing for replays and misuse', async () => {
    const order = await sent('pm_ok', 201)
    const again = () => Promise.all([site.order(order), site.order(order)])
    expect(await moved(again)).toEqual({})
    expect(await moved(() => site.order({ ...order, body: { ...order.body, note: 'another' } }))).toEqual({})
  })

  it('counts accepted for an accepted request, then claimed and settled when a worker runs it', async () => {
    let key = ''
    const accept = async () => {
      key = (await sent('pm_ok', 202, 'respond-async')).key
    }
    expect(await moved(accept)).toEqual({ accepted: 1 })
    expect(await moved(() => runJob(key))).toEqual({ claimed: 1, settled: 1 })
    expect(await moved(() => runJob(key))).toEqual({})
  })

  it('counts swept for an accepted request that ran out of time, by the sweeper or a late worker', async () => {
    const [first, second] = [await sent('pm_ok', 202, 'respond-async'), await sent('pm_ok', 202, 'respond-async')]
    await set(first.key, `expires_at = ${PAST}`)
    await set(second.key, `expires_at = ${PAST}`)
    expect(await moved(() => runJob(first.key))).toEqual({ swept: 1 })
    expect(await moved(() => site.run('sweeper'))).toEqual({ swept: 1 })
    expect(await moved(() => site.run('sweeper'))).toEqual({})
  })

  it('counts released when the call was refused, and reclaimed when a retry runs the key again', async () => {
    const order = { key: randomUUID(), body: orderOf('pm_refused_once') }
    expect(await moved(() => site.order(order))).toEqual({ reserved: 1, released: 1 })
    expect(await moved(() => site.order(order))).toEqual({ reclaimed: 1, settled: 1 })
  })

  it('counts recharged once when the provider reports a charge for a released key', async () => {
    const { key } = await sent('pm_refused_once', 503)
    const told = async () =>
      applyProviderEvent(site.node.boundary, site.node.operations, {
        id: `evt_${randomUUID()}`,
        providerKey: providerKeyOf((await seen(key)).id),
        outcome: reported(newRef()),
      })
    expect(await moved(told)).toEqual({ recharged: 1 })
    expect(await moved(told)).toEqual({})
  })

  it('counts lost for an unknown outcome, and reconciled when the reconciler settles it', async () => {
    const lose = () => Promise.all([sent('pm_timeout_charged', 504), sent('pm_error_once', 504)])
    expect(await moved(lose)).toEqual({ reserved: 2, lost: 2 })
    expect(await moved(() => site.run('reconciler'))).toEqual({ reconciled: 2 })
    expect(Object.values(await stored('resolution'))).toEqual([2])
  })

  it('counts not_executed when no charge is found after the settle window', async () => {
    const { key } = await sent('pm_timeout_lost_once', 504)
    expect(await moved(() => site.run('reconciler'))).toEqual({})
    await set(key, `settles_at = ${PAST}, reconcile_after = ${PAST}`)
    expect(await moved(() => site.run('reconciler'))).toEqual({ not_executed: 1 })
  })

  it('counts reconciled when an operator reconciles a key with stored evidence', async () => {
    const { key } = await sent('pm_timeout_charged', 504)
    const { id } = await seen(key)
    await site.sqlOf(
      `INSERT INTO evidence (id, record_id, source, source_id, attempt, verdict, detail)
       VALUES ($1, $2, 'webhook', $1, 1, 'succeeded', $3)`,
      `evd_${randomUUID()}`,
      id,
      JSON.stringify({ ref: newRef() }),
    )
    await set(key, 'effect_evidence = true, version = version + 1')
    expect(await moved(() => reconcile(site.node.reconciliation, id, 'test'))).toEqual({ reconciled: 1 })
  })

  it('counts lost for an expired lease, by the sweeper or the next request, and reconciled by its late owner', async () => {
    const order = { key: randomUUID(), body: orderOf() }
    const held = site.holdAt('called')
    const first = site.order(order)
    await held.reached
    held.letOthersPass()
    await set(order.key, `locked_until = ${PAST}`)
    expect(await moved(() => site.run('sweeper'))).toEqual({ lost: 1 })
    held.open()
    expect(await moved(async () => expect(await statusOf(first)).toBe(201))).toEqual({ reconciled: 1 })

    const other = { key: randomUUID(), body: orderOf() }
    const again = site.holdAt('called')
    const second = site.order(other)
    await again.reached
    again.letOthersPass()
    await set(other.key, `locked_until = ${PAST}`)
    expect(await moved(async () => expect(await statusOf(site.order(other))).toBe(409))).toEqual({ lost: 1 })
    again.open()
    await second
  })

  it('counts what an operator resolves and expires', async () => {
    const [charged, lost] = [await sent('pm_unreachable', 504), await sent('pm_unreachable', 504)]
    await set(lost.key, `settles_at = ${PAST}`)
    const decide = async (key: string, decision: Pick<Parameters<typeof resolve>[2], 'verdict' | 'providerRef'>) =>
      expect(await resolve(site.node.reconciliation, OLGA, { ...(await seen(key)), reason: REASON, ...decision })).toBe(
        null,
      )
    const found = () => decide(charged.key, { verdict: 'succeeded', providerRef: newRef() })
    expect(await moved(found)).toEqual({ reconciled: 1 })
    expect(await moved(() => decide(lost.key, { verdict: 'not_executed' }))).toEqual({ not_executed: 1 })
    const expire = async (key: string) =>
      expireKey(site.node.reconciliation, OLGA, { ...(await seen(key)), reason: REASON })
    expect(await moved(() => expire(charged.key))).toEqual({ reaped: 1 })
    expect(await moved(() => expire(lost.key))).toEqual({ reaped_retryable: 1 })
    expect(await moved(() => expire(lost.key))).toEqual({})
  })

  it('counts what the reaper expires and deletes', async () => {
    for (const order of [await sent('pm_ok', 201), await sent('pm_ok', 201), await sent('pm_refused_once', 503)])
      await set(order.key, `expires_at = ${PAST}`)
    expect(await moved(() => site.run('reaper'))).toEqual({ reaped: 2, reaped_retryable: 1 })
    await site.sqlOf(
      `UPDATE idempotency_records SET expired_at = clock_timestamp() - interval '1 year' WHERE tenant_id = $1`,
      site.tenant.id,
    )
    expect(await moved(() => site.run('reaper'))).toEqual({ deleted: 3 })
    expect(await moved(() => site.run('reaper'))).toEqual({})
  })

  it('counts settled when the owner stores the answer after its client got 504', async () => {
    const { query, transaction, pastCircuit } = site.node.store
    let away = true
    const lost = tampered({ ...site.node.store }, (send, statement) =>
      away && isSettle(statement) ? Promise.reject(new StoreUnavailable(connectionLost())) : send(),
    )
    Object.assign(site.node.store, lost)
    try {
      expect(await moved(() => sent('pm_ok', 504))).toEqual({ reserved: 1 })
    } finally {
      away = false
      Object.assign(site.node.store, { query, transaction, pastCircuit })
    }
    await vi.waitFor(async () => expect(await stored()).toEqual({ reserved: 1, settled: 1 }), { timeout: 30_000 })
  })
})

it('the move metric is not exposed to Prometheus', async () => {
  await sent('pm_ok', 201)
  expect(await site.node.metrics.registry.metrics()).not.toContain('_move')
})
