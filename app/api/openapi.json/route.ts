import { openApi } from '../../../lib/http/openapi'
import { json, requestIdOf, toResponse } from '../../../lib/http/respond'

export const dynamic = 'force-dynamic'

// Nothing in it depends on the request or on the store: made once, it is there even when the database is not.
const document = json(200, openApi, { 'cache-control': 'public, max-age=300' })

export const GET = (request: Request): Response => toResponse(document, { 'x-request-id': requestIdOf(request) })
