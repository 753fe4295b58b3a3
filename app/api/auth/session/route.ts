import { showSession } from '../../../../lib/http/operator/access'
import { operatorRoute } from '../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const GET = operatorRoute(showSession)
