// A client's GET: authentication, then a read that is scoped to its tenant.
import { type Services, services } from '../node/services'
import type { Tenant } from '../tenants/authenticate'
import { bearerOf } from './bearer'
import { countProblem } from './count-problem'
import { problem } from './problem'
import { failure, inRequest, type Parts, toResponse } from './respond'

interface Read {
  request: Request
  params: Record<string, string>
  tenant: Tenant
  node: Services
}

/** @param endpoint method and route template, as they are counted */
export function clientRead(endpoint: string, read: (call: Read) => Promise<Parts>) {
  return (request: Request, context: { params: Promise<Record<string, string>> }): Promise<Response> =>
    inRequest(request, async (requestId) => {
      let tenant: Tenant | null = null
      async function answer(): Promise<Parts> {
        const node = services()
        const apiKey = bearerOf(request)
        tenant = apiKey === null ? null : await node.authenticator.authenticate(apiKey)
        if (!tenant) return problem('unauthenticated')
        return read({ request, params: (await context.params) ?? {}, tenant, node })
      }
      const parts = await answer().catch((error) => failure(error, requestId))
      countProblem(parts, endpoint, (tenant as Tenant | null)?.id)
      return toResponse(parts, { 'x-request-id': requestId })
    })
}
