// How soon a process that ended is replaced, and when that is no use any more. A machine that kills all of them once is
// forgiven at once; one that ends again and again is given longer and longer, and then up.

const WINDOW_MS = 60_000
const FIRST_DELAY_MS = 500
/** Beyond one end of each: 0.5 + 1 + 2 + 4 + 8 s, within the window also where a start takes a few seconds. */
const RETRIES = 5

export interface Replacements {
  /** One has ended: after how long the next may start; null: never. */
  delayMs(): number | null
}

export function countReplacements(processes: number, now: () => number = () => performance.now()): Replacements {
  let ends: number[] = []
  return {
    delayMs() {
      ends = [...ends.filter((at) => at > now() - WINDOW_MS), now()]
      const retry = ends.length - processes
      if (retry > RETRIES) return null
      return retry <= 0 ? 0 : FIRST_DELAY_MS * 2 ** (retry - 1)
    },
  }
}
