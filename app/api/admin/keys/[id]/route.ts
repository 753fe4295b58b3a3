import { showKey } from '../../../../../lib/http/operator/keys'
import { operatorRoute } from '../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const GET = operatorRoute(showKey)
