// Before a page is rendered: which request this is, and what the browser may do with it. Next puts the nonce of the
// policy in the request on every script that it writes; the API's routes do their own.
import { type NextRequest, NextResponse } from 'next/server'
import { requestIdOf } from './lib/http/request-id'
import { PAGE_HEADERS, pagePolicy } from './lib/http/security-headers'

export const config = { matcher: '/((?!api/|_next/static/|icon\\.svg$|favicon\\.ico$).*)' }

export function proxy(request: NextRequest): NextResponse {
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
