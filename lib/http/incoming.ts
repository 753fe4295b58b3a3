// A request as a keyed route sees it, from whichever server it came: Next's, which makes a Request of it, or Node's own,
// where making one would take longer than all of a replay. Nothing larger than its limit is ever held in memory.
import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * What is refused unread is read to its end all the same, and thrown away: a connection that is closed on somebody who
 * is still sending takes the answer with it. Up to here; who sends more than this is not waiting for an answer.
 */
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024
/** And who announces a body and does not send it is answered after this long. */
const DISCARD_PATIENCE_MS = 2000

const NOTHING = Buffer.alloc(0)

export interface Incoming {
  /** Aborted when its sender has gone. */
  readonly signal: AbortSignal
  header(name: string): string | null
  /** The body; null for more than that, and then the rest is read and thrown away. Rejects where it broke off. */
  read(limit: number): Promise<Buffer | null>
  discard(): Promise<void>
}

export function fromWeb(request: Request): Incoming {
  const { body, headers } = request
  return {
    signal: request.signal,
    header: (name) => headers.get(name),
    read: async (limit) => (body ? readAtMost(body, limit) : NOTHING),
    discard: async () => {
      if (body) await discard(body.getReader())
    },
  }
}

/** @param body what was read of it already */
export function fromNode(request: IncomingMessage, response: ServerResponse, body?: ReadBody): Incoming {
  const { headers } = request
  let gone: AbortController | undefined
  function watch(): AbortController {
    const made = new AbortController()
    if (response.destroyed) made.abort()
    response.once('close', () => response.writableEnded || made.abort())
    return made
  }
  return {
    get signal() {
      gone ??= watch()
      return gone.signal
    },
    // Of those that may come twice Node makes one text; of the others the first counts, as anywhere.
    header: (name) => (headers[name] as string | undefined) ?? null,
    async read(limit) {
      if (body instanceof Error) throw body
      return body === undefined ? readNode(request, limit) : body
    },
    discard: async () => (body === undefined ? discardNode(request) : undefined),
  }
}

/** The body, or why there is none: null for more than the limit, an error where it broke off. */
export type ReadBody = Buffer | null | Error

function readNode(request: IncomingMessage, limit: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) =>
    readWhole(request, limit, (body) => (body instanceof Error ? reject(body) : resolve(body))),
  )
}

/** The body of a request that has come as a whole, which small ones mostly do: no event has to be waited for. */
export const atHand = (request: IncomingMessage): Buffer | undefined =>
  request.complete && !request.destroyed ? (request.read() ?? NOTHING) : undefined

/** Calls `done` at once where there is nothing to wait for. */
export function readWhole(request: IncomingMessage, limit: number, done: (body: ReadBody) => void): void {
  const body = atHand(request)
  if (body) done(body.length <= limit ? body : null)
  else if (request.destroyed) done(new Error('its sender has gone'))
  else followWhole(request, limit, done)
}

// By its events: an iterator or a stream of the web's takes several times as long.
function followWhole(request: IncomingMessage, limit: number, done: (body: ReadBody) => void): void {
  let chunks: Buffer[] = []
  let size = 0
  let over = false
  const finish = (body: ReadBody) => {
    if (over) return
    over = true
    // The server remembers the last request of a connection; its body is nobody's any more.
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
    discardNode(request).then(() => finish(null))
  }
  const end = () => finish(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
  request.on('data', take).on('end', end).on('error', finish)
}

function discardNode(request: IncomingMessage): Promise<void> {
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

async function readAtMost(body: ReadableStream<Uint8Array>, limit: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(chunks)
    size += value.byteLength
    if (size > limit) {
      await discard(reader)
      return null
    }
    chunks.push(value)
  }
}

async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const patience = new Promise((resolve) => setTimeout(resolve, DISCARD_PATIENCE_MS).unref())
  const rest = (async () => {
    for (let size = 0; size < MAX_DISCARDED_BYTES; ) {
      const { done, value } = await reader.read()
      if (done) return
      size += value.byteLength
    }
  })()
  await Promise.race([rest.catch(() => {}), patience])
  reader.cancel().catch(() => {})
}
