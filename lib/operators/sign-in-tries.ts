// How often a password may be guessed, over all nodes. A try is counted before the password is looked at, so however
// many guesses come at once, no more than the limit are ever judged. Tries are counted for each address and source
// network, so that strangers lock the operator out of their own network only; a browser that signed in before is counted
// by itself. Address, network and browser are known by a hash only.
import { createHash } from 'node:crypto'
import sql, { type Sql } from 'sql-template-tag'
import { appendRefusal } from '../audit/append'
import type { Store } from '../db/store'
import type { Actor } from './actor'

const MAX_TRIES = 5
/** From all networks together, by browsers that never signed in: who has many networks is slowed down, too. */
const MAX_TRIES_OF_STRANGERS = 100
const WINDOW_MS = 15 * 60_000
/** More than one try adds: the table can't outgrow the tries of one window. */
const FORGOTTEN_AT_ONCE = 100

const WINDOW = sql`${WINDOW_MS}::float8 * interval '1 ms'`

/** Who tries: a browser that signed in with this address before, or else whoever is in this network. */
export type Source = { email: string } & ({ device: string } | { network: string })

/** @param counted names what is counted beside the address; null: all strangers */
export const bucketOf = (email: string, counted: string | null): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([email.toLowerCase(), counted]))
    .digest()

const sourceBucket = (source: Source): Buffer =>
  'device' in source ? bucketOf(source.email, `device ${source.device}`) : bucketOf(source.email, source.network)

export interface Tried {
  /** Whom the address belongs to; null where it is nobody's. */
  person: Pick<Actor, 'id' | 'name'> | null
  /** Since when the password that is tried is in use; null where there is none. */
  passwordSince: Date | null
  /** Until another try counts; null where this one does. */
  afterSeconds: number | null
}

/** One more in the bucket that `from` names, as a CTE that has how many there are and how long they count. */
const counted = (from: Sql, max: number): Sql => sql`
  INSERT INTO sign_in_failures AS f (bucket, count, since) ${from}
  ON CONFLICT (bucket) DO UPDATE SET
    count = CASE WHEN f.since <= clock_timestamp() - ${WINDOW} THEN 1 ELSE least(f.count, ${max}::int) + 1 END,
    since = CASE WHEN f.since <= clock_timestamp() - ${WINDOW} THEN clock_timestamp() ELSE f.since END
  RETURNING f.count > ${max}::int AS limited, extract(epoch FROM f.since + ${WINDOW} - clock_timestamp())::float8 AS left_seconds`

export async function countTry(store: Pick<Store, 'query'>, source: Source): Promise<Tried> {
  const [own, strangers] = [sourceBucket(source), bucketOf(source.email, null)]
  // Skipping what others hold: two tries that forget each other's rows would wait for each other for ever.
  const [row] = await store.query<{ left: number | null; id: string | null; name: string; since: Date | null }>(sql`
    WITH forgotten AS (
      DELETE FROM sign_in_failures WHERE bucket IN (
        SELECT bucket FROM sign_in_failures
        WHERE since <= clock_timestamp() - ${WINDOW} AND bucket <> ${own} AND bucket <> ${strangers}
        ORDER BY since LIMIT ${FORGOTTEN_AT_ONCE}::int FOR UPDATE SKIP LOCKED)
    ), own AS (${counted(sql`VALUES (${own}::bytea, 1, clock_timestamp())`, MAX_TRIES)}
    ), strangers AS (${counted(
      sql`SELECT ${strangers}::bytea, 1, clock_timestamp() FROM own WHERE NOT own.limited AND ${'network' in source}::boolean`,
      MAX_TRIES_OF_STRANGERS,
    )}
    )
    SELECT tried.left, person.*
    FROM (
      SELECT max(left_seconds) FILTER (WHERE limited) AS left FROM (SELECT * FROM own UNION ALL SELECT * FROM strangers) t
    ) tried LEFT JOIN (
      SELECT o.id, o.name, a.updated_at AS since FROM operators o
      LEFT JOIN operator_accounts a ON a.operator_id = o.id AND a.account_id = o.id AND a.provider_id = 'credential'
      WHERE o.email = ${source.email.toLowerCase()}
    ) person ON true`)
  const { left, id, name, since } = row!
  return {
    person: id === null ? null : { id, name },
    passwordSince: since,
    afterSeconds: left === null ? null : Math.max(1, Math.ceil(left)),
  }
}

/**
 * Into the audit log, for the account that the address belongs to. For an address that is nobody's something else is
 * written, so that a commit is waited for either way.
 */
export const recordFailure = (
  store: Pick<Store, 'query'>,
  source: Source,
  person: Tried['person'],
  requestId: string,
): Promise<unknown> =>
  person
    ? appendRefusal(store, { actor: person, requestId, action: 'session.sign_in', target: person.id })
    : store.query(sql`UPDATE sign_in_failures SET count = count WHERE bucket = ${sourceBucket(source)}`)

/** Parts of the statement that signs in: whoever knows the password has guessed nothing. */
export const triesForgotten = (source: Source, from: Sql): Sql => sql`tries AS (
  DELETE FROM sign_in_failures WHERE bucket = ${sourceBucket(source)} AND EXISTS (SELECT FROM ${from}) RETURNING count
), given_back AS (
  UPDATE sign_in_failures s SET count = greatest(s.count - tries.count, 0) FROM tries
  WHERE s.bucket = ${bucketOf(source.email, null)} AND ${'network' in source}::boolean
)`
