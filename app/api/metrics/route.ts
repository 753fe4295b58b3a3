// The numbers for a scraper that knows the token. Without a token there is nothing here; with one, the counters are
// there whatever the store does.
import { bearerOf } from '../../../lib/http/bearer'
import { problem } from '../../../lib/http/problem'
import { failure, inRequest, type Parts, toResponse } from '../../../lib/http/respond'
import { services } from '../../../lib/node/services'
import { sameSecret } from '../../../lib/secret'

export const dynamic = 'force-dynamic'

export const GET = (request: Request): Promise<Response> =>
  inRequest(request, async (requestId) => {
    const headers = { 'x-request-id': requestId }
    try {
      return toResponse(await numbers(request), headers)
    } catch (error) {
      return toResponse(failure(error, requestId), headers)
    }
  })

async function numbers(request: Request): Promise<Parts> {
  const { config, exposition } = services()
  if (config.metricsToken === undefined) return problem('not_found')
  const token = bearerOf(request)
  if (token === null || !sameSecret(token, config.metricsToken))
    return problem('unauthenticated', { detail: 'Send the metrics token as Authorization: Bearer.' })
  return { status: 200, headers: { 'content-type': exposition.contentType }, body: await exposition.text() }
}
