import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GET } from '../../app/api/metrics/route'
import { POST as placeOrder } from '../../app/api/orders/route'
import { STATES } from '../../lib/idempotency/states'
import { COUNTER_NAMES, DURATION_BOUNDS } from '../../lib/metrics/names'
import type { Services } from '../../lib/node/services'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { expectPromtool } from '../support/promtool'
import { addTenant, type TestTenant } from '../support/tenant'
import { METRICS_TOKEN, openNode, orderOf, send } from './node'
import { type Family, parseText, sumOf } from './prometheus-text'

let database: TestDatabase
let node: Services
let tenant: TestTenant

beforeAll(async () => {
  database = await cloneDatabase()
  node = openNode(database.url)
  tenant = await addTenant(database.url)
  const sent = { apiKey: tenant.apiKey, key: randomUUID(), body: orderOf() }
  for (let i = 0; i < 3; i++) expect((await send(placeOrder, sent)).status).toBe(201)
})
afterAll(async () => {
  await node.close()
  await database.drop()
})

const scrape = (authorization?: string) =>
  GET(new Request('http://localhost/api/metrics', { headers: authorization ? { authorization } : {} }))
const text = async () => (await scrape(`Bearer ${METRICS_TOKEN}`)).text()

describe('GET /api/metrics', () => {
  it.each([
    ['no token', undefined],
    ['another token', 'Bearer metrics-token-of-the-testz'],
    ['a part of the token', 'Bearer metrics-token'],
    ['the token and more', `Bearer ${METRICS_TOKEN}x`],
    ['the token in another scheme', `Basic ${METRICS_TOKEN}`],
    ['the bare token', METRICS_TOKEN],
  ])('refuses %s with the problem unauthenticated', async (_, authorization) => {
    const response = await scrape(authorization)
    expect(response.status).toBe(401)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    expect(await response.json()).toMatchObject({ code: 'unauthenticated', status: 401 })
  })

  it('answers 404 when no metrics token is configured', async () => {
    const { metricsToken } = node.config
    node.config.metricsToken = undefined
    try {
      for (const authorization of [undefined, `Bearer ${metricsToken}`, 'Bearer undefined']) {
        const response = await scrape(authorization)
        expect(response.status).toBe(404)
        expect(await response.json()).toMatchObject({ code: 'not_found' })
      }
    } finally {
      node.config.metricsToken = metricsToken
    }
  })

  it('answers the valid token with Prometheus text that no cache may store', async () => {
    const response = await scrape(`Bearer ${METRICS_TOKEN}`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(response.headers.get('cache-control')).toBe('no-store')
  })
})

describe('the Prometheus text', () => {
  it('has the metrics of the contract, what was refused, and those of the process, each with its type', async () => {
    const families = parseText(await text())
    const all = [...families.values()].map(({ name, type }) => [name, type] as const)
    const ofProcess = all.filter(([name]) => /^(process|nodejs)_/.test(name))
    const types = Object.fromEntries(all.filter((one) => !ofProcess.includes(one)))
    expect(Object.fromEntries(ofProcess)).toMatchObject({
      process_cpu_seconds_total: 'counter',
      process_resident_memory_bytes: 'gauge',
      nodejs_heap_size_used_bytes: 'gauge',
      nodejs_eventloop_lag_p99_seconds: 'gauge',
      nodejs_gc_duration_seconds: 'histogram',
    })
    expect(types).toEqual({
      ...Object.fromEntries(COUNTER_NAMES.map((name) => [`api_idempotency_${name}_total`, 'counter'])),
      api_idempotency_duration_seconds: 'histogram',
      api_idempotency_records: 'gauge',
      api_idempotency_oldest_unknown_seconds: 'gauge',
      api_idempotency_dead_letters: 'gauge',
      onceover_operator_unauthenticated_total: 'counter',
      onceover_requests_refused_total: 'counter',
    })
    for (const { help } of families.values()) expect(help).not.toBe('')
  })

  it('labels counters by endpoint and tenant', async () => {
    const families = parseText(await text())
    const labels = { endpoint: 'POST /api/orders', tenant: tenant.id }
    for (const name of COUNTER_NAMES)
      for (const sample of families.get(`api_idempotency_${name}_total`)!.samples)
        expect(Object.keys(sample.labels).sort()).toEqual(['endpoint', 'tenant'])
    expect(sumOf(families, 'api_idempotency_reserve_created_total', labels)).toBe(1)
    expect(sumOf(families, 'api_idempotency_reserve_replay_total', labels)).toBe(2)
  })

  it('has a histogram whose buckets grow up to its count', async () => {
    const { samples } = parseText(await text()).get('api_idempotency_duration_seconds') as Family
    const buckets = samples.filter(({ name, labels }) => name.endsWith('_bucket') && labels.tenant === tenant.id)
    expect(buckets.map(({ labels }) => labels.le)).toEqual([...DURATION_BOUNDS.map(String), '+Inf'])
    const values = buckets.map(({ value }) => value)
    expect(values).toEqual([...values].sort((a, b) => a - b))
    const count = samples.find(({ name, labels }) => name.endsWith('_count') && labels.tenant === tenant.id)!
    expect(count.value).toBe(3)
    expect(values.at(-1)).toBe(3)
  })

  it('has a gauge for each of the six states', async () => {
    const { samples } = parseText(await text()).get('api_idempotency_records') as Family
    expect(samples.map(({ labels }) => labels.state).sort()).toEqual([...STATES].sort())
    expect(samples.find(({ labels }) => labels.state === 'completed')?.value).toBe(1)
  })

  it('counts refused requests by code and endpoint, by tenant where it is known, and replayed problems once', async () => {
    const { apiKey } = tenant
    const sent = { apiKey, key: randomUUID(), body: { ...orderOf(), paymentMethod: 'pm_declined' } }
    for (let i = 0; i < 3; i++) expect((await send(placeOrder, sent)).status).toBe(402)
    expect((await send(placeOrder, { ...sent, body: orderOf() })).status).toBe(422)
    for (const key of ['stranger-1', 'stranger-2'])
      expect((await send(placeOrder, { ...sent, apiKey: key })).status).toBe(401)
    const families = parseText(await text())
    const counted = (labels: Record<string, string>) =>
      sumOf(families, 'onceover_requests_refused_total', { endpoint: 'POST /api/orders', ...labels })
    expect(counted({ tenant: tenant.id, code: 'payment_declined' })).toBe(1)
    expect(counted({ tenant: tenant.id, code: 'idempotency_key_reused' })).toBe(1)
    expect(counted({ tenant: '', code: 'unauthenticated' })).toBe(2)
    expect(families.get('onceover_requests_refused_total')?.samples).toHaveLength(3)
  })

  it('passes promtool', async (context) => {
    expectPromtool(context, ['check', 'metrics'], { input: await text() })
  })
})
