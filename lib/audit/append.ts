// Writing down who did what. An entry commits with the change that it tells of: as a further part of the change's own
// statement. Numbers, times and hashes are the database's business: see the trigger audit_chain.
//
// An entry is the last thing that a transaction writes: it locks the end of the chain until the commit.
import sql, { type Sql } from 'sql-template-tag'
import type { Reads, Store } from '../db/store'
import type { Actor } from '../operators/actor'

export interface NewEntry {
  actor: Pick<Actor, 'id' | 'name'>
  requestId: string
  action: string
  /** The id of what it was done to. */
  target: string | null
  outcome?: 'done' | 'forbidden'
  reason?: string | null
  /** Names, limits, states: never a secret, never a payload. */
  before?: object | null
  after?: object | null
}

const COLUMNS = sql`(actor_id, actor_name, action, target, outcome, reason, before, after, request_id)`

const json = (value: object | null | undefined): string | null => (value ? JSON.stringify(value) : null)

/** `before` and `after` may be read from the row that was changed. */
const values = (
  entry: NewEntry,
  after: Sql = sql`${json(entry.after)}::jsonb`,
  before: Sql = sql`${json(entry.before)}::jsonb`,
): Sql => sql`
  ${entry.actor.id}, ${entry.actor.name}, ${entry.action}, ${entry.target}, ${entry.outcome ?? 'done'},
  ${entry.reason ?? null}, ${before}, ${after}, ${entry.requestId}`

/**
 * A part of the statement that changes something: written for each row of `from`, which is how it knows of a change. Of
 * the parts that write and that nothing else reads, PostgreSQL runs the last one first: so this comes before the others.
 */
export const audited = (entry: NewEntry, from: Sql, after?: Sql, before?: Sql): Sql => sql`audited AS (
  INSERT INTO audit_entries ${COLUMNS} SELECT ${values(entry, after, before)} FROM ${from}
)`

/** In the transaction of the change that it tells of, as its last statement; by itself for what changes nothing of ours. */
export async function appendAudit(store: Pick<Store, 'query'>, entry: NewEntry): Promise<void> {
  await store.query(sql`INSERT INTO audit_entries ${COLUMNS} VALUES (${values(entry)})`)
}

/** The entry of a move of a record: what it made of the record is what the record is then. */
export const auditMove =
  (entry: NewEntry, more: object = {}) =>
  (tx: Reads, { state, version }: { state: string; version: number }): Promise<void> =>
    appendAudit(tx, { ...entry, after: { state, version, ...more } })

/**
 * A refusal: one entry for each actor, action and minute of the database's clock, however many nodes meet it, and a count
 * beside it. So somebody who is refused again and again can't fill the log. The entry is written at the first refusal.
 */
export async function appendRefusal(
  store: Pick<Store, 'query'>,
  entry: Omit<NewEntry, 'outcome' | 'before' | 'after'>,
): Promise<void> {
  await store.query(sql`
    WITH counted AS (
      INSERT INTO audit_refusals AS r (actor_id, action, minute, count)
      VALUES (${entry.actor.id}, ${entry.action},
        to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"'), 1)
      ON CONFLICT (actor_id, action, minute) DO UPDATE SET count = r.count + 1
      RETURNING minute, count
    )
    INSERT INTO audit_entries ${COLUMNS}
    SELECT ${values({ ...entry, outcome: 'forbidden' }, sql`jsonb_build_object('minute', minute)`)} FROM counted WHERE count = 1`)
}
