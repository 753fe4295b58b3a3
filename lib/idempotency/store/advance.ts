// Advance: a local phase runs. What it writes and the next recovery point commit together, so a later attempt resumes behind
// them and never repeats them. Entering the external phase is the commit that says "may call".
import sql from 'sql-template-tag'
import type { Store } from '../../db/store'
import type { Attempt, LocalPhase, Operation, Settlement } from '../operation'
import { appended, NOW } from './event'
import { type Settle, type Settled, settleIn, settling } from './settle'
import { type Through, transition } from './transition'

export interface Advance<Body, Report> {
  attempt: Attempt<Body, Report>
  // biome-ignore lint/suspicious/noExplicitAny: only the operation itself knows what it books
  phase: LocalPhase<Body, Report, any>
  next: { name: string; external: boolean }
  nodeId: string
  /** How the record is settled with an answer of the phase. */
  settled(settlement: Settlement): Settle
}

export type Advanced =
  | 'advanced'
  /** The attempt has lost the record, or its lease is over. */
  | 'fenced'
  /** The answer of the phase is not the last word: evidence says something else. */
  | 'contradicted'
  | { settlement: Settlement; settled: Settled }

/** Rolls back what the phase has written. */
class Contradicted extends Error {}

export async function advance<Body, Report>(
  through: Through,
  operation: Pick<Operation<Body, Report>, 'book'>,
  { attempt, phase, next, nodeId, settled }: Advance<Body, Report>,
): Promise<Advanced> {
  const { recordId, number } = attempt
  const event = appended({ event: 'phase', by: nodeId, attempt: number, recoveryPoint: next.name })
  const advanced = await through.store
    .transaction(async (tx): Promise<Advanced> => {
      const owned = await tx.query(sql`
      SELECT 1 FROM idempotency_records
      WHERE id = ${recordId} AND state = 'in_progress' AND attempt = ${number}::int AND locked_until > clock_timestamp()
      FOR UPDATE`)
      if (owned.length === 0) return 'fenced'
      const settlement = await phase.run(tx, attempt)
      if (settlement) {
        const [row] = await settleIn(tx, operation, [settling(settled(settlement))])
        if (!row) throw new Contradicted()
        return { settlement, settled: row }
      }
      await tx.query(sql`
      UPDATE idempotency_records r SET
        recovery_point = ${next.name}, external = ${next.external}::boolean, version = version + 1, timeline = ${event}
      FROM ${NOW} WHERE id = ${recordId}`)
      return 'advanced'
    })
    .catch((error: unknown): Advanced => {
      if (error instanceof Contradicted) return 'contradicted'
      throw error
    })
  if (typeof advanced === 'object') await transition(through, 'settled', async () => advanced.settled)
  else await through.step?.(advanced === 'advanced' ? 'advanced' : 'late')
  return advanced
}

/** Whether the attempt still owns the record for so long, and no evidence was recorded meanwhile. Asked before a repeated call. */
export async function stillOwned(
  store: Pick<Store, 'query'>,
  o: { recordId: string; attempt: number; forMs: number },
): Promise<boolean> {
  const rows = await store.query(sql`
    SELECT 1 FROM idempotency_records
    WHERE id = ${o.recordId} AND state = 'in_progress' AND attempt = ${o.attempt}::int AND NOT effect_evidence
      AND NOT money_differs AND locked_until > clock_timestamp() + ${o.forMs}::float8 * interval '1 ms'`)
  return rows.length > 0
}
