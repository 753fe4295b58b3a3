// From what was decided to a Response, and from what went wrong to one that tells nothing of our insides.
import { newId } from '../db/id'
import { isUnavailable } from '../db/sqlstate'
import { log } from '../log'
import { type ProblemCode, type ProblemDetails, problem } from './problem'

export interface Parts {
  status: number
  headers: Record<string, string>
  body: string
}

export const json = (status: number, value: unknown, headers: Record<string, string> = {}): Parts => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
})

/** A caller's own id is kept when it is harmless in a log; otherwise it gets one of ours. */
export function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id')
  return given && /^[\w.:+/=-]{1,128}$/.test(given) ? given : newId('req')
}

export function toResponse(parts: Parts, headers: Record<string, string | null | undefined> = {}): Response {
  const all = new Headers(parts.headers)
  for (const [name, value] of Object.entries(headers)) if (value != null) all.set(name, value)
  if (!all.has('cache-control')) all.set('cache-control', 'no-store')
  return new Response(parts.body, { status: parts.status, headers: all })
}

export function failure(error: unknown, requestId: string): Parts {
  if (isUnavailable(error)) {
    log().warn({ requestId, err: error }, 'the store could not be asked')
    return problem('idempotency_store_unavailable')
  }
  log().error({ requestId, err: error }, 'a request failed')
  return problem('internal_error')
}

export const problemResponse = (code: ProblemCode, more?: ProblemDetails): Response => toResponse(problem(code, more))
