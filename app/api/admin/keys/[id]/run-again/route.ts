import { runKeyAgain } from '../../../../../../lib/http/operator/key-actions'
import { operatorRoute } from '../../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const POST = operatorRoute(runKeyAgain)
