import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GET } from '../../app/api/metrics/route'
import { POST as placeOrder } from '../../app/api/orders/route'
import type { Services } from '../../lib/node/services'
import { METRICS_TOKEN, openNode, orderOf, send } from './node'
import { parseText } from './prometheus-text'

let node: Services
beforeAll(() => {
  // nobody listens there
  node = openNode('postgresql://postgres@127.0.0.1:1/nowhere')
})
afterAll(() => node.close())

describe('metrics without a store', () => {
  it('count a request as a store error without a tenant, and a scrape still shows it', async () => {
    for (let i = 0; i < 8; i++)
      expect((await send(placeOrder, { apiKey: 'oo_live_whoever', body: orderOf() })).status).toBe(503)
    const request = new Request('http://localhost/api/metrics', {
      headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    })
    const response = await GET(request)
    expect(response.status).toBe(200)
    const families = parseText(await response.text())
    expect(families.get('api_idempotency_store_error_total')?.samples).toEqual([
      { name: 'api_idempotency_store_error_total', labels: { endpoint: 'POST /api/orders', tenant: '' }, value: 8 },
    ])
    expect(families.has('api_idempotency_records')).toBe(false)
    expect(families.has('api_idempotency_dead_letters')).toBe(false)
  })
})
