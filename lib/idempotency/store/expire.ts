// Expire: a key becomes a tombstone, when its retention is over or because a person says so. The stored request and
// answer are erased; fingerprint, status and resource stay, for the 410. What was reserved for a key that is proven not
// executed ends with it. A tombstone that has stood long enough is deleted.
import sql, { type Sql } from 'sql-template-tag'
import type { Tx } from '../../db/store'
import type { Operations } from '../operation'
import type { State } from '../states'
import { appended, NOW } from './event'
import { MOVED, type MovedRow, type Through, type Transition } from './transition'

/** Final, or proven not executed with nothing to the contrary. What may still have executed never expires. */
export const EXPIRABLE: Sql = sql`r.state IN ('completed', 'failed_retryable')
  AND NOT (r.state = 'failed_retryable' AND r.effect_evidence)`

export interface Expire {
  /** `id` and `state` of the records, locked: the statement that selects them has seen their newest versions. */
  due: Sql
  by: string
  /** They say what the end of a key means for what it was reserved for. */
  operations: Operations
  /** Commits with the expiry of at least one. */
  also?: (tx: Tx, expired: readonly MovedRow[]) => Promise<void>
}

export type Expired = Transition & { from: Extract<State, 'completed' | 'failed_retryable'> }

/** Those that became tombstones. Each gives its tenant one of its live keys back. */
export async function expire(through: Pick<Through, 'store' | 'observe'>, e: Expire): Promise<Expired[]> {
  const expired = await through.store.transaction((tx) => expireIn(tx, e))
  observeInGroups(through.observe, 'expired', expired)
  return expired
}

async function expireIn(tx: Tx, { due, by, operations, also }: Expire): Promise<Expired[]> {
  const found = new Map((await tx.query<Pick<Expired, 'id' | 'state'>>(due)).map(({ id, state }) => [id, state]))
  if (found.size === 0) return []
  const rows = await tx.query<MovedRow & { resourceId: string | null }>(sql`
    UPDATE idempotency_records r SET
      state = 'expired', version = version + 1, expired_at = now.at, expires_at = least(expires_at, now.at),
      request = NULL, response_headers = NULL, response_body = NULL, response_version = NULL,
      timeline = ${appended({ event: 'expired', by })}
    FROM ${NOW}
    WHERE r.id = ANY(${[...found.keys()]}::text[]) AND ${EXPIRABLE}
    RETURNING ${MOVED}, r.resource_id AS "resourceId"`)
  const expired = rows.map((row) => ({ ...row, from: found.get(row.id) as Expired['from'], unknownSeconds: null }))
  if (expired.length === 0) return []
  for (const operation of operations.values()) {
    const lapsed = expired.filter(
      ({ from, endpoint }) => from === 'failed_retryable' && endpoint === operation.endpoint,
    )
    const resourceIds = lapsed.flatMap(({ resourceId }) => resourceId ?? [])
    if (resourceIds.length > 0) await operation.lapse?.(tx, resourceIds)
  }
  await tx.query(sql`
    UPDATE tenant_live_keys t SET count = greatest(0, t.count - gone.count)
    FROM (SELECT tenant_id, count(*) AS count FROM unnest(${expired.map(({ tenantId }) => tenantId)}::text[]) AS g (tenant_id)
      GROUP BY tenant_id) gone
    WHERE t.tenant_id = gone.tenant_id`)
  await also?.(tx, expired)
  return expired
}

/** Tombstones that are deleted: by `due`, which selects their ids and locks them. */
export async function deleteTombstones(through: Pick<Through, 'store' | 'observe'>, due: Sql): Promise<string[]> {
  const gone = await through.store.query<{ id: string; endpoint: string; tenantId: string }>(sql`
    DELETE FROM idempotency_records r WHERE r.id = ANY(ARRAY(${due})) AND r.state = 'expired'
    RETURNING r.id, r.endpoint, r.tenant_id AS "tenantId"`)
  observeInGroups(
    through.observe,
    null,
    gone.map((row) => ({ ...row, from: 'expired' as const })),
  )
  return gone.map(({ id }) => id)
}

/** Once for each tenant, endpoint and state, however many they are. */
function observeInGroups(
  observe: Through['observe'],
  to: State | null,
  moved: readonly { from: State; endpoint: string; tenantId: string }[],
): void {
  const groups = new Map<string, { from: State; endpoint: string; tenantId: string; count: number }>()
  for (const { from, endpoint, tenantId } of moved) {
    const name = `${from} ${tenantId} ${endpoint}`
    const count = (groups.get(name)?.count ?? 0) + 1
    groups.set(name, { from, endpoint, tenantId, count })
  }
  for (const group of groups.values()) observe?.({ kind: 'moved', to, ...group })
}
