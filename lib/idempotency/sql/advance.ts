// Advance: a local phase is done. Its effects and the next recovery point commit together, so a later attempt
// resumes behind them and never repeats them. Entering the external phase is the commit that says "may call".
import sql from 'sql-template-tag'
import type { Store } from '../../db/store'
import type { Effects } from '../operation'
import { withEffects } from './effects'
import { appended, NOW } from './event'

export interface Advance {
  recordId: string
  attempt: number
  to: { name: string; external: boolean }
  effects: Effects
  nodeId: string
}

/** False when the owner was fenced, or its lease is over. */
export async function advance(store: Store, a: Advance): Promise<boolean> {
  const rows = await store.query(sql`
    WITH moved AS (
      UPDATE idempotency_records r SET
        recovery_point = ${a.to.name}, external = ${a.to.external}::boolean, version = version + 1,
        timeline = ${appended({ event: 'phase', by: a.nodeId, attempt: a.attempt, recoveryPoint: a.to.name })}
      FROM ${NOW}
      WHERE id = ${a.recordId} AND state = 'in_progress' AND attempt = ${a.attempt}::int AND locked_until > now.at
      RETURNING r.*
    )${withEffects(a.effects)}
    SELECT id FROM moved`)
  return rows.length > 0
}

/** Still mine, with enough lease left, and nobody has told us of the effect meanwhile? Asked before a repeated call. */
export async function stillOwned(
  store: Store,
  o: { recordId: string; attempt: number; forMs: number },
): Promise<boolean> {
  const rows = await store.query(sql`
    SELECT 1 FROM idempotency_records
    WHERE id = ${o.recordId} AND state = 'in_progress' AND attempt = ${o.attempt}::int AND NOT effect_evidence
      AND NOT money_differs AND locked_until > clock_timestamp() + ${o.forMs}::float8 * interval '1 ms'`)
  return rows.length > 0
}
