// The database's clock as this node knows it: the last reading plus what the monotonic clock has counted since.
// A node whose wall clock is wrong judges a request's age as every other node does.
import sql, { raw } from 'sql-template-tag'
import { processWide } from '../process-wide'
import type { Store } from './store'

interface Reading {
  databaseMs: number
  monotonicMs: number
}

const last = processWide('database-clock', () => ({ reading: null as Reading | null, server: null as string | null }))

/** Names one run of one server, and the database there: a copy of it elsewhere has another name. */
export const SERVER = raw(`current_database() || ' ' || extract(epoch FROM pg_postmaster_start_time())`)

export function observeDatabase({ now, server }: { now: Date; server?: string }): void {
  last.reading = { databaseMs: now.getTime(), monotonicMs: performance.now() }
  if (server) last.server = server
}

/** The one that the store was last seen to reach. */
export const serverOfStore = (): string | null => last.server

/** The first reading, so that no node ever goes by its own clock alone. */
export async function readDatabaseClock(store: Store): Promise<void> {
  const [row] = await store.query<{ now: Date; server: string }>(
    sql`SELECT clock_timestamp() AS now, ${SERVER} AS server`,
  )
  if (row) observeDatabase(row)
}

/** @param monotonicMs the monotonic clock's now */
export function databaseNowMs(monotonicMs = performance.now()): number {
  const { reading } = last
  return reading ? reading.databaseMs + (monotonicMs - reading.monotonicMs) : Date.now()
}
