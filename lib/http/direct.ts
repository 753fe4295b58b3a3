// The short way to the keyed routes: from Node's own server, past Next, which takes longer over a request than all of
// our work on it. Only what plainly names one of them goes here; everything else, odd spellings included, is Next's.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { log } from '../log'
import { MAX_BODY_BYTES } from './body'
import { fromNode, type ReadBody, readWhole } from './incoming'
import type { KeyedRoute } from './keyed'

type Params = Record<string, string>

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
      take(route, request, response, { ...match.groups })
      return true
    }
    return false
  }
}

/** First whether it is a replay: that can be told without a promise. */
function take(route: KeyedRoute, request: IncomingMessage, response: ServerResponse, params: Params): void {
  const startedMs = performance.now()
  if (!route.mayReplay(request.headers)) return void answer(route, request, response, { params, startedMs })
  readWhole(request, MAX_BODY_BYTES, (body) => {
    try {
      const replay =
        body instanceof Buffer && route.replay({ headers: request.headers, params, bytes: body, startedMs })
      if (replay) response.writeHead(replay.status, replay.head).end(replay.body, replay.encoding)
      else answer(route, request, response, { params, startedMs, body })
    } catch (error) {
      fail(response, error)
    }
  })
}

interface Taken {
  params: Params
  startedMs: number
  /** What was read of it already. */
  body?: ReadBody
}

async function answer(
  route: KeyedRoute,
  request: IncomingMessage,
  response: ServerResponse,
  { params, startedMs, body: read }: Taken,
): Promise<void> {
  try {
    const incoming = fromNode(request, response, read)
    const { status, headers, body } = await route.answer(incoming, params, startedMs)
    // Whoever is still sending then can't be heard any more on this connection.
    if (!request.complete) headers.connection = 'close'
    headers['content-length'] = String(Buffer.byteLength(body))
    response.writeHead(status, headers).end(body)
  } catch (error) {
    fail(response, error)
  }
}

function fail(response: ServerResponse, error: unknown): void {
  log().error({ err: error }, 'an answer could not be sent')
  response.destroy()
}

/** A query says nothing to a keyed route. */
function pathOf(endpoint: string): RegExp {
  const [, path] = endpoint.split(' ') as [string, string]
  return new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[\\w-]+)')}(?:\\?|$)`)
}
