import { missingMigrations } from '../../../lib/db/migrations'
import { json, type Parts, requestIdOf, toResponse } from '../../../lib/http/respond'
import { services } from '../../../lib/node/services'

export const dynamic = 'force-dynamic'

export const GET = async (request: Request): Promise<Response> =>
  toResponse(await readiness(), { 'x-request-id': requestIdOf(request) })

async function readiness(): Promise<Parts> {
  try {
    const missing = await missingMigrations(services().store)
    return missing.length ? json(503, { status: 'migrations missing', missing }) : json(200, { status: 'ready' })
  } catch {
    return json(503, { status: 'database not available' })
  }
}
