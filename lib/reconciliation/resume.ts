// Dead letters that are looked up by schedule again, at once and then from the first interval on: because a person says
// so, or because the provider answers look-ups again after an outage.
import sql, { type Sql } from 'sql-template-tag'
import { audited } from '../audit/append'
import type { Store } from '../db/store'
import { withEffects } from '../idempotency/sql/effects'
import { appended, BY_NOW, NOW, UNKNOWN_SINCE } from '../idempotency/sql/event'
import { atVersion, currentOf } from '../idempotency/sql/version'
import type { KeyDecision } from '../maintenance/run-again'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'
import { LEFT_TO_PEOPLE } from './left-to-people'

const IS_DEAD_LETTER: Sql = sql`r.state = 'unknown' AND r.dead_lettered_at IS NOT NULL`

/** The settings of an UPDATE of `idempotency_records r` that reads the clock from `now`. */
const resumed = (by: string): Sql => sql`
  dead_lettered_at = NULL, reconcile_attempts = 0, reconcile_after = now.at,
  timeline = ${appended({ event: 'resumed', by })}`

/** Null when it is done. */
export async function resumeKey(
  store: Pick<Store, 'query'>,
  call: Call,
  { id, reason, version }: KeyDecision,
): Promise<Refused | null> {
  const before = await currentOf(store, id)
  if (!before) return refuse('not_found')
  if (before.version === version) {
    const after = sql`jsonb_build_object('state', m.state, 'version', m.version)`
    const entry = audited({ ...call, action: 'key.resume', target: id, reason, before }, sql`moved m`, after)
    const rows = await store.query(sql`
      WITH moved AS (
        UPDATE idempotency_records r SET
          version = version + 1, ${resumed(`operator:${call.actor.id}`)}
        FROM ${NOW}
        WHERE r.id = ${id} AND ${IS_DEAD_LETTER} ${atVersion(version)}
        RETURNING r.*
      )${withEffects([entry])}
      SELECT id FROM moved`)
    if (rows.length > 0) return null
  }
  const current = await currentOf(store, id)
  if (!current) return refuse('not_found')
  return current.version === version ? refuse('not_dead_lettered') : refuse('changed_since_loaded', { current })
}

/** Dead letters that one statement resumes: an outage may leave more than it could in its time. */
const BATCH = 500

/**
 * The provider has answered a look-up. Dead letters that met an outage are resumed: those that became one since the answer
 * before, which is older than the later half of the time in which they were looked up. A key whose own look-ups fail while
 * others are answered stays one, or it would be looked up for ever.
 */
export async function noteAnswer(store: Pick<Store, 'query'>): Promise<string[]> {
  const resumedIds: string[] = []
  for (;;) {
    const ids = await resumeSome(store)
    resumedIds.push(...ids)
    if (ids.length < BATCH) return resumedIds
  }
}

/** The answer is noted once none is left to resume: the next answer goes on where a node that was killed stopped. */
async function resumeSome(store: Pick<Store, 'query'>): Promise<string[]> {
  const rows = await store.query<{ id: string }>(sql`
    WITH before AS MATERIALIZED (
      SELECT coalesce((SELECT answered_at FROM look_up_answers WHERE name = 'provider' FOR UPDATE), '-infinity') AS answered_at
    ), due AS MATERIALIZED (
      SELECT r.id FROM idempotency_records r, before
      WHERE ${IS_DEAD_LETTER} AND r.dead_lettered_at > before.answered_at
        AND coalesce(r.last_error_code, '') <> ALL(${[...LEFT_TO_PEOPLE]}::text[])
        AND r.dead_lettered_at - (r.dead_lettered_at - greatest(${UNKNOWN_SINCE}, ${RESUMED_AT})) / 2 > before.answered_at
      ORDER BY r.id LIMIT ${BATCH}::int FOR UPDATE OF r
    ), noted AS (
      INSERT INTO look_up_answers (name, answered_at) SELECT 'provider', ${BY_NOW} FROM before
      WHERE (SELECT count(*) FROM due) < ${BATCH}::int
      ON CONFLICT (name) DO UPDATE SET answered_at = greatest(look_up_answers.answered_at, excluded.answered_at)
    )
    UPDATE idempotency_records r SET ${resumed('reconciler')}
    FROM due, ${NOW} WHERE r.id = due.id AND ${IS_DEAD_LETTER} RETURNING r.id`)
  return rows.map(({ id }) => id)
}

const RESUMED_AT: Sql = sql`(SELECT max((e->>'at')::timestamptz) FROM jsonb_array_elements(timeline) e
  WHERE e->>'event' = 'resumed')`
