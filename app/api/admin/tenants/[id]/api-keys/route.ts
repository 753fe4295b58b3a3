import { createApiKey } from '../../../../../../lib/http/operator/tenants'
import { operatorRoute } from '../../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const POST = operatorRoute(createApiKey)
