import { openApi } from '../../../lib/http/openapi'
import { json, toResponse } from '../../../lib/http/respond'

// Nothing in it depends on the request or on the store: made with the build, it is there even when the database is not.
export const dynamic = 'force-static'

const document = json(200, openApi, { 'cache-control': 'public, max-age=300' })

export const GET = (): Response => toResponse(document)
