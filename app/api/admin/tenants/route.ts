import { createTenant, listTenants } from '../../../../lib/http/operator/tenants'
import { operatorRoute } from '../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const GET = operatorRoute(listTenants)
export const POST = operatorRoute(createTenant)
