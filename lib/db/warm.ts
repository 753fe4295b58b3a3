// Opens all of a pool's connections before the node serves. Clients that waited for a restart all come in its first
// moment, while the processor is busiest: a connection that has to be made then may take longer than its time limit,
// and a few of these in a row look as if the store were gone. A server that has too few connections to give holds up a
// start for a moment and does not prevent it.
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { log } from '../log'

/** For a server that is slow, or that still has to end the connections of the node before. */
const PATIENCE_MS = 10_000
const PAUSE_MS = 100

type Pool = Pick<pg.Pool, 'connect'> & { options: { max: number } }

/** Throws where there is none to be had. */
export async function warm(pool: Pool, patienceMs = PATIENCE_MS): Promise<void> {
  const giveUpAt = performance.now() + patienceMs
  const open: pg.PoolClient[] = []
  try {
    while (open.length < pool.options.max) {
      const wanted = Array.from({ length: pool.options.max - open.length }, () => pool.connect())
      const results = await Promise.allSettled(wanted)
      for (const result of results) if (result.status === 'fulfilled') open.push(result.value)
      const failed = results.find((result) => result.status === 'rejected')
      if (!failed) return
      if (performance.now() > giveUpAt) {
        if (open.length === 0) throw failed.reason
        return log().warn({ err: failed.reason, open: open.length }, 'not all connections could be opened')
      }
      await sleep(PAUSE_MS)
    }
  } finally {
    for (const client of open) client.release()
  }
}
