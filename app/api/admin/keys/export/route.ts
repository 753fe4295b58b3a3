import { exportKeys } from '../../../../../lib/http/operator/export'
import { operatorRoute } from '../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const GET = operatorRoute(exportKeys)
