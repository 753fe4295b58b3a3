// Each key that was sent with another request is a row: where the two differ, never what they say. A key that is
// hammered gets at most so many rows in any minute, over all nodes; the rest is only counted. Whether a row could be
// written changes nothing for the client.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { changedPaths } from '../idempotency/fingerprint'
import type { Input } from '../idempotency/operation'
import { log } from '../log'

export const MAX_ROWS_A_MINUTE = 100
const MAX_PATHS = 50
/** Another node took the row that we were about to write. Each time one of us gets it, so this is plenty. */
const MAX_TRIES = 20
/** A key that is full is not asked about again for so long: hammering it costs the store a statement a second. */
const FULL_FOR_MS = 1000
const MAX_REMEMBERED = 10_000

export interface MisusedKey {
  recordId: string
  tenantId: string
  endpoint: string
  key: string
  requestId: string
  /** The request that the key stands for; null once it is erased. */
  stored: Input | null
  sent: Input
}

export interface MisuseLog {
  /** Never rejects. */
  record(misused: MisusedKey): Promise<void>
}

/** `$.items[0].quantity` in the body, `$params.id` in the path. Without the stored request nothing can be said. */
export function misusedPaths(stored: Input | null, sent: Input): string[] {
  if (!stored) return []
  const params = changedPaths(stored.params, sent.params).map((path) => path.replace('$', '$params'))
  return [...params, ...changedPaths(stored.body, sent.body)].slice(0, MAX_PATHS)
}

export function openMisuseLog(store: Pick<Store, 'query'>): MisuseLog {
  // One after the other for a key: a row's place depends on those before it.
  const turns = new Map<string, Promise<void>>()
  const full = new Map<string, number>()

  async function write(misused: MisusedKey): Promise<void> {
    const fullUntilMs = full.get(misused.recordId)
    if (fullUntilMs !== undefined && performance.now() < fullUntilMs) return
    full.delete(misused.recordId)
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const written = await insert(store, misused)
      if (written === 'full' && full.size < MAX_REMEMBERED) full.set(misused.recordId, performance.now() + FULL_FOR_MS)
      if (written !== 'taken') return
    }
  }

  return {
    record(misused) {
      const { recordId } = misused
      const turn = (turns.get(recordId) ?? Promise.resolve())
        .then(() => write(misused))
        .catch((error) => log().warn({ err: error, requestId: misused.requestId }, 'a misuse could not be recorded'))
        .finally(() => turns.get(recordId) === turn && turns.delete(recordId))
      turns.set(recordId, turn)
      return turn
    },
  }
}

// Counting alone would not hold: two nodes would count the same rows and both add one. So a row's id is its place in
// its minute, and the primary key lets one of them have it; the other counts again.
async function insert(store: Pick<Store, 'query'>, m: MisusedKey): Promise<'written' | 'full' | 'taken'> {
  const paths = misusedPaths(m.stored, m.sent)
  const [row] = await store.query<{ full: boolean; written: boolean }>(sql`
    WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at),
    before AS MATERIALIZED (
      SELECT count(*) AS count, count(*) FILTER (WHERE m.at >= date_trunc('minute', now.at)) AS place
      FROM misuse m, now WHERE m.record_id = ${m.recordId} AND m.at > now.at - interval '1 minute'
    ), written AS (
      INSERT INTO misuse (id, at, tenant_id, endpoint, key, record_id, changed_paths, request_id)
      SELECT concat_ws('_', replace(${m.recordId}, 'idem', 'mis'), extract(epoch FROM date_trunc('minute', now.at))::bigint,
          lpad(before.place::text, 2, '0')),
        now.at, ${m.tenantId}, ${m.endpoint}, ${m.key}, ${m.recordId}, ${paths}::text[], ${m.requestId}
      FROM now, before WHERE before.count < ${MAX_ROWS_A_MINUTE}::int
      ON CONFLICT (id) DO NOTHING
      RETURNING id
    )
    SELECT before.count >= ${MAX_ROWS_A_MINUTE}::int AS full, EXISTS (SELECT 1 FROM written) AS written FROM before`)
  if (row!.written) return 'written'
  return row!.full ? 'full' : 'taken'
}
