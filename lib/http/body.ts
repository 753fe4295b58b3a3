// Reading a JSON body: media type, then size, then JSON, in the contract's order. Nothing larger than the limit is
// ever held in memory.

const MAX_BODY_BYTES = 256 * 1024

/**
 * What is refused unread is read to its end all the same, and thrown away: a connection that is closed on somebody who
 * is still sending takes the answer with it. Up to here; who sends more than this is not waiting for an answer.
 */
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024
/** And who announces a body and does not send it is answered after this long. */
const DISCARD_PATIENCE_MS = 2000

export type ReadBody =
  | { ok: true; value: unknown }
  | { ok: false; code: 'unsupported_media_type' | 'body_too_large' | 'malformed_json' }

export async function readJson(request: Request): Promise<ReadBody> {
  const mediaType = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') {
    await discardBody(request)
    return { ok: false, code: 'unsupported_media_type' }
  }
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) {
    await discardBody(request)
    return { ok: false, code: 'body_too_large' }
  }
  try {
    const bytes = await readAtMost(request.body, MAX_BODY_BYTES)
    if (!bytes) return { ok: false, code: 'body_too_large' }
    return { ok: true, value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) }
  } catch {
    // Also for a client that hung up in the middle: its broken connection is not the store's.
    return { ok: false, code: 'malformed_json' }
  }
}

/** The body as it was signed: not a byte may change before the signature is checked. Null where it is too large. */
export async function readRaw(request: Request): Promise<string | null> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) return null
  const bytes = await readAtMost(request.body, MAX_BODY_BYTES)
  return bytes && new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

export async function discardBody(request: Request): Promise<void> {
  if (request.body) await discard(request.body.getReader())
}

/** Null for more than that; what is beyond the limit is never kept. */
async function readAtMost(body: ReadableStream<Uint8Array> | null, limit: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  if (!body) return Buffer.alloc(0)
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
