import { revokeToken } from '../../../../../lib/http/operator/tokens'
import { operatorRoute } from '../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const DELETE = operatorRoute(revokeToken)
