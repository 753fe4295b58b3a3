// Secrets of programs: random, shown once, and known to the store by their hash only. They carry 160 bits, so a
// plain SHA-256 is enough: there is nothing to guess.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

export const newSecret = (prefix: 'oo_live' | 'oo_demo' | 'oo_op'): string =>
  `${prefix}_${randomBytes(20).toString('hex')}`

export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** Equal in constant time, whatever the lengths. */
export const sameSecret = (a: string, b: string): boolean => timingSafeEqual(hashSecret(a), hashSecret(b))
