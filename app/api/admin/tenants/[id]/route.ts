import { showTenant, updateTenant } from '../../../../../lib/http/operator/tenants'
import { operatorRoute } from '../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const GET = operatorRoute(showTenant)
export const PATCH = operatorRoute(updateTenant)
