// Writing down what was counted: one statement for all numbers, whatever their number of requests. It adds to what is there, so any number of nodes may write the same minute. Rows are locked in the order
// of their keys: two nodes that flush at once wait for each other and never both.
//
// A flush whose answer was lost is sent again: if it had committed, that batch is counted twice. A chart may be a few
// seconds' traffic too high after the store's connection broke; it is never too low because of it.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { NOW } from '../idempotency/store/event'
import type { UnsavedNumber } from './unsaved'

/** Numbers that waited longer for the store are booked so far back and no further: roll-ups count on it. */
export const MAX_LATE_MS = 3_600_000

export async function saveNumbers(store: Pick<Store, 'query'>, numbers: readonly UnsavedNumber[]): Promise<void> {
  const agesMs = numbers.map(({ countedMs }) => Math.min(MAX_LATE_MS, performance.now() - countedMs))
  // Grouped, since what waited in two entries may belong to one minute, and a row can't be updated twice.
  await store.query(sql`
    INSERT INTO metric_minutes AS m (at, metric, endpoint, tenant_id, bucket, value)
    SELECT date_trunc('minute', now.at - n.age_ms * interval '1 ms') AS minute, n.metric, n.endpoint, n.tenant_id,
      n.bucket, sum(n.value)
    FROM ${NOW}, unnest(
      ${numbers.map(({ metric }) => metric)}::text[], ${numbers.map(({ endpoint }) => endpoint)}::text[],
      ${numbers.map(({ tenantId }) => tenantId)}::text[], ${numbers.map(({ bucket }) => bucket)}::text[],
      ${numbers.map(({ value }) => value)}::float8[], ${agesMs}::float8[]
    ) AS n (metric, endpoint, tenant_id, bucket, value, age_ms)
    GROUP BY minute, n.metric, n.endpoint, n.tenant_id, n.bucket
    ORDER BY n.metric, minute, n.tenant_id, n.endpoint, n.bucket
    ON CONFLICT (metric, at, tenant_id, endpoint, bucket) DO UPDATE SET value = m.value + excluded.value`)
}
