import { describe, expect, it } from 'vitest'
import { ENDPOINTS, endpointsNamed } from '../../lib/console/endpoints'
import { routeFiles } from '../http/route-files'

describe('the endpoints of the operators’ lists', () => {
  it('are exactly the routes that take an Idempotency-Key', async () => {
    const keyed = (await routeFiles()).flatMap(({ path, handlers }) =>
      Object.entries(handlers)
        .filter(([, handler]) => (handler as { keyed?: unknown }).keyed === true)
        .map(([method]) => `${method} ${path}`),
    )
    expect([...ENDPOINTS].sort()).toEqual(keyed.sort())
  })

  it.each([
    ['POST /api/orders', ['POST /api/orders']],
    ['refunds', ['POST /api/orders/{id}/refunds']],
    ['Orders', ['POST /api/orders', 'POST /api/orders/{id}/refunds']],
    ['invoices', []],
  ])('are found by the text %s', (name, expected) => {
    expect(endpointsNamed(name)).toEqual(expected)
  })
})
