// What people do about their own account: a new password, and an end of sessions elsewhere.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { by, cookieHeader, done, openStaff, type Person, type Staff } from './staff'

let staff: Staff
beforeAll(async () => {
  staff = await openStaff()
})
afterAll(() => staff?.close())

const NEW = 'a new password of mine'
const change = (headers: Headers, currentPassword: string, newPassword = NEW) =>
  staff.sessions.changePassword({ headers, currentPassword, newPassword, requestId: 'req_test' })
const isGood = async (headers: Headers) => (await staff.sessions.actorOfSession(headers)) !== null
const entriesOf = async (person: Person, action: string) =>
  (await staff.entries(person.id)).filter((entry) => entry.action === action)

describe('changing one’s own password', () => {
  it('ends all sessions but gives this browser a new one, and is audited', async () => {
    const ada = await staff.add()
    const [mine, elsewhere] = [await staff.session(ada), await staff.session(ada)]
    const renewed = cookieHeader(done(await change(mine, ada.password)))
    expect([await isGood(mine), await isGood(elsewhere), await isGood(renewed)]).toEqual([false, false, true])
    expect(await staff.signIn(ada)).toMatchObject({ refused: 'unauthenticated' })
    done(await staff.signIn({ ...ada, password: NEW }))
    expect(await entriesOf(ada, 'account.change_password')).toMatchObject([
      { actor_id: ada.id, outcome: 'done', after: { password: 'renewed' } },
    ])
    expect(await staff.allText('audit_entries', 'operator_accounts', 'operator_sessions')).not.toContain(NEW)
  })

  it('with a wrong current password changes nothing, is audited, and is limited to five tries', async () => {
    const ada = await staff.add()
    const mine = await staff.session(ada)
    for (let i = 0; i < 5; i++)
      expect(await change(mine, `wrong guess ${i}`)).toMatchObject({
        refused: 'invalid_request',
        issues: [{ path: 'currentPassword' }],
      })
    expect(await change(mine, ada.password)).toMatchObject({ refused: 'rate_limited' })
    expect(await isGood(mine)).toBe(true)
    expect((await entriesOf(ada, 'account.change_password'))[0]).toMatchObject({ outcome: 'forbidden' })
    done(await staff.signIn(ada))
  })

  it('without a session is refused', async () => {
    expect(await change(new Headers(), 'anything at all')).toMatchObject({ refused: 'unauthenticated' })
  })

  it('while an admin sets another one is refused, and the admin’s stays', async () => {
    const ada = await staff.add()
    const mine = await staff.session(ada)
    const rival = await staff.transaction()
    await rival.query('SELECT FROM operator_accounts WHERE operator_id = $1 FOR UPDATE', [ada.id])
    const changing = change(mine, ada.password)
    await staff.untilBlocked(1)
    await rival.query(`UPDATE operator_accounts SET password = 'another' WHERE operator_id = $1`, [ada.id])
    await rival.query('COMMIT')
    rival.release()
    expect(await changing).toMatchObject({ refused: 'invalid_request' })
    expect(await staff.rows('SELECT password FROM operator_accounts WHERE operator_id = $1', [ada.id])).toEqual([
      { password: 'another' },
    ])
    expect(await staff.sessionsOf(ada)).toEqual([])
  })
})

describe('one’s own sessions', () => {
  it('are listed, the current one marked, and the others can be ended', async () => {
    const [ada, bob] = [await staff.add(), await staff.add()]
    const [mine, elsewhere, bobs] = [await staff.session(ada), await staff.session(ada), await staff.session(bob)]
    const listed = (await staff.sessions.ownSessions(mine))!
    expect(listed.map(({ current }) => current)).toEqual([true, false])
    expect(Object.keys(listed[0]!).toSorted()).toEqual(['current', 'id', 'lastUsedAt', 'since'])
    const end = () => staff.sessions.endOtherSessions({ headers: mine, requestId: 'req_test' })
    expect(await end()).toBe(1)
    expect(await end()).toBe(0)
    expect([await isGood(mine), await isGood(elsewhere), await isGood(bobs)]).toEqual([true, false, true])
    expect(await entriesOf(ada, 'account.end_sessions')).toMatchObject([
      { before: { sessions: 2 }, after: { sessions: 1 } },
    ])
  })

  it('are not told to somebody without a session', async () => {
    expect(await staff.sessions.ownSessions(new Headers())).toBeNull()
    expect(await staff.sessions.endOtherSessions({ headers: new Headers(), requestId: 'req_test' })).toBeNull()
  })
})

it('a token can’t change the password of the person it belongs to: that takes a session', async () => {
  const ada = await staff.add('admin')
  const token = done(await staff.access.createToken(by(ada), { name: 'x', role: 'admin', expiresInDays: 1 }))
  const headers = new Headers({ authorization: `Bearer ${token.secret}` })
  expect(await change(headers, ada.password)).toMatchObject({ refused: 'unauthenticated' })
})
