// Dead letters that are looked up by schedule again: because a person says so, or because the provider answers look-ups
// again after an outage.
import sql from 'sql-template-tag'
import { auditMove } from '../audit/append'
import type { Db, Tx } from '../db/store'
import { BY_NOW } from '../idempotency/store/event'
import { resume, resumeSince } from '../idempotency/store/resume'
import { currentOf } from '../idempotency/store/version'
import type { KeyDecision } from '../maintenance/run-again'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'
import { LEFT_TO_PEOPLE } from './left-to-people'

/** Null when it is done. */
export async function resumeKey(store: Db, call: Call, { id, reason, version }: KeyDecision): Promise<Refused | null> {
  const before = await currentOf(store, id)
  if (!before) return refuse('not_found')
  if (before.version === version) {
    const also = auditMove({ ...call, action: 'key.resume', target: id, reason, before })
    if (await resume(store, { recordId: id, version, by: `operator:${call.actor.id}`, also })) return null
  }
  const current = await currentOf(store, id)
  if (!current) return refuse('not_found')
  return current.version === version ? refuse('not_dead_lettered') : refuse('changed_since_loaded', { current })
}

/** Dead letters that one transaction resumes: an outage may leave more than it could in its time. */
const BATCH = 500

/**
 * The provider has answered a look-up. Dead letters that met an outage are resumed: those that became one since the answer
 * before, which is older than the later half of the time in which they were looked up. A key whose own look-ups fail while
 * others are answered stays one, or it would be looked up for ever.
 */
export async function noteAnswer(store: Db): Promise<string[]> {
  const resumedIds: string[] = []
  for (;;) {
    const ids = await store.transaction(resumeSome)
    resumedIds.push(...ids)
    if (ids.length < BATCH) return resumedIds
  }
}

/** The answer is noted once none is left to resume: the next answer goes on where a node that was killed stopped. */
async function resumeSome(tx: Tx): Promise<string[]> {
  const [before] = await tx.query<{ answeredAt: Date }>(sql`
    SELECT answered_at AS "answeredAt" FROM look_up_answers WHERE name = 'provider' FOR UPDATE`)
  const ids = await resumeSince(tx, { answeredAt: before?.answeredAt ?? null, except: LEFT_TO_PEOPLE, limit: BATCH })
  if (ids.length < BATCH)
    await tx.query(sql`
      INSERT INTO look_up_answers (name, answered_at) VALUES ('provider', ${BY_NOW})
      ON CONFLICT (name) DO UPDATE SET answered_at = greatest(look_up_answers.answered_at, excluded.answered_at)`)
  return ids
}
