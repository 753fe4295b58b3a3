import { missingMigrations } from '../../../lib/db/migrations'
import { json, type Parts, requestIdOf, toResponse } from '../../../lib/http/respond'
import { services } from '../../../lib/node/services'

export const dynamic = 'force-dynamic'

export const GET = async (request: Request): Promise<Response> =>
  toResponse(await readiness(), { 'x-request-id': requestIdOf(request) })

async function readiness(): Promise<Parts> {
  const { store, fence } = services()
  try {
    const missing = await missingMigrations(store)
    if (missing.length) return json(503, { status: 'migrations missing', missing })
    const restore = await fence?.status()
    return json(200, { status: 'ready', ...(restore && { restore: restore.state }) })
  } catch {
    return json(503, { status: 'database not available' })
  }
}
