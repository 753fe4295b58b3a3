// Claim: a further attempt takes a record that nobody owns. It raises `attempt`, which fences every earlier owner.
import sql from 'sql-template-tag'
import type { Beginning, Operation } from '../operation'
import type { State } from '../states'
import { appended, NOW } from './event'
import { MAY_RUN_AGAIN } from './run-again'
import { MOVED, type MovedRow, type Through, type Transition, transition } from './transition'

export interface Claim {
  recordId: string
  /** The state and the attempt that were read; the claim makes the attempt one more. */
  from: Extract<State, 'pending' | 'failed_retryable'>
  attempt: number
  /** What was not abandoned in its time, because it may have been executed before a restore. */
  despiteExpiry?: boolean
  phase: { name: string; external: boolean }
  leaseMs: number
  settleMs: number
  nodeId: string
  requestId: string
}

/** The report of `begin`, or null when the record may not be claimed, or not any more. */
export function claim<Body, Report>(
  through: Through,
  operation: Pick<Operation<Body, Report>, 'begin'>,
  c: Claim,
  beginning: Omit<Beginning<Body>, 'number' | 'first'>,
): Promise<(Transition & { report: Report }) | null> {
  const number = c.attempt + 1
  const claimed = appended({
    event: 'claimed',
    by: c.nodeId,
    attempt: number,
    requestId: c.requestId,
    recoveryPoint: c.phase.name,
  })
  return transition(through, 'claimed', () =>
    through.store.transaction(async (tx) => {
      const [row] = await tx.query<MovedRow>(sql`
        UPDATE idempotency_records r SET
          state = 'in_progress', attempt = attempt + 1, version = version + 1,
          recovery_point = ${c.phase.name}, external = ${c.phase.external}::boolean,
          locked_until = now.at + ${c.leaseMs}::float8 * interval '1 ms', locked_by = ${c.nodeId},
          settles_at = greatest(settles_at, now.at + ${c.leaseMs + c.settleMs}::float8 * interval '1 ms'),
          last_error_code = NULL, reconcile_after = NULL, asking_until = NULL, reconcile_attempts = 0,
          dead_lettered_at = NULL, timeline = ${claimed}
        FROM ${NOW}
        WHERE id = ${c.recordId} AND state = ${c.from}::record_state AND attempt = ${c.attempt}::int
          -- no claim while evidence of the effect is stored, none of a key that has run out
          AND NOT effect_evidence AND (expires_at > now.at OR ${c.despiteExpiry ?? false}::boolean) AND ${MAY_RUN_AGAIN}
        RETURNING ${MOVED}`)
      if (!row) return null
      const [report] = (await operation.begin?.(tx, [{ ...beginning, number, first: false }])) ?? []
      return { ...row, from: c.from, unknownSeconds: null, report: report as Report }
    }),
  )
}
