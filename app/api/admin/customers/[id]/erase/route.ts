import { eraseCustomer } from '../../../../../../lib/http/operator/customers'
import { operatorRoute } from '../../../../../../lib/http/operator-route'

export const dynamic = 'force-dynamic'

export const POST = operatorRoute(eraseCustomer)
