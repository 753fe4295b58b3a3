// Which request this is: the caller's own word for it, so that both sides can find it in their logs, or one of ours.
import { newId } from '../db/id'

/** A caller's own id is kept when it is harmless in a log. */
export const requestIdOf = (request: Pick<Request, 'headers'>): string =>
  requestIdFrom(request.headers.get('x-request-id'))

export function requestIdFrom(given: string | null): string {
  return given && /^[\w.:+/=-]{1,128}$/.test(given) ? given : newId('req')
}
