// Settle: an outcome is known for good. The answer, what it means for the domain and the timeline event commit
// together, guarded by the state and attempt that the writer read before it asked anyone.
import sql from 'sql-template-tag'
import { rowsOf } from '../../db/arrays'
import type { Tx } from '../../db/store'
import type { Also, Operation, Settlement } from '../operation'
import { ANSWER_VERSION } from '../record'
import type { State } from '../states'
import { entryOf, eventOf, NOW, type TimelineEvent, UNKNOWN_SINCE } from './event'
import { notifyWaiters } from './notify'
import { MOVED, type MovedRow, type Through, type Transition, transition } from './transition'

export interface Settle {
  recordId: string
  from: State
  attempt: number
  /** Of a person's decision: evidence that came in since is news to them. */
  version?: number
  /** A person's decision, or the owner's own success: evidence of other money does not stand in its way. */
  despiteOtherMoney?: boolean
  settlement: Settlement
  event: TimelineEvent
  also?: Also
}

export interface Settled extends Transition {
  /** When the key expires now. */
  expiresAt: Date
  completedAt: Date
}

/** Of an operation, what settling needs. */
export type Books = Pick<Operation, 'batched' | 'book'>

/** With its event as it is stored, which says in whose request it was made. */
export type Settling = Omit<Settle, 'event'> & { event: string }

export const settling = (s: Settle): Settling => ({
  ...s,
  event: eventOf({ ...s.event, status: s.settlement.answer.status }),
})

/** Null when the record was not there any more as it was read: the writer is late. */
export function settle(through: Through, operation: Books, s: Settle): Promise<Settled | null> {
  const item = settling(s)
  return transition(through, 'settled', async () => {
    if (operation.batched && through.batches && !s.also) return through.batches.settle(operation, item)
    return (await through.store.transaction((tx) => settleIn(tx, operation, [item])))[0]
  })
}

/** In the order of the items. */
export async function settleIn(tx: Tx, operation: Books, items: readonly Settling[]): Promise<(Settled | null)[]> {
  const rows = await tx.query<MovedRow & Omit<Settled, 'from'>>(sql`
    UPDATE idempotency_records r SET
      state = 'completed', version = r.version + 1,
      response_status = s.status, response_headers = s.headers, response_body = s.body,
      response_version = ${ANSWER_VERSION}::smallint, effect_ref = s.effect_ref,
      resource_type = CASE WHEN NOT s.nothing_made THEN r.resource_type END,
      resource_id = CASE WHEN NOT s.nothing_made THEN r.resource_id END,
      completed_at = now.at, expires_at = now.at + r.retention_seconds * interval '1 s',
      locked_until = NULL, locked_by = NULL, reconcile_after = NULL, dead_lettered_at = NULL, last_error_code = NULL,
      money_differs = false, timeline = r.timeline || ${entryOf(sql`s.event`)}
    FROM ${rowsOf('s', items, {
      id: ['text', ({ recordId }) => recordId],
      from_state: ['text', ({ from }) => from],
      attempt: ['int', ({ attempt }) => attempt],
      version: ['int', ({ version }) => version ?? null],
      despite_other_money: ['boolean', ({ despiteOtherMoney }) => despiteOtherMoney ?? false],
      status: ['int', ({ settlement }) => settlement.answer.status],
      headers: ['text', ({ settlement }) => JSON.stringify(settlement.answer.headers)],
      body: ['text', ({ settlement }) => settlement.answer.body],
      effect_ref: ['text', ({ settlement }) => settlement.effectRef ?? null],
      nothing_made: ['boolean', ({ settlement }) => settlement.nothingMade ?? false],
      event: ['text', ({ event }) => event],
    })}, ${NOW}
    WHERE r.id = s.id AND r.state = s.from_state::record_state AND r.attempt = s.attempt
      AND r.version = coalesce(s.version, r.version)
      -- a decline or a refusal is not the last word while evidence of the effect is stored
      AND (NOT r.effect_evidence OR s.status < 300)
      -- and nothing is, while there is evidence of other money
      AND (s.despite_other_money OR NOT r.money_differs)
    RETURNING ${MOVED}, r.expires_at AS "expiresAt", r.completed_at AS "completedAt",
      CASE WHEN s.from_state = 'unknown' THEN extract(epoch FROM now.at - ${UNKNOWN_SINCE})::float8 END AS "unknownSeconds"`)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const moved = items.map((item) => ({ item, row: byId.get(item.recordId) }))
  const booked = moved.flatMap(({ item: { settlement }, row }) =>
    row && settlement.booking !== undefined
      ? [{ recordId: row.id, tenantId: row.tenantId, booking: settlement.booking }]
      : [],
  )
  if (booked.length > 0) await operation.book?.(tx, booked)
  await notifyWaiters(tx, rows)
  for (const { item, row } of moved) if (row) await item.also?.(tx, row)
  return moved.map(({ item: { from }, row }) => (row ? { ...row, from } : null))
}
