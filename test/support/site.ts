// A database with one node in front of it: what most tests of the contract talk to.
import { type Client, createClient, SECRETS } from './client'
import { cloneDatabase } from './database'
import { startNode } from './node'
import { addTenant } from './tenant'

/**
 * Short enough for tests, and far enough apart that a busy machine does not mix them up. Nothing moves a record on but
 * what a test does.
 */
export const SHORT_TIMES = {
  GATEWAY_TIMEOUT_MS: '2500',
  LEASE_SECONDS: '6',
  SETTLE_SECONDS: '1',
  SWEEP_INTERVAL_SECONDS: '0',
  REAP_INTERVAL_SECONDS: '0',
  RECONCILE_INTERVAL_SECONDS: '0',
  LEDGER_INTERVAL_SECONDS: '0',
}

/** For tests that wait for the end of many calls that the provider never answers. */
export const QUICK_PROVIDER = { GATEWAY_TIMEOUT_MS: '1000', LEASE_SECONDS: '3' }

export interface Site {
  url: string
  databaseUrl: string
  /** Of the first tenant, `demo`. */
  client: Client
  close(): Promise<void>
}

export interface SharedSite extends Omit<Site, 'close'> {
  tenantId: string
  apiKey: string
}

/** A database and a node of the test file's own. */
export async function openSite(env: Record<string, string> = {}): Promise<Site> {
  const database = await cloneDatabase()
  try {
    const node = await startNode({ databaseUrl: database.url, env: { ...SECRETS, ...SHORT_TIMES, ...env } })
    return {
      url: node.url,
      databaseUrl: database.url,
      client: createClient(node.url),
      async close() {
        await node.stop()
        await database.drop()
      },
    }
  } catch (error) {
    await database.drop()
    throw error
  }
}

let shared: Promise<Site> | undefined

/**
 * A tenant of the test file's own, on the database and node that all such files of one worker share. They end with the
 * worker and its PostgreSQL. Only for files that look at nothing but their own tenant's records.
 */
export async function shareSite(): Promise<SharedSite> {
  shared ??= openSite().catch((error) => {
    shared = undefined
    throw error
  })
  const { url, databaseUrl } = await shared
  const { id, apiKey } = await addTenant(databaseUrl)
  return { url, databaseUrl, tenantId: id, apiKey, client: createClient(url, apiKey) }
}
