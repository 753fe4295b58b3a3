// Before a page is rendered: which request this is, and what the browser may do with it. Next puts the nonce of the
// policy in the request on every script that it writes; the API's routes do their own.
import { type NextRequest, NextResponse } from 'next/server'
import { isCrossOrigin } from './lib/http/origin'
import { problem } from './lib/http/problem'
import { requestIdOf } from './lib/http/request-id'
import { toResponse } from './lib/http/respond'
import { PAGE_HEADERS, pagePolicy } from './lib/http/security-headers'

export const config = { matcher: '/((?!api/|_next/static/|icon\\.svg$|favicon\\.ico$).*)' }

export function proxy(request: NextRequest): Response {
  // To an action that another site's page calls, Next would answer 500, as if the fault were ours.
  if (request.method === 'POST' && isCrossOrigin(request))
    return toResponse(problem('cross_origin'), { 'x-request-id': requestIdOf(request) })

  const nonce = crypto.randomUUID()
  const policy = pagePolicy(nonce, process.env.NODE_ENV === 'development')
  const requestId = requestIdOf(request)

  const headers = new Headers(request.headers)
  headers.set('content-security-policy', policy)
  headers.set('x-nonce', nonce)
  headers.set('x-request-id', requestId)
  // Where a page that asks for a sign-in leads back to.
  headers.set('x-onceover-path', request.nextUrl.pathname + request.nextUrl.search)
  const response = NextResponse.next({ request: { headers } })

  for (const [name, value] of Object.entries(PAGE_HEADERS)) response.headers.set(name, value)
  response.headers.set('content-security-policy', policy)
  response.headers.set('x-request-id', requestId)
  return response
}
