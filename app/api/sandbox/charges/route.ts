import { bearerOf } from '../../../../lib/http/bearer'
import { problem } from '../../../../lib/http/problem'
import { failure, json, requestIdOf, toResponse } from '../../../../lib/http/respond'
import { isStorable } from '../../../../lib/http/validate'
import { services } from '../../../../lib/node/services'
import { operatorRole } from '../../../../lib/operators/authenticate'
import { listCharges } from '../../../../lib/payments/sandbox'

export const dynamic = 'force-dynamic'

export async function GET(request: Request): Promise<Response> {
  const requestId = requestIdOf(request)
  try {
    const node = services()
    if (node.gateway.name !== 'sandbox') return toResponse(problem('not_found'))
    const role = operatorRole(bearerOf(request), node.config.adminToken)
    if (!role) return toResponse(problem('unauthenticated'))
    const customerId = new URL(request.url).searchParams.get('customerId')
    if (!customerId)
      return toResponse(problem('invalid_request', { issues: [{ path: 'customerId', message: 'is required' }] }))
    const items = isStorable(customerId) ? await listCharges(node.sandboxPool, { customerId }) : []
    return toResponse(json(200, { items }))
  } catch (error) {
    return toResponse(failure(error, requestId))
  }
}
