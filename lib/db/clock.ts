// The database's clock as this node knows it: the last reading plus what the monotonic clock has counted since.
// A node whose wall clock is wrong judges a request's age as every other node does.
import sql from 'sql-template-tag'
import { processWide } from '../process-wide'
import type { Store } from './store'

interface Reading {
  databaseMs: number
  monotonicMs: number
}

const last = () => processWide('database-clock', () => ({ reading: null as Reading | null }))

export function observeDatabaseTime(at: Date): void {
  last().reading = { databaseMs: at.getTime(), monotonicMs: performance.now() }
}

/** The first reading, so that no node ever goes by its own clock alone. */
export async function readDatabaseClock(store: Store): Promise<void> {
  const [row] = await store.query<{ now: Date }>(sql`SELECT clock_timestamp() AS now`)
  if (row) observeDatabaseTime(row.now)
}

export function databaseNowMs(): number {
  const { reading } = last()
  return reading ? reading.databaseMs + (performance.now() - reading.monotonicMs) : Date.now()
}
