// The short way to the keyed routes: from Node's own server, past Next, which takes longer over a request than all of
// our work on it. Only what plainly names one of them goes here; everything else, odd spellings included, is Next's.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { log } from '../log'
import { MAX_BODY_BYTES } from './body'
import { fromNode, type ReadBody, readWhole } from './incoming'
import type { KeyedRoute } from './keyed'
import type { Replay } from './replay'

/** False where the request is not for one of the routes: then nothing was done. */
export type Direct = (request: IncomingMessage, response: ServerResponse) => boolean

/** A request, and what is known of it by then. */
interface Arrived {
  route: KeyedRoute
  request: IncomingMessage
  response: ServerResponse
  params: Record<string, string>
  startedMs: number
  /** What was read of it already. */
  body?: ReadBody
  replay?: Replay
}

/** @param routes by endpoint: `POST /api/things/{id}` */
export function direct(routes: Record<string, KeyedRoute>): Direct {
  const known = Object.entries(routes).map(([endpoint, route]) => ({ path: pathOf(endpoint), route }))
  let arrived: Arrived[] = []
  function answerArrived(): void {
    const turn = arrived
    arrived = []
    answerTurn(turn)
  }
  return (request, response) => {
    if (request.method !== 'POST') return false
    for (const { path, route } of known) {
      const match = path.exec(request.url!)
      if (!match) continue
      const one = { route, request, response, params: { ...match.groups }, startedMs: performance.now() }
      if (arrived.push(one) === 1) setImmediate(answerArrived)
      return true
    }
    return false
  }
}

/**
 * What came in one turn of the event loop: all of it is read before the first is answered, and the replays, which wait
 * for nobody, are sent one right after the other. To wake a client that sleeps takes as long as all else that is done
 * for a replay; one with several requests under way is awake by its second answer.
 */
function answerTurn(turn: readonly Arrived[]): void {
  const replays: Arrived[] = []
  const others: Arrived[] = []
  let isOver = false
  const sort = (one: Arrived) => {
    if (isOver) answer(one)
    else (one.replay ? replays : others).push(one)
  }
  for (const one of turn) guard(one, () => take(one, sort))
  isOver = true
  replays.forEach(answer)
  others.forEach(answer)
}

/** First whether it is a replay: that can be told without a promise, and at once where its body has come with it. */
function take(one: Arrived, done: (one: Arrived) => void): void {
  const { route, request, params, startedMs } = one
  const { headers } = request
  if (!route.mayReplay(headers)) done(one)
  else
    readWhole(request, MAX_BODY_BYTES, (body) =>
      guard(one, () => {
        one.body = body
        if (body instanceof Buffer) one.replay = route.replay({ headers, params, bytes: body, startedMs })
        done(one)
      }),
    )
}

function answer(one: Arrived): void {
  const { replay, response } = one
  if (replay) guard(one, () => response.writeHead(replay.status, replay.head).end(replay.body, replay.encoding))
  else execute(one)
}

async function execute({ route, request, response, params, startedMs, body: read }: Arrived): Promise<void> {
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

/** What fails where nobody expects it breaks its own connection and nothing else. */
function guard({ response }: Arrived, act: () => unknown): void {
  try {
    act()
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
