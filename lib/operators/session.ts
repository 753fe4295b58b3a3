// Sessions of people who signed in. What a session is good for is read from the store at every call: an operator who is
// demoted, disabled or signed out is so on every node at once, and a store that can't be asked makes nobody a stranger.
import sql from 'sql-template-tag'
import { audited } from '../audit/append'
import type { Store } from '../db/store'
import {
  changeOwnPassword,
  endOtherSessions,
  type Held,
  listOwnSessions,
  type OwnSession,
  type PasswordChange,
} from './account'
import type { Actor } from './actor'
import { type Auth, hashToken, LONGEST_SESSION_MS, openAuth, SESSION_MS } from './auth'
import { isRefused, type Refused, refuse } from './refusal'
import { cookieOf, forgottenCookie, type OwnCookie, sessionCookie, tokenOf } from './session-cookie'
import { sessionSecret } from './session-secret'
import { newSessionToken, openSignIn, type SignedIn, type SignIn } from './sign-in'

/** Prolonged in steps: a busy page writes one row in so long. */
const PROLONG_STEP_MS = 5 * 60_000

export interface Sessions {
  signIn(asked: SignIn): Promise<SignedIn | Refused>
  /** Ends the session, where there is one; the cookie is to be set either way. */
  signOut(asked: { headers: Headers; requestId: string }): Promise<OwnCookie>
  /** One's own; null without a good session. */
  ownSessions(headers: Headers): Promise<OwnSession[] | null>
  /** All but the one that asks; how many they were, or null without a good session. */
  endOtherSessions(asked: { headers: Headers; requestId: string }): Promise<number | null>
  /** The cookie of the session that takes the place of all others. */
  changePassword(asked: PasswordChange & { headers: Headers; requestId: string }): Promise<OwnCookie | Refused>
  /** Null without a good session. Throws StoreUnavailable where that can't be told. */
  actorOfSession(headers: Headers): Promise<Actor | null>
}

/** @param given AUTH_SECRET, where it is set */
export function openSessions(store: Store, given?: string): Sessions {
  let opened: Promise<{ auth: Auth; secret: string }> | null = null
  /** Asked of the store once; a question that failed is asked again. */
  function ready() {
    opened ??= sessionSecret(store, given)
      .then((secret) => ({ auth: openAuth(store, secret), secret }))
      .catch((error) => {
        opened = null
        throw error
      })
    return opened
  }

  async function sessionOf(headers: Headers): Promise<Held | null> {
    if (!cookieOf(headers)) return null
    const token = tokenOf(headers, (await ready()).secret)
    const actor = token && (await liveActor(store, token))
    return actor ? { token, actor } : null
  }

  return {
    signIn: openSignIn(store, ready),
    async signOut({ headers, requestId }) {
      const session = await sessionOf(headers)
      if (session) await endSession(store, session, requestId)
      return forgottenCookie(headers)
    },
    async ownSessions(headers) {
      const held = await sessionOf(headers)
      return held && listOwnSessions(store, held)
    },
    async endOtherSessions({ headers, requestId }) {
      const held = await sessionOf(headers)
      return held && endOtherSessions(store, held, requestId)
    },
    async changePassword({ headers, requestId, ...change }) {
      const held = await sessionOf(headers)
      if (!held) return refuse('unauthenticated')
      const token = newSessionToken()
      const refused = await changeOwnPassword(store, held.actor, change, token, requestId)
      return isRefused(refused) ? refused : sessionCookie(token, (await ready()).secret, headers)
    },
    actorOfSession: async (headers) => (await sessionOf(headers))?.actor ?? null,
  }
}

async function liveActor(store: Pick<Store, 'query'>, token: string): Promise<Held['actor'] | null> {
  const [actor] = await store.query<Held['actor']>(sql`
    WITH live AS (
      SELECT s.id AS session_id, o.id, o.name, o.role, o.email, least(
        clock_timestamp() + ${SESSION_MS}::float8 * interval '1 ms',
        s.created_at + ${LONGEST_SESSION_MS}::float8 * interval '1 ms') AS until
      FROM operator_sessions s JOIN operators o ON o.id = s.operator_id
      WHERE s.token = ${hashToken(token)} AND s.expires_at > clock_timestamp() AND o.disabled_at IS NULL
    ), prolonged AS (
      UPDATE operator_sessions s SET updated_at = clock_timestamp(), expires_at = live.until
      FROM live WHERE s.id = live.session_id
        AND s.expires_at < live.until - ${PROLONG_STEP_MS}::float8 * interval '1 ms'
    )
    SELECT id, name, role, email FROM live`)
  return actor ?? null
}

async function endSession(
  store: Pick<Store, 'query'>,
  { token, actor }: { token: string; actor: Actor },
  requestId: string,
): Promise<void> {
  await store.query(sql`
    WITH ended AS (DELETE FROM operator_sessions WHERE token = ${hashToken(token)} RETURNING id),
    ${audited({ actor, requestId, action: 'session.sign_out', target: actor.id }, sql`ended`)}
    SELECT FROM ended`)
}
