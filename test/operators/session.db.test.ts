// A session is good for what the store says at this moment, on every node, and for nobody who made up a cookie.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../lib/db/sqlstate'
import { openSessions } from '../../lib/operators/session'
import { forgottenCookie, SESSION_COOKIE, sessionCookie, tokenOf } from '../../lib/operators/session-cookie'
import { sessionSecret } from '../../lib/operators/session-secret'
import { openBench, tampered } from '../support/boundary'
import { by, cookieHeader, done, openStaff, type Staff } from './staff'

let staff: Staff
let other: ReturnType<typeof openSessions>
beforeAll(async () => {
  staff = await openStaff()
  other = staff.otherNode()
})
afterAll(() => staff?.close())

/** On both nodes: what was read must not be remembered anywhere. */
async function actorOn(headers: Headers) {
  const [here, there] = [await staff.sessions.actorOfSession(headers), await other.actorOfSession(headers)]
  expect(there).toEqual(here)
  return here
}

describe('an operator session', () => {
  it('identifies its operator on every node', async () => {
    const ada = await staff.add('operator')
    expect(await actorOn(await staff.session(ada))).toEqual({
      id: ada.id,
      name: ada.name,
      role: 'operator',
      email: ada.email,
    })
  })

  it('is invalid from its expiry on', async () => {
    const ada = await staff.add()
    const headers = await staff.session(ada)
    await staff.db.query('UPDATE operator_sessions SET expires_at = clock_timestamp() WHERE operator_id = $1', [ada.id])
    expect(await actorOn(headers)).toBeNull()
  })

  it('is extended when it is used near its expiry, and is not written at every use', async () => {
    const ada = await staff.add()
    const headers = await staff.session(ada)
    const [fresh] = await staff.sessionsOf(ada)
    await actorOn(headers)
    expect(await staff.sessionsOf(ada)).toEqual([fresh])
    await staff.db.query(
      `UPDATE operator_sessions SET expires_at = clock_timestamp() + interval '1 minute' WHERE operator_id = $1`,
      [ada.id],
    )
    await actorOn(headers)
    const [used] = await staff.sessionsOf(ada)
    expect(used!.expires_at.getTime()).toBeGreaterThanOrEqual(fresh!.expires_at.getTime())
  })

  it('ends thirty days after its sign-in, however often it is used', async () => {
    const ada = await staff.add()
    const headers = await staff.session(ada)
    await staff.db.query(
      `UPDATE operator_sessions SET created_at = clock_timestamp() - interval '30 days' + interval '1 hour',
        expires_at = clock_timestamp() + interval '1 minute' WHERE operator_id = $1`,
      [ada.id],
    )
    expect(await actorOn(headers)).toMatchObject({ id: ada.id })
    const [last] = await staff.sessionsOf(ada)
    expect(last!.expires_at.getTime() - last!.created_at.getTime()).toBe(30 * 86_400_000)
    await actorOn(headers)
    expect(await staff.sessionsOf(ada)).toEqual([last])
  })

  it('has its operator’s new role at once', async () => {
    const ada = await staff.add('admin')
    await staff.add('admin')
    const headers = await staff.session(ada)
    done(await staff.access.updateOperator(by(), { id: ada.id, role: 'viewer' }))
    expect(await actorOn(headers)).toMatchObject({ role: 'viewer' })
  })

  it('ends when its operator is disabled, and stays ended when the operator is enabled again', async () => {
    const ada = await staff.add()
    const headers = await staff.session(ada)
    done(await staff.access.updateOperator(by(), { id: ada.id, disabled: true }))
    expect(await actorOn(headers)).toBeNull()
    done(await staff.access.updateOperator(by(), { id: ada.id, disabled: false }))
    expect(await actorOn(headers)).toBeNull()
  })

  it('is not accepted while its operator is disabled, even if its row still exists', async () => {
    const ada = await staff.add()
    const headers = await staff.session(ada)
    await staff.db.query(`
      ALTER TABLE operators DISABLE TRIGGER operators_disabled;
      UPDATE operators SET disabled_at = clock_timestamp() WHERE email = '${ada.email}';
      ALTER TABLE operators ENABLE TRIGGER operators_disabled`)
    expect(await staff.sessionsOf(ada)).toHaveLength(1)
    expect(await actorOn(headers)).toBeNull()
  })

  it('is deleted by the next sign-in after its expiry', async () => {
    const [ada, bob] = [await staff.add(), await staff.add()]
    await staff.session(ada)
    await staff.db.query('UPDATE operator_sessions SET expires_at = clock_timestamp() WHERE operator_id = $1', [ada.id])
    await staff.session(bob)
    expect(await staff.rows('SELECT FROM operator_sessions WHERE operator_id = $1', [ada.id])).toEqual([])
  })
})

describe('signing an operator out', () => {
  const signOut = (headers: Headers) => staff.sessions.signOut({ headers, requestId: 'req_test' })

  it('ends only this session, clears the cookie, and is in the audit log', async () => {
    const ada = await staff.add()
    const [mine, elsewhere] = [await staff.session(ada), await staff.session(ada)]
    expect(await signOut(mine)).toMatchObject({ name: SESSION_COOKIE, value: '', maxAge: 0 })
    expect(await actorOn(mine)).toBeNull()
    expect(await actorOn(elsewhere)).toMatchObject({ id: ada.id })
    expect((await staff.entries(ada.id)).at(-1)).toMatchObject({
      action: 'session.sign_out',
      actor_id: ada.id,
      outcome: 'done',
    })
  })

  it('twice, or without a session, clears the cookie and writes no audit entry', async () => {
    const ada = await staff.add()
    const headers = await staff.session(ada)
    await signOut(headers)
    const entries = await staff.entries(ada.id)
    for (const signedOut of [headers, new Headers()])
      expect(await signOut(signedOut)).toMatchObject({ value: '', maxAge: 0 })
    expect(await staff.entries(ada.id)).toEqual(entries)
  })
})

