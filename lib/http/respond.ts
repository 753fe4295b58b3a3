// From what was decided to a Response, and from what went wrong to one that tells nothing of our insides.
import { isUnavailable } from '../db/sqlstate'
import { log } from '../log'
import { withRequestId } from '../request-context'
import { problem } from './problem'
import { requestIdOf } from './request-id'
import { API_HEADERS } from './security-headers'

export { requestIdOf }

export interface Parts {
  status: number
  headers: Record<string, string>
  body: string
}

/** An answer that is made while it is sent. */
export interface Streamed extends Omit<Parts, 'body'> {
  body: ReadableStream<Uint8Array>
}

export const json = (status: number, value: unknown, headers: Record<string, string> = {}): Parts => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
})

/** Whatever is logged or stored while a request is answered knows which one it was. */
export function inRequest(request: Request, answer: (requestId: string) => Promise<Response>): Promise<Response> {
  const requestId = requestIdOf(request)
  return withRequestId(requestId, () => answer(requestId))
}

export function toResponse(parts: Parts | Streamed, headers: Record<string, string | null | undefined> = {}): Response {
  const { status, headers: all, body } = complete(parts, headers)
  // A 204 may not have a body, be it an empty one.
  return new Response(body || null, { status, headers: all })
}

/** With the headers that every answer has, and with those of this request. All names are in small letters. */
export function complete<Answer extends Parts | Streamed>(
  parts: Answer,
  headers: Record<string, string | null | undefined>,
): Answer {
  const all: Record<string, string> = { ...API_HEADERS, 'cache-control': 'no-store', ...parts.headers }
  for (const name in headers) {
    const value = headers[name]
    if (value != null) all[name] = value
  }
  return { ...parts, headers: all }
}

export function failure(error: unknown, requestId: string): Parts {
  if (isUnavailable(error)) {
    log().warn({ requestId, err: error }, 'the store could not be asked')
    return problem('idempotency_store_unavailable')
  }
  log().error({ requestId, err: error }, 'a request failed')
  return problem('internal_error')
}
