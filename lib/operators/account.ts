// What people do about their own account: their password and their sessions. Who they are is told by their cookie, so that
// the session that asks can be told from the others.
import { hashPassword, verifyPassword } from 'better-auth/crypto'
import sql from 'sql-template-tag'
import { appendRefusal, audited } from '../audit/append'
import { newId } from '../db/id'
import type { Store } from '../db/store'
import type { Actor } from './actor'
import { hashToken, SESSION_MS } from './auth'
import { type Refused, refuse } from './refusal'
import { countTry, triesForgotten } from './sign-in-tries'

export interface OwnSession {
  id: string
  since: string
  /** To five minutes. */
  lastUsedAt: string
  /** The one that asks. */
  current: boolean
}

/** Who is signed in, and by which token. */
export interface Held {
  token: string
  /** A person, who has an address. */
  actor: Actor & { email: string }
}

export async function listOwnSessions(store: Pick<Store, 'query'>, { token, actor }: Held): Promise<OwnSession[]> {
  const rows = await store.query<{ id: string; since: Date; last_used_at: Date; current: boolean }>(sql`
    SELECT id, created_at AS since, updated_at AS last_used_at, token = ${hashToken(token)} AS current
    FROM operator_sessions WHERE operator_id = ${actor.id} AND expires_at > clock_timestamp()
    ORDER BY current DESC, updated_at DESC, id`)
  return rows.map(({ last_used_at, since, ...row }) => ({
    ...row,
    since: since.toISOString(),
    lastUsedAt: last_used_at.toISOString(),
  }))
}

/** How many they were. */
export async function endOtherSessions(
  store: Pick<Store, 'query'>,
  { token, actor }: Held,
  requestId: string,
): Promise<number> {
  const entry = { actor, requestId, action: 'account.end_sessions', target: actor.id }
  const [ended] = await store.query<{ count: number }>(sql`
    WITH gone AS (
      DELETE FROM operator_sessions WHERE operator_id = ${actor.id} AND token <> ${hashToken(token)} RETURNING id
    ), ended AS (SELECT count(*)::int AS count FROM gone),
    ${audited(entry, sql`ended WHERE count > 0`, sql`jsonb_build_object('sessions', 1)`, sql`jsonb_build_object('sessions', count + 1)`)}
    SELECT count FROM ended`)
  return ended!.count
}

export interface PasswordChange {
  currentPassword: string
  newPassword: string
}

/**
 * All sessions end with the old password (the database sees to that), and the browser that asked gets a new one in their
 * place. Guesses at the current password are counted, like those at the sign-in.
 */
export async function changeOwnPassword(
  store: Pick<Store, 'query'>,
  actor: Held['actor'],
  { currentPassword, newPassword }: PasswordChange,
  token: string,
  requestId: string,
): Promise<null | Refused> {
  const source = { email: actor.email, device: 'own password' }
  const entry = { actor, requestId, action: 'account.change_password', target: actor.id }
  const wrong = async () => {
    await appendRefusal(store, entry)
    return refuse('invalid_request', { issues: [{ path: 'currentPassword', message: 'is not your password' }] })
  }
  const tried = await countTry(store, source)
  if (tried.afterSeconds !== null)
    return refuse('rate_limited', {
      detail: 'There were too many tries with a wrong current password.',
      afterSeconds: tried.afterSeconds,
    })
  const [known] = await store.query<{ password: string }>(sql`
    SELECT password FROM operator_accounts WHERE operator_id = ${actor.id} AND provider_id = 'credential'`)
  if (!known || !(await verifyPassword({ hash: known.password, password: currentPassword }))) return wrong()
  const hash = await hashPassword(newPassword)
  const [changed] = await store.query(sql`
    WITH person AS MATERIALIZED (
      SELECT o.id, a.id AS account_id FROM operators o JOIN operator_accounts a ON a.operator_id = o.id
      WHERE o.id = ${actor.id} AND o.disabled_at IS NULL
        AND a.provider_id = 'credential' AND a.password = ${known.password}
      FOR NO KEY UPDATE OF o, a
    ), changed AS (
      UPDATE operator_accounts a SET password = ${hash}, updated_at = clock_timestamp()
      FROM person WHERE a.id = person.account_id RETURNING person.id
    ), session AS (
      INSERT INTO operator_sessions (id, operator_id, token, expires_at)
      SELECT ${newId('ses')}, id, ${hashToken(token)}, clock_timestamp() + ${SESSION_MS}::float8 * interval '1 ms'
      FROM changed RETURNING operator_id
    ), ${audited({ ...entry, after: { password: 'renewed' } }, sql`session`)}, ${triesForgotten(source, sql`session`)}
    SELECT operator_id FROM session`)
  return changed ? null : wrong()
}
