// How often a password may be guessed, over all nodes. A try is counted before the password is looked at, so however
// many guesses come at once, no more than the limit are ever judged. The address is known by its hash only.
import { createHash } from 'node:crypto'
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'

const MAX_TRIES = 5
const WINDOW_MS = 15 * 60_000
/** More than one try adds: the table can't outgrow the tries of one window. */
const FORGOTTEN_AT_ONCE = 100

const WINDOW = sql`${WINDOW_MS}::float8 * interval '1 ms'`

const hashOf = (email: string): Buffer => createHash('sha256').update(email.toLowerCase()).digest()

export type Tried =
  | { limited: true; afterSeconds: number }
  /** Since when the password that is tried is in use; null where there is none. */
  | { limited: false; passwordSince: Date | null }

export async function countTry(store: Pick<Store, 'query'>, email: string): Promise<Tried> {
  const hash = hashOf(email)
  // Skipping what others hold: two tries that forget each other's rows would wait for each other for ever.
  const [row] = await store.query<{ count: number; left_seconds: number; password_since: Date | null }>(sql`
    WITH forgotten AS (
      DELETE FROM sign_in_failures WHERE email_hash IN (
        SELECT email_hash FROM sign_in_failures WHERE since <= clock_timestamp() - ${WINDOW} AND email_hash <> ${hash}
        ORDER BY since LIMIT ${FORGOTTEN_AT_ONCE}::int FOR UPDATE SKIP LOCKED)
    ), tried AS (
      INSERT INTO sign_in_failures AS f (email_hash, count, since) VALUES (${hash}, 1, clock_timestamp())
      ON CONFLICT (email_hash) DO UPDATE SET
        count = CASE WHEN f.since <= clock_timestamp() - ${WINDOW} THEN 1 ELSE least(f.count, ${MAX_TRIES}::int) + 1 END,
        since = CASE WHEN f.since <= clock_timestamp() - ${WINDOW} THEN clock_timestamp() ELSE f.since END
      RETURNING f.count, extract(epoch FROM f.since + ${WINDOW} - clock_timestamp())::float8 AS left_seconds
    )
    SELECT tried.*, (
      SELECT a.updated_at FROM operators o JOIN operator_accounts a ON a.operator_id = o.id AND a.account_id = o.id
      WHERE o.email = ${email.toLowerCase()} AND a.provider_id = 'credential') AS password_since
    FROM tried`)
  const { count, left_seconds, password_since } = row!
  return count > MAX_TRIES
    ? { limited: true, afterSeconds: Math.max(1, Math.ceil(left_seconds)) }
    : { limited: false, passwordSince: password_since }
}

/** A part of the statement that signs in: whoever knows the password has guessed nothing. */
export const triesForgotten = (email: string, from: Sql): Sql => sql`tries AS (
  DELETE FROM sign_in_failures WHERE email_hash = ${hashOf(email)} AND EXISTS (SELECT FROM ${from})
)`
