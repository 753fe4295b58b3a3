// The numbers for a scraper that knows the token. Without a token there is nothing here; with one, the counters are
// there whatever the store does.
import { bearerOf } from '../../../lib/http/bearer'
import { problem } from '../../../lib/http/problem'
import { failure, requestIdOf, toResponse } from '../../../lib/http/respond'
import { services } from '../../../lib/node/services'
import { sameSecret } from '../../../lib/tenants/secret'

export const dynamic = 'force-dynamic'

export async function GET(request: Request): Promise<Response> {
  const requestId = requestIdOf(request)
  const headers = { 'x-request-id': requestId }
  try {
    const { config, exposition } = services()
    if (config.metricsToken === undefined) return toResponse(problem('not_found'), headers)
    const token = bearerOf(request)
    if (token === null || !sameSecret(token, config.metricsToken))
      return toResponse(
        problem('unauthenticated', { detail: 'Send the metrics token as Authorization: Bearer.' }),
        headers,
      )
    const body = await exposition.text()
    return toResponse({ status: 200, headers: { 'content-type': exposition.contentType }, body }, headers)
  } catch (error) {
    return toResponse(failure(error, requestId), headers)
  }
}
