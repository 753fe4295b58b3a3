// Expire: a key becomes a tombstone, when its retention is over or because a person says so. The stored request and
// answer are erased; fingerprint, status and resource stay, for the 410. What was reserved for a key that is proven not
// executed ends with it.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../../db/store'
import type { AnyOperation, Effects } from '../operation'
import type { State } from '../states'
import { withEffects } from './effects'
import { appended, NOW } from './event'

/** Final, or proven not executed with nothing to the contrary. What may still have executed never expires. */
export const EXPIRABLE: Sql = sql`r.state IN ('completed', 'failed_retryable')
  AND NOT (r.state = 'failed_retryable' AND r.effect_evidence)`

export interface Expire {
  /** `id` and `state` of the records, locked: whoever selects them has seen their newest versions. */
  due: Sql
  by: string
  /** What the end of a key means for what it was reserved for is theirs to say. */
  operations: ReadonlyMap<string, AnyOperation>
  effects?: Effects
}

export interface Expired {
  id: string
  endpoint: string
  tenantId: string
  /** What it was before. */
  from: Extract<State, 'completed' | 'failed_retryable'>
}

/** Those that became tombstones. Each gives its tenant one of its live keys back. */
export function expire(store: Pick<Store, 'query'>, e: Expire): Promise<Expired[]> {
  const lapsing = [...e.operations.values()].flatMap((operation) => operation.lapse?.() ?? [])
  return store.query<Expired>(sql`
    WITH due AS MATERIALIZED (${e.due}),
    moved AS (
      UPDATE idempotency_records r SET
        state = 'expired', version = version + 1, expired_at = now.at, expires_at = least(expires_at, now.at),
        request = NULL, response_headers = NULL, response_body = NULL, response_version = NULL,
        timeline = ${appended({ event: 'expired', by: e.by })}
      FROM due, ${NOW}
      WHERE r.id = due.id AND ${EXPIRABLE}
      RETURNING r.id, r.tenant_id, r.endpoint, r.state, r.version, r.resource_type, r.resource_id, due.state AS was
    ), lapsed AS (SELECT * FROM moved WHERE was = 'failed_retryable')${withEffects([...(e.effects ?? []), ...lapsing])},
    fewer AS (
      UPDATE tenant_live_keys t SET count = greatest(0, t.count - gone.count)
      FROM (SELECT tenant_id, count(*) AS count FROM moved GROUP BY tenant_id) gone WHERE t.tenant_id = gone.tenant_id
    )
    SELECT id, endpoint, tenant_id AS "tenantId", was AS "from" FROM moved`)
}
