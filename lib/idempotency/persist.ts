// What an owner learned from the provider must reach the store. When the store is lost after the call, the owner
// keeps trying until its lease ends; its client is told after a moment that the outcome is not known yet.
import { isUnavailable } from '../db/sqlstate'
import { processWide } from '../process-wide'
import type { Boundary } from './boundary'
import type { LeaseClock } from './lease'
import type { Through } from './store/transition'

/** A restart of the database behind a pooler takes about this long; a client can wait so long for a true answer. */
const CLIENT_PATIENCE_MS = 3000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1000

const underWay = () => processWide('persisting', () => new Set<Promise<unknown>>())

/** The write's own result, or `store_lost` while the tries go on behind the client's back. */
export async function persist<T>(
  boundary: Boundary,
  lease: LeaseClock,
  write: (through: Through) => Promise<T>,
): Promise<T | 'store_lost'> {
  try {
    return await write(boundary)
  } catch (error) {
    if (!isUnavailable(error)) throw error
  }
  const { store, observe, step } = boundary
  const persisting = retryUntilLeaseEnds({ store: store.pastCircuit, observe, step }, lease, write)
  underWay().add(persisting)
  persisting.finally(() => underWay().delete(persisting)).catch(() => {})
  return Promise.race([
    persisting,
    pause(Math.min(CLIENT_PATIENCE_MS, lease.leftMs())).then(() => 'store_lost' as const),
  ])
}

async function retryUntilLeaseEnds<T>(
  through: Through,
  lease: LeaseClock,
  write: (through: Through) => Promise<T>,
): Promise<T | 'store_lost'> {
  for (let pauseMs = FIRST_PAUSE_MS; lease.leftMs() > 0; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    await pause(pauseMs)
    try {
      return await write(through)
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }
  return 'store_lost'
}

/** For a shutdown: what is still being written down. */
export async function persisted(): Promise<void> {
  await Promise.allSettled([...underWay()])
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
