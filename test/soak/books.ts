// What clients were told against what the database and the provider have. Asked of the database past every line.
import pg from 'pg'
import type { Checked } from './journal'

export type Books = ReturnType<typeof openBooks>

export function openBooks(databaseUrl: string) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2, application_name: 'soak' })
  pool.on('error', () => {})
  const count = async (text: string, values: unknown[] = []) =>
    Number((await pool.query<{ n: string }>(`SELECT count(*) AS n FROM (${text}) t`, values)).rows[0]?.n)

  return {
    connections: () =>
      count(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'soak'`),

    /** Of what clients hold a 201 for: how much is not in our books and the provider's alike. */
    async missing({ orderIds, refundIds }: Checked): Promise<number> {
      const found = await count(
        `SELECT DISTINCT o.id FROM orders o JOIN ledger_entries l ON l.order_id = o.id AND l.kind = 'charge'
         JOIN sandbox.charges c ON c.ref = l.provider_ref AND c.status = 'succeeded'
         WHERE o.id = ANY($1) AND l.status = 'succeeded' AND o.status IN ('paid', 'partially_refunded', 'refunded')`,
        [orderIds],
      )
      const refunded = await count(
        `SELECT DISTINCT r.id FROM refunds r JOIN sandbox.charges c ON c.ref = r.provider_ref AND c.kind = 'refund'
         WHERE r.id = ANY($1) AND r.status = 'succeeded' AND c.status = 'succeeded'`,
        [refundIds],
      )
      return orderIds.length + refundIds.length - found - refunded
    },

    /** Money that moved twice for one key. */
    duplicates: () =>
      count(`SELECT provider_key FROM sandbox.charges WHERE status = 'succeeded' GROUP BY 1 HAVING count(*) > 1`),

    /** Money that moved and that no order knows of, or the other way round. */
    unbooked: () =>
      count(`SELECT coalesce(c.ref, l.provider_ref)
             FROM (SELECT * FROM sandbox.charges WHERE status = 'succeeded') c
             FULL JOIN (SELECT * FROM ledger_entries WHERE status = 'succeeded') l ON l.provider_ref = c.ref
             WHERE c.ref IS NULL OR l.provider_ref IS NULL`),

    discrepancies: () => count(`SELECT 1 FROM discrepancies WHERE closed_at IS NULL`),

    /** Neither final nor for people: what nobody will ever move on. */
    stuck: () =>
      count(`SELECT 1 FROM idempotency_records r WHERE state IN ('pending', 'in_progress', 'unknown')
             AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.record_id = r.id AND o.payment_method = 'pm_unreachable')`),

    close: () => pool.end(),
  }
}
