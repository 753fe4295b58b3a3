import { signOutRoute } from '../../../../lib/http/sign-in'

export const dynamic = 'force-dynamic'

export const POST = signOutRoute
