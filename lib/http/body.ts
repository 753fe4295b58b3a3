// Reading a JSON body: media type, then size, then JSON, in the contract's order.
import { fromWeb, type Incoming } from './incoming'

export const MAX_BODY_BYTES = 256 * 1024

type Refused = { ok: false; code: 'unsupported_media_type' | 'body_too_large' | 'malformed_json' }

export async function readJson(incoming: Incoming): Promise<{ ok: true; value: unknown } | Refused> {
  const read = await readBytes(incoming)
  return read.ok ? parseJson(read.bytes) : read
}

/** What came under the name of JSON. */
export async function readBytes(incoming: Incoming): Promise<{ ok: true; bytes: Buffer } | Refused> {
  if (!isJson(incoming.header('content-type'))) {
    await incoming.discard()
    return { ok: false, code: 'unsupported_media_type' }
  }
  if (announcesTooMuch(incoming)) {
    await incoming.discard()
    return { ok: false, code: 'body_too_large' }
  }
  try {
    const bytes = await incoming.read(MAX_BODY_BYTES)
    return bytes ? { ok: true, bytes } : { ok: false, code: 'body_too_large' }
  } catch {
    // A client that hung up in the middle: its broken connection is not the store's.
    return { ok: false, code: 'malformed_json' }
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

export function parseJson(bytes: Buffer): { ok: true; value: unknown } | Refused {
  try {
    return { ok: true, value: JSON.parse(utf8.decode(bytes)) }
  } catch {
    return { ok: false, code: 'malformed_json' }
  }
}

const JSON_TYPE = 'application/json'

const isJson = (contentType: string | null): boolean =>
  contentType === JSON_TYPE || contentType?.split(';', 1)[0]?.trim().toLowerCase() === JSON_TYPE

const announcesTooMuch = (incoming: Incoming): boolean =>
  Number(incoming.header('content-length') ?? 0) > MAX_BODY_BYTES

/** The body as it was signed: not a byte may change before the signature is checked. Null where it is too large. */
export async function readRaw(request: Request): Promise<string | null> {
  const incoming = fromWeb(request)
  if (announcesTooMuch(incoming)) return null
  const bytes = await incoming.read(MAX_BODY_BYTES)
  return bytes && new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

export const discardBody = (request: Request): Promise<void> => fromWeb(request).discard()
