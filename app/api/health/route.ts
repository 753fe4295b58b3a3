import { json, toResponse } from '../../../lib/http/respond'

export const dynamic = 'force-dynamic'

export const GET = (): Response => toResponse(json(200, { status: 'ok' }))
