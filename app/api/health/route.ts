import { json, requestIdOf, toResponse } from '../../../lib/http/respond'

export const dynamic = 'force-dynamic'

export const GET = (request: Request): Response =>
  toResponse(json(200, { status: 'ok' }), { 'x-request-id': requestIdOf(request) })
