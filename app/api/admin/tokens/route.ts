import { createToken, listTokens } from '../../../../lib/http/operator/tokens'
import { operatorRoute } from '../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const GET = operatorRoute(listTokens)
export const POST = operatorRoute(createToken)
