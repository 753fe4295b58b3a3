// The process's own clocks, moved on by hand; what is not moved goes on as ever. `vi.restoreAllMocks` sets them right.
import { vi } from 'vitest'

export type Clock = 'monotonic' | 'wall'
export const CLOCKS: readonly Clock[] = ['monotonic', 'wall']

const monotonic = performance.now.bind(performance)
const wall = Date.now.bind(Date)

/** Moves one clock on, from where it stands; the other one is left alone. */
export function advance(clock: Clock, ms: number): void {
  if (clock === 'monotonic') {
    const ahead = performance.now() - monotonic() + ms
    vi.spyOn(performance, 'now').mockImplementation(() => monotonic() + ahead)
  } else {
    const ahead = Date.now() - wall() + ms
    vi.spyOn(Date, 'now').mockImplementation(() => wall() + ahead)
  }
}
