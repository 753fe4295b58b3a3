import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { POST as refundOrder } from '../../app/api/orders/[id]/refunds/route'
import { StoreUnavailable } from '../../lib/db/sqlstate'
import { runAcceptedJob } from '../../lib/jobs/run-accepted'
import { COUNTER_NAMES } from '../../lib/metrics/names'
import { connectionLost, isSettle, tampered } from '../support/boundary'
import { type Counted, ORDERS, openCounted, statusOf } from './counted'
import { orderOf, send } from './node'

let site: Counted
beforeAll(async () => {
  site = await openCounted()
})
beforeEach(() => site.newTenant())
afterAll(() => site.close())

describe('a request', () => {
  it('that creates its record counts as created, whatever its outcome', async () => {
    expect(await site.counted(() => site.order({ body: orderOf() }))).toEqual({ reserve_created: 1 })
    expect(await site.counted(() => site.order({ body: orderOf('pm_declined') }))).toEqual({ reserve_created: 1 })
    expect(await site.counted(() => site.order({ body: orderOf('pm_refused_once') }))).toEqual({ reserve_created: 1 })
  })

  it('that gets the stored answer counts as a replay, each time', async () => {
    const sent = { key: randomUUID(), body: orderOf() }
    await site.order(sent)
    expect(await site.counted(() => site.order(sent))).toEqual({ reserve_replay: 1 })
    expect(await site.counted(() => Promise.all([site.order(sent), site.order(sent), site.order(sent)]))).toEqual({
      reserve_replay: 3,
    })
  })

  it('that arrives while the first one is running counts as in progress', async () => {
    const sent = { key: randomUUID(), body: orderOf() }
    const held = site.holdAt('calling')
    const first = site.order(sent)
    await held.reached
    expect(await site.counted(async () => expect(await statusOf(site.order(sent))).toBe(409))).toEqual({
      reserve_in_progress: 1,
    })
    held.open()
    expect(await statusOf(first)).toBe(201)
  })

  it('that repeats an accepted request counts as in progress, although it gets the same 202', async () => {
    const sent = { key: randomUUID(), body: orderOf(), prefer: 'respond-async' }
    expect(await site.counted(async () => expect(await statusOf(site.order(sent))).toBe(202))).toEqual({
      reserve_created: 1,
    })
    expect(await site.counted(async () => expect(await statusOf(site.order(sent))).toBe(202))).toEqual({
      reserve_in_progress: 1,
    })
    // taken up for the first time, which is no retry
    expect(
      await site.counted(async () =>
        runAcceptedJob(site.node.boundary, site.node.operations, await site.recordId(sent.key)),
      ),
    ).toEqual({})
    expect(await site.counted(() => site.order(sent))).toEqual({ reserve_replay: 1 })
  })

  it('that reuses a key with another body counts as misuse, and is stored with the changed paths', async () => {
    const sent = { key: randomUUID(), body: orderOf() }
    await site.order(sent)
    const body = { ...sent.body, note: 'another', items: [{ ...sent.body.items[0]!, quantity: 3 }] }
    expect(await site.counted(async () => expect(await statusOf(site.order({ ...sent, body }))).toBe(422))).toEqual({
      reserve_key_misuse: 1,
    })
    expect(
      await site.sqlOf(
        'SELECT tenant_id, endpoint, key, record_id, changed_paths FROM misuse WHERE key = $1',
        sent.key,
      ),
    ).toEqual([
      {
        tenant_id: site.tenant.id,
        endpoint: ORDERS,
        key: sent.key,
        record_id: await site.recordId(sent.key),
        changed_paths: ['$.items[0].quantity', '$.note'],
      },
    ])
  })

  it('that reuses a refund’s key for another order counts as misuse, with the path’s parameter as the change', async () => {
    const orders = await Promise.all([site.order({ body: orderOf() }), site.order({ body: orderOf() })])
    const [first, second] = await Promise.all(orders.map(async (response) => (await response.json()).id as string))
    const key = randomUUID()
    const refund = (id: string) => send(refundOrder, { apiKey: site.tenant.apiKey, key, body: {}, params: { id } })
    const endpoint = 'POST /api/orders/{id}/refunds'
    expect(await site.counted(() => refund(first!), endpoint)).toEqual({ reserve_created: 1 })
    expect(await site.counted(() => refund(second!), endpoint)).toEqual({ reserve_key_misuse: 1 })
    expect(await site.sqlOf('SELECT changed_paths FROM misuse WHERE key = $1', key)).toEqual([
      { changed_paths: ['$params.id'] },
    ])
  })

  it('that runs a key again that was proven not executed counts as a retry', async () => {
    const sent = { key: randomUUID(), body: orderOf('pm_refused_once') }
    expect(await statusOf(site.order(sent))).toBe(503)
    expect(await site.counted(async () => expect(await statusOf(site.order(sent))).toBe(201))).toEqual({
      reserve_failed_retry: 1,
    })
  })

  it('that a worker runs again counts as a retry', async () => {
    const sent = { key: randomUUID(), body: orderOf('pm_refused_once'), prefer: 'respond-async' }
    await site.order(sent)
    const id = await site.recordId(sent.key)
    expect(await site.counted(() => runAcceptedJob(site.node.boundary, site.node.operations, id))).toEqual({})
    expect(await site.counted(() => runAcceptedJob(site.node.boundary, site.node.operations, id))).toEqual({
      reserve_failed_retry: 1,
    })
  })

  it('that is refused as invalid counts as nothing', async () => {
    expect(await site.counted(async () => expect(await statusOf(site.order({ body: {} }))).toBe(400))).toEqual({})
    expect(
      await site.counted(async () => expect(await statusOf(site.order({ key: 'short', body: orderOf() }))).toBe(400)),
    ).toEqual({})
  })

  it('that fails because the database is unreachable counts as a store error of its tenant', async () => {
    await site.order({ body: orderOf() })
    const { query, transaction } = site.node.store
    const lost = () => Promise.reject(new StoreUnavailable(connectionLost()))
    Object.assign(site.node.store, { query: lost, transaction: lost })
    try {
      expect(await site.counted(async () => expect(await statusOf(site.order({ body: orderOf() }))).toBe(503))).toEqual(
        {
          store_error: 1,
        },
      )
    } finally {
      Object.assign(site.node.store, { query, transaction })
    }
  })

  it('that loses the database after the provider call counts as created and as a store error', async () => {
    const { query, transaction, pastCircuit } = site.node.store
    let away = true
    const lost = tampered({ ...site.node.store }, (send, statement) =>
      away && isSettle(statement) ? Promise.reject(new StoreUnavailable(connectionLost())) : send(),
    )
    Object.assign(site.node.store, lost)
    try {
      expect(await site.counted(async () => expect(await statusOf(site.order({ body: orderOf() }))).toBe(504))).toEqual(
        {
          reserve_created: 1,
          store_error: 1,
        },
      )
    } finally {
      // the owner still tries behind its client's back, through the very function that it was given
      away = false
      Object.assign(site.node.store, { query, transaction, pastCircuit })
    }
  })
})

