// The database's clock as this node knows it: the last reading plus what the monotonic clock has counted since.
// A node whose wall clock is wrong judges a request's age as every other node does.
import { processWide } from '../process-wide'

interface Reading {
  databaseMs: number
  monotonicMs: number
}

const last = () => processWide('database-clock', () => ({ reading: null as Reading | null }))

export function observeDatabaseTime(at: Date): void {
  last().reading = { databaseMs: at.getTime(), monotonicMs: performance.now() }
}

export function databaseNowMs(): number {
  const { reading } = last()
  return reading ? reading.databaseMs + (performance.now() - reading.monotonicMs) : Date.now()
}
