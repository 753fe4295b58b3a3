// Await: a duplicate asks to be told when the attempt under way ends. Marked on the record itself, so that whoever
// settles it, on whichever node, knows without asking.
import sql from 'sql-template-tag'
import type { Store } from '../../db/store'

/**
 * How long the lease still runs (null for a record that waits for a worker), or null when there is nothing to wait
 * for. Only the first waiter writes. A settle that holds the row lock makes the UPDATE wait and then match nothing,
 * while the read below still shows the old row, unmarked: that is "nothing to wait for" too.
 */
export async function markAwaited(store: Store, recordId: string): Promise<{ leaseLeftMs: number | null } | null> {
  const [row] = await store.query<{ lease_left_ms: number | null }>(sql`
    WITH marked AS (
      UPDATE idempotency_records SET awaited = true
      WHERE id = ${recordId} AND state IN ('pending', 'in_progress', 'failed_retryable', 'unknown') AND NOT awaited
      RETURNING id
    )
    SELECT (extract(epoch FROM locked_until - clock_timestamp()) * 1000)::float8 AS lease_left_ms
    FROM idempotency_records
    WHERE id = ${recordId} AND state IN ('pending', 'in_progress', 'failed_retryable', 'unknown')
      AND (awaited OR EXISTS (SELECT 1 FROM marked))`)
  return row ? { leaseLeftMs: row.lease_left_ms } : null
}
