import { verifyAudit } from '../../../../../lib/http/operator/audit-chain'
import { operatorRoute } from '../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const GET = operatorRoute(verifyAudit)
