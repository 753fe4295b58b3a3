// The short way to the keyed routes: from Node's own server, past Next, which takes longer over a request than all of
// our work on it. Only what plainly names one of them goes here; everything else, odd spellings included, is Next's.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { log } from '../log'
import { fromNode } from './incoming'
import type { KeyedRoute } from './keyed'

/** False where the request is not for one of the routes: then nothing was done. */
export type Direct = (request: IncomingMessage, response: ServerResponse) => boolean

/** @param routes by endpoint: `POST /api/things/{id}` */
export function direct(routes: Record<string, KeyedRoute>): Direct {
  const known = Object.entries(routes).map(([endpoint, route]) => ({ path: pathOf(endpoint), route }))
  return (request, response) => {
    if (request.method !== 'POST') return false
    for (const { path, route } of known) {
      const match = path.exec(request.url!)
      if (!match) continue
      answer(route, request, response, { ...match.groups })
      return true
    }
    return false
  }
}

async function answer(
  route: KeyedRoute,
  request: IncomingMessage,
  response: ServerResponse,
  params: Record<string, string>,
): Promise<void> {
  try {
    const { status, headers, body } = await route.answer(fromNode(request, response), params)
    // Whoever is still sending then can't be heard any more on this connection.
    if (!request.complete) headers.connection = 'close'
    headers['content-length'] = String(Buffer.byteLength(body))
    response.writeHead(status, headers).end(body)
  } catch (error) {
    log().error({ err: error }, 'an answer could not be sent')
    response.destroy()
  }
}

/** A query says nothing to a keyed route. */
function pathOf(endpoint: string): RegExp {
  const [, path] = endpoint.split(' ') as [string, string]
  return new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[\\w-]+)')}(?:\\?|$)`)
}
