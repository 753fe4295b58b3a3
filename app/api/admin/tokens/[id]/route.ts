import { revokeToken, updateToken } from '../../../../../lib/http/operator/tokens'
import { operatorRoute } from '../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const PATCH = operatorRoute(updateToken)
export const DELETE = operatorRoute(revokeToken)
