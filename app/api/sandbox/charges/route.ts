import { listSandboxCharges } from '../../../../lib/http/operator/sandbox'
import { operatorRoute } from '../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const GET = operatorRoute(listSandboxCharges)
