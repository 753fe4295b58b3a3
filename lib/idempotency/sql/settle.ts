// Settle: an outcome is known for good. The answer, what it means for the domain and the timeline event commit
// together, guarded by the state and attempt that the writer read before it asked anyone.
import sql, { empty } from 'sql-template-tag'
import type { Store } from '../../db/store'
import { alone, together } from '../../db/together'
import type { Settlement } from '../operation'
import { ANSWER_VERSION } from '../record'
import type { State } from '../states'
import { withEffects } from './effects'
import { appended, NOW, type TimelineEvent, unknownSeconds } from './event'
import { NOTIFY_WAITERS } from './notify'
import { atVersion } from './version'

export interface Settle {
  recordId: string
  from: readonly State[]
  attempt: number
  /** Of a person's decision: evidence that came in since is news to them. */
  version?: number
  /** A person's decision, or the owner's own success: evidence of other money does not stand in its way. */
  despiteOtherMoney?: boolean
  settlement: Settlement
  event: TimelineEvent
  /** Whether others may be settled in the same statement. */
  independent?: boolean
}

type Query = Pick<Store, 'query'>

export interface Settled {
  /** When the key expires now. */
  expiresAt: Date
  completedAt: Date
  unknownSeconds: number | null
}

/** Null when the record was not there any more as it was read: the writer is late. */
export async function settle(store: Query, s: Settle): Promise<Settled | null> {
  const { answer, effects, effectRef, nothingMade } = s.settlement
  const { recordId: id } = s
  const body = sql`
    moved AS (
      UPDATE idempotency_records r SET
        state = 'completed', version = version + 1,
        response_status = ${answer.status}::smallint, response_headers = ${JSON.stringify(answer.headers)},
        response_body = ${answer.body}, response_version = ${ANSWER_VERSION}::smallint, effect_ref = ${effectRef},
        ${nothingMade ? sql`resource_type = NULL, resource_id = NULL,` : empty}
        completed_at = now.at, expires_at = now.at + retention_seconds * interval '1 s',
        locked_until = NULL, locked_by = NULL, reconcile_after = NULL, dead_lettered_at = NULL, last_error_code = NULL,
        money_differs = false,
        timeline = ${appended({ ...s.event, status: answer.status })}
      FROM ${NOW}, sent
      WHERE id = ${s.recordId} AND state = ANY(${`{${s.from}}`}::record_state[]) AND attempt = ${s.attempt}::int
        ${atVersion(s.version)}
        -- a decline or a refusal is not the last word while evidence of the effect is stored
        AND (NOT effect_evidence OR ${answer.status}::smallint < 300)
        -- and nothing is, while there is evidence of other money
        AND (${s.despiteOtherMoney ?? false}::boolean OR NOT money_differs)
      RETURNING r.*, sent.*
    )${withEffects(effects)}
    SELECT id, expires_at AS "expiresAt", completed_at AS "completedAt", ${unknownSeconds(s.from)} AS "unknownSeconds",
      ${NOTIFY_WAITERS} FROM moved`
  const [row] = await store.query<Settled>(s.independent ? together({ id, lock: id }, body) : alone(body))
  return row ?? null
}
