// A client's GET: authentication, then a read that is scoped to its tenant.
import { type Services, services } from '../node/services'
import type { Tenant } from '../tenants/authenticate'
import { bearerOf } from './bearer'
import { problem } from './problem'
import { failure, inRequest, type Parts, toResponse } from './respond'

interface Read {
  request: Request
  params: Record<string, string>
  tenant: Tenant
  node: Services
}

export function clientRead(read: (call: Read) => Promise<Parts>) {
  return (request: Request, context: { params: Promise<Record<string, string>> }): Promise<Response> =>
    inRequest(request, async (requestId) => {
      const headers = { 'x-request-id': requestId }
      try {
        const node = services()
        const apiKey = bearerOf(request)
        const tenant = apiKey === null ? null : await node.authenticator.authenticate(apiKey)
        if (!tenant) return toResponse(problem('unauthenticated'), headers)
        return toResponse(await read({ request, params: (await context.params) ?? {}, tenant, node }), headers)
      } catch (error) {
        return toResponse(failure(error, requestId), headers)
      }
    })
}
