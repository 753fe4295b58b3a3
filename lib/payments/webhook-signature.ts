// Stripe's signature scheme, `t=<seconds>,v1=<hex>`: HMAC-SHA256 over `t.body`, several v1 while a secret is being
// rolled. A body counts only if someone who knows the secret signed exactly these bytes, not long ago and not for later.

import { createHmac, timingSafeEqual } from 'node:crypto'

export function signPayload(rawBody: string, secret: string, atSeconds: number): string {
  return `t=${atSeconds},v1=${digest(rawBody, secret, String(atSeconds)).toString('hex')}`
}

export function verifySignature(
  rawBody: string,
  header: string | null,
  secret: string,
  toleranceSeconds: number,
  nowMs: number,
): boolean {
  const claim = header === null ? null : parseHeader(header)
  // Everybody knows the empty secret.
  if (!claim || secret === '') return false
  const expected = digest(rawBody, secret, claim.timestamp)
  const signed = claim.signatures.some((signature) => timingSafeEqual(signature, expected))
  // Both ways: a signature dated ahead would stay valid for longer than the tolerance.
  return signed && Math.abs(Math.floor(nowMs / 1000) - Number(claim.timestamp)) <= toleranceSeconds
}

function digest(rawBody: string, secret: string, timestamp: string): Buffer {
  return createHmac('sha256', secret).update(`${timestamp}.${rawBody}`, 'utf8').digest()
}

interface Claim {
  /** As it was written: that is what was signed. */
  timestamp: string
  signatures: Buffer[]
}

/** Parts of other schemes are skipped. Two timestamps are refused: readers would differ on which one was signed. */
function parseHeader(header: string): Claim | null {
  const timestamps: string[] = []
  const signatures: Buffer[] = []
  for (const part of header.split(',')) {
    const [name, value = ''] = part.trim().split('=', 2)
    if (name === 't') timestamps.push(value)
    // Only what has the digest's length can be compared in constant time.
    if (name === 'v1' && /^[0-9a-f]{64}$/.test(value)) signatures.push(Buffer.from(value, 'hex'))
  }
  const [timestamp = ''] = timestamps
  return timestamps.length === 1 && /^\d{1,12}$/.test(timestamp) ? { timestamp, signatures } : null
}
