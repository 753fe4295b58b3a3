// The end of a call, whatever the provider does. Asked by both clocks, because either may stand still.

export const OVER = Symbol('the time limit is over')

export interface TimeLimit {
  readonly startedAt: number
  readonly ms: number
  readonly over: Promise<typeof OVER>
  /** Asks the clocks and not the timer, which is late in a process that was stopped or slept. */
  isOver(): boolean
  /** Every call closes its limit: a timer left behind would keep the process alive. */
  close(): void
}

export function openTimeLimit(ms: number): TimeLimit {
  let timer: NodeJS.Timeout
  const over = new Promise<typeof OVER>((resolve) => {
    timer = setTimeout(resolve, ms, OVER)
  })
  const startedAt = performance.now()
  const startedAtWall = Date.now()
  return {
    startedAt,
    ms,
    over,
    // The monotonic clock stands still while the machine sleeps, the wall clock can be set back.
    isOver: () => Math.max(performance.now() - startedAt, Date.now() - startedAtWall) >= ms,
    close: () => clearTimeout(timer),
  }
}
