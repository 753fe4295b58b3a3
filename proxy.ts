// Before a page is rendered: which request this is, and what the browser may do with it. Next puts the nonce of the
// policy in the request on every script that it writes; the API's routes do their own.
import { type NextRequest, NextResponse } from 'next/server'
import { isCrossOrigin } from './lib/http/origin'
import { problem } from './lib/http/problem'
import { requestIdOf } from './lib/http/request-id'
import { toResponse } from './lib/http/respond'
import { isPublicPage, PAGE_HEADERS, PUBLIC_PAGE_HEADERS, pagePolicy } from './lib/http/security-headers'

export const config = { matcher: '/((?!api/|_next/static/|icon\\.svg$|favicon\\.ico$).*)' }

export function proxy(request: NextRequest): Response {
  // To an action that another site's page calls, Next would answer 500, as if the fault were ours.
  if (request.method === 'POST' && isCrossOrigin(request))
    return toResponse(problem('cross_origin'), { 'x-request-id': requestIdOf(request) })

  const development = process.env.NODE_ENV === 'development'
  const requestId = requestIdOf(request)
  // Under development they are rendered for each request, with Next's scripts in them.
  if (isPublicPage(request.nextUrl.pathname) && !development)
    return withHeaders(NextResponse.next(), { ...PUBLIC_PAGE_HEADERS, 'x-request-id': requestId })

  const nonce = crypto.randomUUID()
  const policy = pagePolicy(nonce, development)
  const headers = new Headers(request.headers)
  headers.set('content-security-policy', policy)
  headers.set('x-nonce', nonce)
  headers.set('x-request-id', requestId)
  // Where a page that asks for a sign-in leads back to.
  headers.set('x-onceover-path', request.nextUrl.pathname + request.nextUrl.search)
  return withHeaders(NextResponse.next({ request: { headers } }), {
    ...PAGE_HEADERS,
    'content-security-policy': policy,
    'x-request-id': requestId,
  })
}

function withHeaders(response: Response, headers: Record<string, string>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
