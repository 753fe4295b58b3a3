// How many requests of people are answered at once. Pages and lists are computed on the event loop and by the database
// that answer orders too, so few of them are under way at a time, some wait, and more are refused. While orders come in,
// each is followed by a rest of twice its own time: what people read takes a third of the room at most.
import type { ServerResponse } from 'node:http'

const AT_ONCE = 2
const WAITING = 32
/** A client that reads its answer slowly keeps no turn. */
const LONGEST_TURN_MS = 5_000
const REST = 2
/** However slow everything is, people are served now and then. */
const LONGEST_REST_MS = 500

export interface Turns {
  /** Begins when it is this one's turn; not at all when the client has gone, or when too many wait already. */
  take(response: ServerResponse, begin: () => void, refuse: () => void): void
}

interface Waiting {
  response: ServerResponse
  begin: () => void
}

/** @param areOrdersUnderWay while they are not, nothing rests */
export function openTurns(areOrdersUnderWay: () => boolean): Turns {
  const queue = new Set<Waiting>()
  let free = AT_ONCE

  function start({ response, begin }: Waiting): void {
    free--
    const begunMs = performance.now()
    const limit = setTimeout(end, LONGEST_TURN_MS).unref()
    let ended = false
    response.once('close', end)
    begin()

    function end() {
      if (ended) return
      ended = true
      clearTimeout(limit)
      const restMs = Math.min(REST * (performance.now() - begunMs), LONGEST_REST_MS)
      if (areOrdersUnderWay()) setTimeout(next, restMs).unref()
      else next()
    }
  }

  function next(): void {
    free++
    const [first] = queue
    if (!first) return
    queue.delete(first)
    start(first)
  }

  return {
    take(response, begin, refuse) {
      const waiting = { response, begin }
      if (free > 0) start(waiting)
      else if (queue.size < WAITING) {
        queue.add(waiting)
        response.once('close', () => queue.delete(waiting))
      } else refuse()
    },
  }
}
