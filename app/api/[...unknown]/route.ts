// A program that mistypes a path gets what it gets for every other mistake: a problem, not a page.
import { problem } from '../../../lib/http/problem'
import { requestIdOf, toResponse } from '../../../lib/http/respond'

const unknown = (request: Request): Response =>
  toResponse(problem('not_found'), { 'x-request-id': requestIdOf(request) })

export {
  unknown as DELETE,
  unknown as GET,
  unknown as HEAD,
  unknown as OPTIONS,
  unknown as PATCH,
  unknown as POST,
  unknown as PUT,
}
