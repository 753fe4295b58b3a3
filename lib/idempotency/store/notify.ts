// Waiters are notified when an attempt ends, and only where there are any: NOTIFY takes a lock that all notifying commits
// of the database share.
import sql from 'sql-template-tag'
import type { Tx } from '../../db/store'

export const CHANNEL = 'onceover_settled'

export async function notifyWaiters(tx: Tx, moved: readonly { id: string; awaited: boolean }[]): Promise<void> {
  const ids = moved.filter(({ awaited }) => awaited).map(({ id }) => id)
  if (ids.length > 0) await tx.query(sql`SELECT pg_notify(${CHANNEL}, id) FROM unnest(${ids}::text[]) AS w (id)`)
}