describe('a session cookie', () => {
  it('that the server did not sign is refused without a query to the store', async () => {
    const ada = await staff.add()
    const { cookie } = done(await staff.signIn(ada))
    const [token, signature] = cookie.value.split('.') as [string, string]
    const forged = [
      token,
      `${token}.`,
      `.${signature}`,
      `${token}.${'A'.repeat(43)}=`,
      `x${token}.${signature}`,
      sessionCookie(token, 'another secret', new Headers()).value,
      '\0.%',
    ]
    const sent = await staff.sentBy(async () => {
      for (const value of forged)
        expect(await staff.sessions.actorOfSession(cookieHeader({ ...cookie, value }))).toBeNull()
      expect(await staff.sessions.actorOfSession(new Headers())).toBeNull()
      expect(await staff.sessions.actorOfSession(new Headers({ cookie: 'onceover.session_token' }))).toBeNull()
    })
    expect(sent).toEqual([])
    expect(await staff.sessions.actorOfSession(cookieHeader(cookie))).toMatchObject({ id: ada.id })
  })

  it('made of any value that the database holds, signed with the secret it holds, is refused', async () => {
    const ada = await staff.add('admin')
    const headers = await staff.session(ada)
    const text = await staff.allText('operator_sessions', 'operators', 'operator_accounts', 'audit_entries', 'secrets')
    const stored = [...new Set(text.match(/[\w+/=-]{16,}/g))]
    const [session] = await staff.sessionsOf(ada)
    expect(stored).toEqual(expect.arrayContaining([session!.id, session!.token, ada.id]))
    const secret = await sessionSecret(staff.store)
    expect(stored).toContain(secret)
    for (const value of stored)
      expect(await actorOn(cookieHeader(sessionCookie(value, secret, new Headers())))).toBeNull()
    expect(await actorOn(headers)).toMatchObject({ id: ada.id })
  })

  it('can’t be stored with its token in clear', async () => {
    const ada = await staff.add()
    await expect(
      staff.db.query(
        `INSERT INTO operator_sessions (id, operator_id, token, expires_at) VALUES ('ses_x', $1, $2, now())`,
        [ada.id, 'x'.repeat(32)],
      ),
    ).rejects.toMatchObject({ constraint: 'operator_sessions_token_hashed' })
  })

  it('is found among other cookies, encoded or not', () => {
    const { name, value } = sessionCookie('a-token', 'secret', new Headers())
    for (const written of [value, encodeURIComponent(value), `"${value}"`])
      expect(tokenOf(new Headers({ cookie: `theme=dark; ${name}=${written}; lang=en` }), 'secret')).toBe('a-token')
  })

  it('is SameSite=Lax and HttpOnly, and Secure when the site is served over https', () => {
    const ours = { httpOnly: true, sameSite: 'lax', path: '/' }
    for (const make of [(headers: Headers) => sessionCookie('t', 's', headers), forgottenCookie]) {
      expect(make(new Headers())).toMatchObject({ ...ours, secure: false })
      expect(make(new Headers({ 'x-forwarded-proto': 'http' }))).toMatchObject({ ...ours, secure: false })
      expect(make(new Headers({ 'x-forwarded-proto': 'https' }))).toMatchObject({ ...ours, secure: true })
      expect(make(new Headers({ 'x-forwarded-proto': 'https, http' }))).toMatchObject({ ...ours, secure: true })
      expect(make(new Headers({ origin: 'https://ops.example' }))).toMatchObject({ ...ours, secure: true })
    }
  })
})

describe('a session with an unreachable store', () => {
  it('causes an error and is not treated as signed out', async () => {
    const ada = await staff.add()
    const headers = await staff.session(ada)
    let lost = true
    const node = openSessions(
      tampered(staff.store, (send) => (lost ? Promise.reject(new StoreUnavailable(null)) : send())),
    )
    await expect(node.actorOfSession(headers)).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(node.signOut({ headers, requestId: 'req_test' })).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(staff.signIn(ada, node)).rejects.toBeInstanceOf(StoreUnavailable)
    expect(await node.actorOfSession(new Headers())).toBeNull()
    lost = false
    expect(await node.actorOfSession(headers)).toMatchObject({ id: ada.id })
    lost = true
    await expect(node.actorOfSession(headers)).rejects.toBeInstanceOf(StoreUnavailable)
  })
})

describe('the secret that signs sessions', () => {
  it('is the one of the environment where that is set, and then none is stored', async () => {
    const bench = await openBench()
    try {
      const given = 'a secret of the environment, long enough'
      expect(await sessionSecret(bench.store, given)).toBe(given)
      expect(await bench.rows(`SELECT FROM secrets WHERE name = 'session_signing'`)).toEqual([])
    } finally {
      await bench.close()
    }
  })

  it('ends sessions when it is replaced', async () => {
    const headers = await staff.session(await staff.add())
    const renewed = openSessions(staff.store, 'another secret, as long as it has to be')
    expect(await renewed.actorOfSession(headers)).toBeNull()
  })

  it('is created once, however many nodes start at once', async () => {
    const bench = await openBench()
    try {
      const secrets = await Promise.all(Array.from({ length: 20 }, () => sessionSecret(bench.store)))
      expect(new Set(secrets).size).toBe(1)
      expect(secrets[0]).toMatch(/^[\w-]{43}$/)
      expect(await sessionSecret(bench.store)).toBe(secrets[0])
    } finally {
      await bench.close()
    }
  })
})
