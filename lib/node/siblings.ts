// How a process finds the others that serve the same port. Whoever started it as one of several has left this behind
// before the node starts (scripts/serve-share.ts); a process that serves alone finds nothing.
import type { Numbers } from '../metrics/exposition'

const SIBLINGS = Symbol.for('onceover.siblings')

export interface Siblings {
  /** The sum over all of them, those that have ended included. */
  numbers(): Promise<Numbers>
}

const holder = globalThis as unknown as Record<symbol, Siblings | undefined>

export const siblings = (): Siblings | undefined => holder[SIBLINGS]

export function leaveSiblings(found: Siblings): void {
  holder[SIBLINGS] = found
}
