// Signing in. A try is counted, then the password is checked, then one statement makes the session good: it commits
// with its audit entry, and only where the operator is enabled and the password is still the one that was checked.
import { randomBytes } from 'node:crypto'
import { isAPIError } from 'better-auth/api'
import sql from 'sql-template-tag'
import { audited } from '../audit/append'
import type { Store } from '../db/store'
import type { Actor } from './actor'
import { type Auth, hashToken, SESSION_MS } from './auth'
import { type Refused, refuse } from './refusal'
import { deviceCookie, deviceOf, hasDevice, type OwnCookie, sessionCookie } from './session-cookie'
import { countTry, recordFailure, type Source, type Tried, triesForgotten } from './sign-in-tries'
import { networkOf } from './source-network'

/**
 * To check a password takes a core for a tenth of a second. A node checks one after another, so that strangers can't
 * take the clients' share, and lets no more wait than will be answered in a few seconds. Browsers that signed in before
 * have a queue of their own.
 */
const MAX_WAITING = 50
/** More than one sign-in adds. */
const FORGOTTEN_AT_ONCE = 100

export interface SignIn {
  email: string
  password: string
  /** Of the request: from where it came, whether by https, and what the browser keeps. */
  headers: Headers
  requestId: string
}

export interface SignedIn {
  operator: Actor & { email: string }
  cookie: OwnCookie
  /** By which the browser is known the next time. */
  device: OwnCookie
}

export const newSessionToken = (): string => randomBytes(32).toString('hex')

/** The same for whoever is unknown, wrong or disabled. */
const wrong = () =>
  refuse('unauthenticated', { detail: 'No operator who may sign in has this e-mail address and password.' })

export function openSignIn(store: Store, ready: () => Promise<{ auth: Auth; secret: string }>) {
  const queues = { known: openQueue(), strangers: openQueue() }

  async function sourceOf({ email, headers }: SignIn): Promise<Source> {
    const device = hasDevice(headers) ? deviceOf(headers, email, (await ready()).secret) : null
    return device ? { email, device } : { email, network: networkOf(headers) }
  }

  async function attempt(asked: SignIn, source: Source, tried: Tried): Promise<SignedIn | Refused> {
    const { email, password, headers, requestId } = asked
    const { auth, secret } = await ready()
    const made = await checked(store, auth, email, password)
    const token = newSessionToken()
    const operator =
      made && (await admit(store, { ...made, token, source, requestId, passwordSince: tried.passwordSince }))
    if (operator)
      return {
        operator,
        cookie: sessionCookie(token, secret, headers),
        device: deviceCookie(headers, email, secret),
      }
    await recordFailure(store, source, tried.person, requestId)
    return wrong()
  }

  return async function signIn(asked: SignIn): Promise<SignedIn | Refused> {
    const source = await sourceOf(asked)
    const inTurn = 'device' in source ? queues.known : queues.strangers
    return inTurn(async () => {
      const tried = await countTry(store, source)
      if (tried.afterSeconds === null) return { answer: await attempt(asked, source, tried) }
      const answer = refuse('rate_limited', {
        detail: 'There were too many tries for this e-mail address. Not even the right password helps until then.',
        afterSeconds: tried.afterSeconds,
      })
      // Nothing as slow as a password's check hides how long that takes, so it is done when the answer is given.
      return { answer, afterwards: () => recordFailure(store, source, tried.person, asked.requestId) }
    })
  }
}

/** One after another; what one leaves to be done afterwards is done before the next. */
function openQueue() {
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  return async <T>(run: () => Promise<{ answer: T; afterwards?: () => Promise<unknown> }>): Promise<T | Refused> => {
    if (waiting >= MAX_WAITING)
      return refuse('rate_limited', { detail: 'Too many people are signing in at this moment.', afterSeconds: 2 })
    waiting++
    const mine = last.then(run).finally(() => {
      waiting--
    })
    last = mine.then(({ afterwards }) => afterwards?.()).catch(() => {})
    return (await mine).answer
  }
}

/** Null for a wrong password, and in about the same time for an unknown address. */
async function checked(
  store: Store,
  auth: Auth,
  email: string,
  password: string,
): Promise<{ madeAs: string; actor: Pick<Actor, 'id' | 'name'> } | null> {
  try {
    const { token, user } = await auth.api.signInEmail({ body: { email, password } })
    return { madeAs: token, actor: { id: user.id, name: user.name } }
  } catch (error) {
    if (isAPIError(error) && error.statusCode < 500) return null
    // Whether it failed because the store is gone can't be told from its errors: the store can.
    await store.query(sql`SELECT 1`)
    throw error
  }
}

interface Admission {
  /** As better-auth's session is stored until now. */
  madeAs: string
  token: string
  actor: Pick<Actor, 'id' | 'name'>
  source: Source
  requestId: string
  passwordSince: Date | null
}

// Both rows are locked: a change of either that is under way ends the sessions that it finds, so it must find this one,
// or be seen by it.
async function admit(store: Store, { madeAs, token, actor, source, requestId, passwordSince }: Admission) {
  const entry = { actor, requestId, action: 'session.sign_in', target: actor.id }
  const hash = hashToken(token)
  const [operator] = await store.query<Actor & { email: string }>(sql`
    WITH person AS MATERIALIZED (
      SELECT o.id, o.name, o.role, o.email FROM operators o JOIN operator_accounts a ON a.operator_id = o.id
      WHERE o.id = ${actor.id} AND o.disabled_at IS NULL
        AND a.provider_id = 'credential' AND a.updated_at = ${passwordSince}
      FOR SHARE OF o, a
    ), admitted AS (
      UPDATE operator_sessions s SET token = ${hash}, created_at = clock_timestamp(), updated_at = clock_timestamp(),
        expires_at = clock_timestamp() + ${SESSION_MS}::float8 * interval '1 ms'
      FROM person WHERE s.token = ${madeAs} AND s.operator_id = person.id
      RETURNING person.id, person.name, person.role, person.email
    ), ${audited(entry, sql`admitted`)}, forgotten AS (
      DELETE FROM operator_sessions WHERE id IN (
        SELECT id FROM operator_sessions WHERE expires_at <= clock_timestamp() AND token <> ${madeAs}
        ORDER BY expires_at LIMIT ${FORGOTTEN_AT_ONCE}::int FOR UPDATE SKIP LOCKED)
    ), ${triesForgotten(source, sql`admitted`)}
    SELECT * FROM admitted`)
  return operator ?? null
}
