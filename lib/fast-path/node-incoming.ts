// A request of Node's own server as a keyed route sees it. Making a Request of it would take longer than a whole replay.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DISCARD_PATIENCE_MS, type Incoming, MAX_DISCARDED_BYTES } from '../http/incoming'

const NOTHING = Buffer.alloc(0)

/** The body, or why there is none: null for more than the limit, an error where it broke off. */
export type ReadBody = Buffer | null | Error

// A class, because the loader that runs scripts/ names each function of an object anew whenever one is made.
export class NodeIncoming implements Incoming {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly arrivedMs: number
  /** What was read so far. */
  body: ReadBody | undefined
  #gone: AbortController | undefined

  constructor(request: IncomingMessage, response: ServerResponse, arrivedMs: number, body?: ReadBody) {
    this.#request = request
    this.#response = response
    this.arrivedMs = arrivedMs
    this.body = body
  }

  get signal(): AbortSignal {
    if (!this.#gone) {
      const gone = new AbortController()
      const response = this.#response
      if (response.destroyed) gone.abort()
      response.once('close', () => response.writableEnded || gone.abort())
      this.#gone = gone
    }
    return this.#gone.signal
  }

  /** Of headers that may come twice Node makes one text; of the others the first counts. */
  header(name: string): string | null {
    return (this.#request.headers[name] as string | undefined) ?? null
  }

  async read(limit: number): Promise<Buffer | null> {
    this.body ??= await new Promise<ReadBody>((resolve) => readWhole(this.#request, limit, resolve))
    if (this.body instanceof Error) throw this.body
    return this.body && this.body.length <= limit ? this.body : null
  }

  async discard(): Promise<void> {
    if (this.body === undefined) await discard(this.#request)
  }
}

/** The body of a request that has arrived as a whole, as small ones mostly do: no event has to be waited for. */
export const arrivedBody = (request: IncomingMessage): Buffer | undefined =>
  request.complete && !request.destroyed ? (request.read() ?? NOTHING) : undefined

/** Calls `done` at once where there is nothing to wait for. */
export function readWhole(request: IncomingMessage, limit: number, done: (body: ReadBody) => void): void {
  const body = arrivedBody(request)
  if (body) done(body.length <= limit ? body : null)
  else if (request.destroyed) done(new Error('its sender has gone'))
  else followWhole(request, limit, done)
}

// By its events: an iterator or a web stream takes several times as long.
function followWhole(request: IncomingMessage, limit: number, done: (body: ReadBody) => void): void {
  let chunks: Buffer[] = []
  let size = 0
  let over = false
  const finish = (body: ReadBody) => {
    if (over) return
    over = true
    // The server remembers the last request of a connection; its body is not needed any more.
    chunks = []
    done(body)
  }
  const take = (chunk: Buffer) => {
    size += chunk.length
    if (size <= limit) {
      chunks.push(chunk)
      return
    }
    request.off('data', take).off('end', end)
    discard(request).then(() => finish(null))
  }
  const end = () => finish(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
  request.on('data', take).on('end', end).on('error', finish)
}

function discard(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let size = 0
    const patience = setTimeout(enough, DISCARD_PATIENCE_MS).unref()
    function enough() {
      clearTimeout(patience)
      request.pause()
      resolve()
    }
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_DISCARDED_BYTES) enough()
    })
    request.on('end', enough).on('error', enough)
  })
}
