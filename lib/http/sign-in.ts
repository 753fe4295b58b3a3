// Signing in and out over HTTP. Neither has a caller yet or any more, so they are no operator's calls; a page of another
// site may do neither.
import { operatorServices } from '../node/operator-services'
import { isRefused } from '../operators/refusal'
import type { OwnCookie } from '../operators/session-cookie'
import { withRequestId } from '../request-context'
import { discardBody, readJson } from './body'
import { fromWeb } from './incoming'
import { Credentials } from './operator/access'
import { isCrossOrigin } from './origin'
import { problem } from './problem'
import { failure, json, type Parts, requestIdOf, toResponse } from './respond'
import { validate } from './validate'

type Step = (request: Request, requestId: string) => Promise<Parts & { cookies?: OwnCookie[] }>

const ownPagesOnly =
  (step: Step) =>
  (request: Request): Promise<Response> => {
    const requestId = requestIdOf(request)
    const headers = { 'x-request-id': requestId }
    return withRequestId(requestId, async () => {
      try {
        if (isCrossOrigin(request)) {
          await discardBody(request)
          return toResponse(problem('cross_origin'), headers)
        }
        const { cookies = [], ...parts } = await step(request, requestId)
        const response = toResponse(parts, headers)
        for (const cookie of cookies) response.headers.append('set-cookie', setCookie(cookie))
        return response
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
  if (!isRefused(outcome)) return { ...json(200, outcome.operator), cookies: [outcome.cookie, outcome.device] }
  if (outcome.refused === 'unauthenticated') services.countUnauthenticated()
  const { refused, ...details } = outcome
  return problem(refused, details)
})

export const signOutRoute = ownPagesOnly(async (request, requestId) => {
  await discardBody(request)
  const cookie = await operatorServices().signOut({ headers: request.headers, requestId })
  return { status: 204, headers: {}, body: '', cookies: [cookie] }
})

function setCookie({ name, value, path, secure, maxAge }: OwnCookie): string {
  const attributes = [`Path=${path}`, 'HttpOnly', 'SameSite=Lax']
  if (secure) attributes.push('Secure')
  if (maxAge !== undefined) attributes.push(`Max-Age=${maxAge}`)
  return [`${name}=${encodeURIComponent(value)}`, ...attributes].join('; ')
}
