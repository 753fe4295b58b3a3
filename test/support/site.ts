// A database of its own with one node in front of it: what most tests of the contract talk to.
import { type Client, createClient, SECRETS } from './client'
import { cloneDatabase } from './database'
import { startNode } from './node'

/**
 * Short enough for tests, and far enough apart that a busy machine does not mix them up. Nothing moves a record on but
 * what a test does.
 */
export const SHORT_TIMES = {
  GATEWAY_TIMEOUT_MS: '1000',
  LEASE_SECONDS: '3',
  SETTLE_SECONDS: '1',
  SWEEP_INTERVAL_SECONDS: '0',
  REAP_INTERVAL_SECONDS: '0',
  RECONCILE_INTERVAL_SECONDS: '0',
  LEDGER_INTERVAL_SECONDS: '0',
}

export interface Site {
  url: string
  databaseUrl: string
  /** Of the first tenant, `demo`. */
  client: Client
  close(): Promise<void>
}

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
