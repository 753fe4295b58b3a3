// Who is calling. The tenant comes from the API key alone. What was read stays valid for a moment in this process,
// short enough that a revoked key is dead everywhere well within five seconds.
import { LRUCache } from 'lru-cache'
import sql from 'sql-template-tag'
import { observeDatabase, SERVER } from '../db/clock'
import type { Store } from '../db/store'
import { hashSecret } from '../secret'

const FRESH_MS = 3000
const MAX_REMEMBERED = 10_000
/** Last use is for people who clean up: to the minute is enough. */
const LAST_USE_STEP_MS = 60_000

export interface Tenant {
  id: string
  retentionHours: number | null
  newKeysPerMinute: number
  liveKeyCap: number
}

export interface Authenticator {
  /** Null for every key that is not a live one of a live tenant. Throws StoreUnavailable where that can't be told. */
  authenticate(apiKey: string): Promise<Tenant | null>
}

interface Row {
  id: string
  key_id: string
  use_is_due: boolean
  retention_hours: number | null
  new_keys_per_minute: number
  live_key_cap: number
  now: Date
  server: string
}

const USE_IS_DUE = sql`coalesce(
  k.last_used_at < clock_timestamp() - ${LAST_USE_STEP_MS}::float8 * interval '1 ms', true)`

/** Nobody waits for this, and nothing depends on it. Of many nodes that find it due, the first one writes. */
function noteUse(store: Store, keyId: string): void {
  store
    .query(sql`UPDATE api_keys k SET last_used_at = clock_timestamp() WHERE k.id = ${keyId} AND ${USE_IS_DUE}`)
    .catch(() => {})
}

export function openAuthenticator(store: Store): Authenticator {
  // A burst on a fresh key asks once. Unknown keys are never remembered: strangers must not be able to fill this.
  const tenants = new LRUCache<string, Tenant>({
    max: MAX_REMEMBERED,
    ttl: FRESH_MS,
    fetchMethod: async (hash) => {
      const [row] = await store.query<Row>(sql`
        SELECT t.id, t.retention_hours, t.new_keys_per_minute, t.live_key_cap, clock_timestamp() AS now, ${SERVER} AS server,
          k.id AS key_id, ${USE_IS_DUE} AS use_is_due
        FROM api_keys k JOIN tenants t ON t.id = k.tenant_id
        WHERE k.hash = ${Buffer.from(hash, 'base64')} AND k.revoked_at IS NULL AND t.disabled_at IS NULL`)
      if (!row) return undefined
      observeDatabase(row)
      if (row.use_is_due) noteUse(store, row.key_id)
      return {
        id: row.id,
        retentionHours: row.retention_hours,
        newKeysPerMinute: row.new_keys_per_minute,
        liveKeyCap: row.live_key_cap,
      }
    },
  })
  return {
    authenticate: async (apiKey) => (await tenants.fetch(hashSecret(apiKey).toString('base64'))) ?? null,
  }
}