describe('the counters of a tenant', () => {
  it('are the same in the database as in Prometheus, series by series', async () => {
    const sent = { key: randomUUID(), body: orderOf() }
    for (let i = 0; i < 5; i++) await site.order(sent)
    await site.order({ ...sent, body: { ...sent.body, note: 'another' } })
    await site.node.metrics.flush()
    const rows = await site.sqlOf<{ metric: string; value: number }>(
      `SELECT metric, sum(value) AS value FROM metric_minutes
       WHERE tenant_id = $1 AND endpoint = $2 AND bucket = '' GROUP BY metric`,
      site.tenant.id,
      ORDERS,
    )
    const stored = Object.fromEntries(rows.map(({ metric, value }) => [metric, value]))
    expect(stored).toEqual(await site.counters())
    expect(stored).toEqual({ reserve_created: 1, reserve_replay: 4, reserve_key_misuse: 1 })
    const [durations] = await site.sqlOf<{ value: number }>(
      `SELECT sum(value) AS value FROM metric_minutes WHERE tenant_id = $1 AND metric = 'duration'`,
      site.tenant.id,
    )
    expect(durations!.value).toBe(6)
    const [record] = await site.sqlOf('SELECT replay_count FROM idempotency_records WHERE key = $1', sent.key)
    expect(record).toEqual({ replay_count: 4 })
  })

  it('all exist in Prometheus from its first request on, so that the first event has a rate', async () => {
    await site.order({ body: orderOf() })
    const families = await site.node.metrics.registry.getMetricsAsJSON()
    for (const name of COUNTER_NAMES) {
      const family = families.find((metric) => metric.name === `api_idempotency_${name}_total`)
      expect(
        family?.values.some(({ labels }) => labels.tenant === site.tenant.id),
        name,
      ).toBe(true)
    }
  })
})
