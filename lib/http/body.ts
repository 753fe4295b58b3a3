// Reading a JSON body: media type, then size, then JSON, in the contract's order. Nothing larger than the limit is
// ever held in memory.

const MAX_BODY_BYTES = 256 * 1024

export type ReadBody =
  | { ok: true; value: unknown }
  | { ok: false; code: 'unsupported_media_type' | 'body_too_large' | 'malformed_json' }

export async function readJson(request: Request): Promise<ReadBody> {
  const mediaType = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') return { ok: false, code: 'unsupported_media_type' }
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) return { ok: false, code: 'body_too_large' }
  const bytes = await readAtMost(request.body, MAX_BODY_BYTES)
  if (!bytes) return { ok: false, code: 'body_too_large' }
  try {
    return { ok: true, value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) }
  } catch {
    return { ok: false, code: 'malformed_json' }
  }
}

/** The body as it was signed: not a byte may change before the signature is checked. Null where it is too large. */
export async function readRaw(request: Request): Promise<string | null> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) return null
  const bytes = await readAtMost(request.body, MAX_BODY_BYTES)
  return bytes && new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

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
      await reader.cancel().catch(() => {})
      return null
    }
    chunks.push(value)
  }
}
