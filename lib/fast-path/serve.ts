// Serves keyed routes past Next, whose pipeline takes longer over a request than all of our own work. Only the plain
// spelling of a keyed endpoint is served here; everything else, odd spellings included, is left to Next.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { MAX_BODY_BYTES } from '../http/body'
import type { KeyedRoute } from '../http/keyed'
import { log } from '../log'
import { arrivedBody, NodeIncoming, type ReadBody, readWhole } from './node-incoming'
import { type FastPathServices, type Head, openReplays, type Replay } from './replays'

/** False for a request that is not for one of the routes: then nothing was done. */
export type FastPath = (request: IncomingMessage, response: ServerResponse) => boolean

interface Arrived {
  route: Pick<KeyedRoute, 'answer'>
  request: IncomingMessage
  response: ServerResponse
  params: Record<string, string>
  arrivedMs: number
  head: Head | undefined
}

/** A turn with this many requests is answered at once: one connection that pipelines could bring thousands. */
const LONGEST_TURN = 256

/** @param routes by endpoint: `POST /api/things/{id}` */
export function openFastPath(
  services: FastPathServices,
  routes: Record<string, Pick<KeyedRoute, 'answer'>>,
  replays = openReplays(services),
): FastPath {
  const known = Object.entries(routes).map(([endpoint, route]) => ({ path: pathOf(endpoint), route }))
  let arrived: Arrived[] = []

  function answerArrived(): void {
    const turn = arrived
    arrived = []
    answerTurn(turn)
  }

  /**
   * All requests of one turn of the event loop. Replays, which wait for nothing, are sent one right after the other,
   * before anything else begins: waking a client takes as long as all other work on a replay, and a client with several
   * requests under way is awake by its second answer.
   */
  function answerTurn(turn: readonly Arrived[]): void {
    const found: [Arrived, Replay][] = []
    const others: [Arrived, Buffer | undefined][] = []
    for (const one of turn)
      guard(one, () => {
        const body = one.head && arrivedBody(one.request)
        const replay = body && replayOf(one, body)
        if (replay) found.push([one, replay])
        else others.push([one, body])
      })
    for (const [one, replay] of found) give(one, replay)
    for (const [one, body] of others) guard(one, () => answer(one, body))
  }

  const replayOf = ({ head, arrivedMs }: Arrived, body: Buffer) => head && replays.find(head, body, arrivedMs)

  /** The body is not kept with `one`: a listener on the connection keeps that for as long as the connection is open. */
  function answer(one: Arrived, body: Buffer | undefined): void {
    if (body || !one.head || !replays.mayFind(one.head)) {
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

  /** @param read what was read of its body already */
  async function execute(one: Arrived, read?: ReadBody): Promise<void> {
    const { route, request, response, params, arrivedMs, head } = one
    try {
      const incoming = new NodeIncoming(request, response, arrivedMs, read)
      const keep = head && replays.begin(head, arrivedMs)
      const answer = await route.answer(incoming, params)
      const { status, headers, body } = answer
      const length = String(Buffer.byteLength(body))
      // A client that is still sending can't be heard any more on this connection.
      const last = request.complete ? {} : { connection: 'close' }
      response.writeHead(status, { ...headers, ...last, 'content-length': length }).end(body)
      if (incoming.body instanceof Buffer) keep?.(incoming.body, answer)
    } catch (error) {
      fail(response, error)
    }
  }

  return (request, response) => {
    if (request.method !== 'POST') return false
    for (const { path, route } of known) {
      const match = path.exec(request.url!)
      if (!match) continue
      const head = replays.headOf(request)
      arrived.push({ route, request, response, params: { ...match.groups }, arrivedMs: performance.now(), head })
      if (arrived.length === 1) setImmediate(answerArrived)
      if (arrived.length === LONGEST_TURN) answerArrived()
      return true
    }
    return false
  }
}

function give(one: Arrived, { status, head, body, encoding }: Replay): void {
  guard(one, () => one.response.writeHead(status, head).end(body, encoding))
}

/** An unexpected error breaks the connection of its own request and nothing else. */
function guard({ response }: Pick<Arrived, 'response'>, act: () => unknown): void {
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

/** A keyed route has no use for a query. */
function pathOf(endpoint: string): RegExp {
  const [, path] = endpoint.split(' ') as [string, string]
  return new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[\\w-]+)')}(?:\\?|$)`)
}
