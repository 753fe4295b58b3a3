// The list of what the provider did since a backup, for those who begin attempts. The fence is up until the last key
// of the lost records would have been forgotten; then a key is new whatever was done for it.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import type { LostEffect, LostEffects } from '../idempotency/lost-effects'

export interface FenceStatus {
  state: 'running' | 'done'
  restoredFrom: Date
  /** When the fence comes down. */
  until: Date
  runId: string | null
}

export interface Fence extends LostEffects {
  restoredFrom: Date
  /** Null once the fence is down. */
  status(): Promise<FenceStatus | null>
}

export function openFence(store: Store, fence: { restoredFrom: Date; hours: number }): Fence {
  const { restoredFrom, hours } = fence
  const until = new Date(restoredFrom.getTime() + hours * 3_600_000)
  let isListed = false
  return {
    restoredFrom,
    async listedInMs() {
      if (isListed) return 0
      const [row] = await store.query<{ ms: number }>(sql`
        SELECT CASE WHEN s.done_at IS NOT NULL OR clock_timestamp() >= ${until} THEN 0
          ELSE greatest(1000, coalesce(extract(epoch FROM s.ends_at - clock_timestamp()) * 1000, 0)) END::float8 AS ms
        FROM (SELECT) one LEFT JOIN restores s ON s.restored_from = ${restoredFrom}`)
      isListed = row!.ms === 0
      return row!.ms
    },
    async find({ recordId, keyDigest }) {
      const [row] = await store.query<Row>(sql`
        SELECT e.ref, e.fingerprint, e.status, e.kind, e.amount_cents, e.currency, e.order_id, e.created_at
        FROM lost_effects e
        WHERE e.key_digest = ${keyDigest} AND clock_timestamp() < ${until} AND NOT EXISTS (
          SELECT FROM ledger_entries l WHERE l.provider_ref = e.ref AND l.reversed_at IS NULL
            AND l.record_id IS DISTINCT FROM ${recordId})
        ORDER BY array_position(ARRAY['succeeded', 'pending', 'failed'], e.status), e.created_at, e.ref LIMIT 1`)
      return row ? effectOf(row) : null
    },
    async status() {
      const [row] = await store.query<{ run_id: string | null; done: boolean }>(sql`
        SELECT s.run_id, s.done_at IS NOT NULL AS done
        FROM (SELECT) one LEFT JOIN restores s ON s.restored_from = ${restoredFrom}
        WHERE clock_timestamp() < ${until}`)
      return row ? { state: row.done ? 'done' : 'running', restoredFrom, until, runId: row.run_id } : null
    },
  }
}

interface Row {
  ref: string
  fingerprint: string
  status: LostEffect['status']
  kind: string
  amount_cents: string
  currency: string
  order_id: string | null
  created_at: Date
}

const effectOf = (row: Row): LostEffect => ({
  ref: row.ref,
  fingerprint: row.fingerprint,
  status: row.status,
  shown: {
    effect: row.kind,
    amountCents: Number(row.amount_cents),
    currency: row.currency,
    orderId: row.order_id,
    createdAt: row.created_at,
  },
})
