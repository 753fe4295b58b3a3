import { runSweeper } from '../../../../../lib/http/operator/runs'
import { operatorRoute } from '../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const POST = operatorRoute(runSweeper)
