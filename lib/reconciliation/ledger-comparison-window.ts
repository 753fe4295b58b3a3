// Which time a comparison is about. Windows overlap and leave nothing between them; each ends where every attempt that
// could still be on its way has ended. The database's clock, so a node with a wrong one compares the same.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'

const FIRST_WINDOW_DAYS = 7

/** Between the database's clock and the provider's: as much as a webhook's signature may be off. */
export const CLOCK_MARGIN_MS = 5 * 60_000

export interface Window {
  from: Date
  to: Date
  /** What is asked of the provider: more on either side, so that a pair that lies across an edge is seen whole. */
  listed: { from: Date; to: Date }
}

export async function nextWindow(store: Store, times: { leaseMs: number; settleMs: number }): Promise<Window> {
  const [row] = await store.query<{ from: Date; to: Date }>(sql`
    SELECT
      coalesce(
        s.covered_until - ${CLOCK_MARGIN_MS}::float8 * interval '1 ms',
        now.at - ${FIRST_WINDOW_DAYS}::float8 * interval '1 day') AS from,
      now.at - ${times.leaseMs + times.settleMs}::float8 * interval '1 ms' AS to
    FROM (SELECT clock_timestamp() AS at) now LEFT JOIN schedules s ON s.kind = 'ledger'`)
  const { from, to } = row!
  const listed = {
    from: new Date(from.getTime() - 2 * CLOCK_MARGIN_MS),
    to: new Date(to.getTime() + CLOCK_MARGIN_MS),
  }
  return { from, to, listed }
}

/** All of the window was compared: the next one begins at its end. */
export async function coverUntil(store: Store, to: Date): Promise<void> {
  await store.query(sql`
    INSERT INTO schedules AS s (kind, next_run_at, covered_until) VALUES ('ledger', clock_timestamp(), ${to})
    ON CONFLICT (kind) DO UPDATE SET covered_until = greatest(s.covered_until, excluded.covered_until)`)
}
