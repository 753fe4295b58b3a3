// What the statements about keys read from, as `r`.
import sql, { raw, type Sql } from 'sql-template-tag'

export const RECORDS: Sql = raw('idempotency_records r')

/**
 * What is running, by its lease: the index is walked entry by entry. If PostgreSQL gathered the entries first, each reader
 * would look up in the table what became of every order since the last vacuum; who walks marks the entries of those that
 * are settled for all who come later. It plans for a tenth of what there is where it can't know the limit, and then a walk
 * is cheapest. A million are never running at once.
 */
export const IN_PROGRESS: Sql = sql`
  (SELECT * FROM idempotency_records WHERE state = 'in_progress' ORDER BY locked_until LIMIT (SELECT 1000000)) r`
