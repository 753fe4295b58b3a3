// Signing in and out over HTTP. Neither has a caller yet or any more, so they are no operator's calls; a page of another
// site may do neither.
import { operatorServices } from '../node/operator-services'
import { isRefused } from '../operators/refusal'
import type { SessionCookie } from '../operators/session-cookie'
import { withRequestId } from '../request-context'
import { discardBody, readJson } from './body'
import { fromWeb } from './incoming'
import { Credentials } from './operator/access'
import { isCrossOrigin } from './origin'
import { problem } from './problem'
import { failure, json, type Parts, requestIdOf, toResponse } from './respond'
import { validate } from './validate'

type Step = (request: Request, requestId: string) => Promise<Parts>

const ownPagesOnly =
  (step: Step) =>
  (request: Request): Promise<Response> => {
    const requestId = requestIdOf(request)
    const headers = { 'x-request-id': requestId }
    return withRequestId(requestId, async () => {
      try {
        if (!isCrossOrigin(request)) return toResponse(await step(request, requestId), headers)
        await discardBody(request)
        return toResponse(problem('cross_origin'), headers)
      } catch (error) {
        return toResponse(failure(error, requestId), headers)
      }
    })
  }

export const signInRoute = ownPagesOnly(async (request, requestId) => {
  const read = await readJson(fromWeb(request))
  if (!read.ok) return problem(read.code)
  const asked = validate(Credentials, read.value)
  if (!asked.ok) return problem('invalid_request', { issues: asked.issues })
  const services = operatorServices()
  const outcome = await services.signIn({ ...asked.value, headers: request.headers, requestId })
  if (!isRefused(outcome)) return json(200, outcome.operator, { 'set-cookie': setCookie(outcome.cookie) })
  if (outcome.refused === 'unauthenticated') services.countUnauthenticated()
  const { refused, ...details } = outcome
  return problem(refused, details)
})

export const signOutRoute = ownPagesOnly(async (request, requestId) => {
  await discardBody(request)
  const cookie = await operatorServices().signOut({ headers: request.headers, requestId })
  return { status: 204, headers: { 'set-cookie': setCookie(cookie) }, body: '' }
})

function setCookie({ name, value, path, secure, maxAge }: SessionCookie): string {
  const attributes = [`Path=${path}`, 'HttpOnly', 'SameSite=Lax']
  if (secure) attributes.push('Secure')
  if (maxAge !== undefined) attributes.push(`Max-Age=${maxAge}`)
  return [`${name}=${encodeURIComponent(value)}`, ...attributes].join('; ')
}
