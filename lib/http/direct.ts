// The short way to the keyed routes: from Node's own server, past Next, which takes longer over a request than all of
// our work on it. Only what plainly names one of them goes here; everything else, odd spellings included, is Next's.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { log } from '../log'
import { MAX_BODY_BYTES } from './body'
import { atHand, fromNode, type ReadBody, readWhole } from './incoming'
import type { KeyedRoute } from './keyed'
import type { Replay } from './replay'

/** False where the request is not for one of the routes: then nothing was done. */
export type Direct = (request: IncomingMessage, response: ServerResponse) => boolean

interface Arrived {
  route: KeyedRoute
  request: IncomingMessage
  response: ServerResponse
  params: Record<string, string>
  startedMs: number
}

/** So many are not waited for: on one connection that asks ahead they could be thousands. */
const LONGEST_TURN = 256

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
      arrived.push({ route, request, response, params: { ...match.groups }, startedMs: performance.now() })
      if (arrived.length === 1) setImmediate(answerArrived)
      if (arrived.length === LONGEST_TURN) answerArrived()
      return true
    }
    return false
  }
}

/**
 * What came in one turn of the event loop. Replays, which wait for nobody, are sent one right after the other, before
 * anything else begins: to wake a client that sleeps takes as long as all else that is done for a replay, and one with
 * several requests under way is awake by its second answer.
 */
function answerTurn(turn: readonly Arrived[]): void {
  const replays: [Arrived, Replay][] = []
  const others: [Arrived, Buffer | undefined][] = []
  for (const one of turn)
    guard(one, () => {
      const body = mayReplay(one) ? atHand(one.request) : undefined
      const replay = body && replayOf(one, body)
      if (replay) replays.push([one, replay])
      else others.push([one, body])
    })
  for (const [one, replay] of replays) give(one, replay)
  for (const [one, body] of others) guard(one, () => answer(one, body))
}

/** Nobody keeps the body: what waits for an error on a connection keeps `one` for as long as that is open. */
function answer(one: Arrived, body: Buffer | undefined): void {
  if (body || !mayReplay(one)) {
    execute(one, body)
    return
  }
  readWhole(one.request, MAX_BODY_BYTES, (late) =>
    guard(one, () => {
      const replay = late instanceof Buffer ? replayOf(one, late) : undefined
      if (replay) give(one, replay)
      else execute(one, late)
    }),
  )
}

const mayReplay = ({ route, request }: Arrived): boolean => route.mayReplay(request.headers)

const replayOf = ({ route, request, params, startedMs }: Arrived, bytes: Buffer): Replay | undefined =>
  route.replay({ headers: request.headers, params, bytes, startedMs })

function give(one: Arrived, { status, head, body, encoding }: Replay): void {
  guard(one, () => one.response.writeHead(status, head).end(body, encoding))
}

/** @param read what was read of its body already */
async function execute({ route, request, response, params, startedMs }: Arrived, read?: ReadBody): Promise<void> {
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
