import { listAudit } from '../../../../lib/http/operator/insight'
import { operatorRoute } from '../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const GET = operatorRoute(listAudit)
