import { describe, expect, it } from 'vitest'
import { ENDPOINTS, endpointsNamed } from '../../lib/console/endpoints'
import { routeFiles } from '../http/route-files'

describe('the endpoints that lists walk', () => {
  it('are all that keys are kept for', async () => {
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
  ])('named %s', (name, expected) => {
    expect(endpointsNamed(name)).toEqual(expected)
  })
})
