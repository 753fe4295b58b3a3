import { missingMigrations } from '../../../lib/db/migrations'
import { json, toResponse } from '../../../lib/http/respond'
import { services } from '../../../lib/node/services'

export const dynamic = 'force-dynamic'

export async function GET(): Promise<Response> {
  try {
    const missing = await missingMigrations(services().store)
    return toResponse(
      missing.length ? json(503, { status: 'migrations missing', missing }) : json(200, { status: 'ready' }),
    )
  } catch {
    return toResponse(json(503, { status: 'database not available' }))
  }
}
