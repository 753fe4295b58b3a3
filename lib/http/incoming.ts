// A request as a keyed route sees it, whichever server it comes from. Nothing larger than its limit is ever held in memory.

/**
 * What is refused unread is read to its end all the same, and thrown away: a connection that is closed on somebody who
 * is still sending takes the answer with it. Up to here; who sends more than this is not waiting for an answer.
 */
export const MAX_DISCARDED_BYTES = 16 * 1024 * 1024
/** And who announces a body and does not send it is answered after this long. */
export const DISCARD_PATIENCE_MS = 2000

const NOTHING = Buffer.alloc(0)

export interface Incoming {
  /** By the monotonic clock. */
  readonly arrivedMs: number
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
    arrivedMs: performance.now(),
    signal: request.signal,
    header: (name) => headers.get(name),
    read: async (limit) => (body ? readAtMost(body, limit) : NOTHING),
    discard: async () => {
      if (body) await discard(body.getReader())
    },
  }
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
