// Waiters are told of the end of an attempt, and only where there are any: NOTIFY takes a lock that all notifying
// commits of the database share.
import sql, { type Sql } from 'sql-template-tag'

export const CHANNEL = 'onceover_settled'

export const NOTIFY_WAITERS: Sql = sql`CASE WHEN awaited THEN pg_notify(${CHANNEL}, id) END`
