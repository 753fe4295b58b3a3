import { config } from '../../../lib/config'
import { servedOpenApi } from '../../../lib/http/openapi'
import { requestIdOf, toResponse } from '../../../lib/http/respond'

export const dynamic = 'force-dynamic'

// It does not need the store: it is there even when the database is not.
export const GET = (request: Request): Response =>
  toResponse(servedOpenApi(request, config().publicUrl), { 'x-request-id': requestIdOf(request) })
