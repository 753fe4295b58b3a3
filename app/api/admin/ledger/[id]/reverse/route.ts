import { reverseEntry } from '../../../../../../lib/http/operator/ledger'
import { operatorRoute } from '../../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const POST = operatorRoute(reverseEntry)
