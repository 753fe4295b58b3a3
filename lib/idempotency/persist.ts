// What an owner learned from the provider must reach the store. When the store is lost after the call, the owner
// keeps trying until its lease ends; its client is told after a moment that the outcome is not known yet.
import { isUnavailable } from '../db/sqlstate'
import type { Store } from '../db/store'
import { processWide } from '../process-wide'
import type { LeaseClock } from './lease'

/** A restart of the database behind a pooler takes about this long; a client can wait so long for a true answer. */
const CLIENT_PATIENCE_MS = 3000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1000

const underWay = () => processWide('persisting', () => new Set<Promise<unknown>>())

/** The write's own result, or `store_lost` while the tries go on behind the client's back. */
export async function persist<T>(
  store: Store,
  lease: LeaseClock,
  write: (store: Pick<Store, 'query'>) => Promise<T>,
): Promise<T | 'store_lost'> {
  try {
    return await write(store)
  } catch (error) {
    if (!isUnavailable(error)) throw error
  }
  const persisting = retryUntilLeaseEnds({ query: store.queryPastCircuit }, lease, write)
  underWay().add(persisting)
  persisting.finally(() => underWay().delete(persisting)).catch(() => {})
  return Promise.race([
    persisting,
    pause(Math.min(CLIENT_PATIENCE_MS, lease.leftMs())).then(() => 'store_lost' as const),
  ])
}

async function retryUntilLeaseEnds<T>(
  store: Pick<Store, 'query'>,
  lease: LeaseClock,
  write: (store: Pick<Store, 'query'>) => Promise<T>,
): Promise<T | 'store_lost'> {
  for (let pauseMs = FIRST_PAUSE_MS; lease.leftMs() > 0; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    await pause(pauseMs)
    try {
      return await write(store)
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
