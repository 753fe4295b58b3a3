// Operators: made, changed and shut out by admins only, each change written down, and an admin always left.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Listed, Page } from '../../lib/operators/page'
import type { ListedOperator } from '../../lib/operators/people'
import { isRefused } from '../../lib/operators/refusal'
import { ROLES } from '../../lib/operators/role'
import { by, done, openStaff, type Staff } from './staff'

let staff: Staff
beforeAll(async () => {
  staff = await openStaff()
})
afterAll(() => staff?.close())

const freshEmail = () => `${randomUUID()}@example.com`
const newcomer = () => ({ name: 'Ada', email: freshEmail(), role: 'operator' as const })

describe('creating an operator', () => {
  it('generates a password, returns it and stores only its hash', async () => {
    const call = by()
    const made = done(await staff.access.createOperator(call, { ...newcomer(), reason: 'joined the team' }))
    expect(made).toMatchObject({ name: 'Ada', role: 'operator', password: expect.stringMatching(/^[\w-]{16}$/) })
    done(await staff.signIn({ email: made.email, password: made.password! }))
    expect(await staff.entries(made.id)).toMatchObject([
      {
        actor_id: 'ADMIN_TOKEN',
        action: 'operator.create',
        outcome: 'done',
        reason: 'joined the team',
        before: null,
        after: { name: 'Ada', email: made.email, role: 'operator' },
      },
      { action: 'session.sign_in' },
    ])
    const text = await staff.allText('audit_entries', 'operators', 'operator_accounts', 'operator_sessions')
    expect(text).not.toContain(made.password)
  })

  it('accepts a given password and does not return it', async () => {
    const ada = newcomer()
    const made = done(await staff.access.createOperator(by(), { ...ada, password: 'chosen by hand' }))
    expect(made.password).toBeNull()
    done(await staff.signIn({ email: ada.email, password: 'chosen by hand' }))
  })

  it('refuses an e-mail address already in use, regardless of case', async () => {
    const ada = await staff.add()
    for (const email of [ada.email, ada.email.toUpperCase()])
      expect(await staff.access.createOperator(by(), { ...newcomer(), email })).toMatchObject({
        refused: 'already_exists',
      })
  })

  it('twice at the same moment with one e-mail address creates one operator', async () => {
    const email = freshEmail()
    const outcomes = await Promise.all(
      [email, email.toUpperCase()].map((of) => staff.access.createOperator(by(), { ...newcomer(), email: of })),
    )
    expect(outcomes.filter(isRefused)).toMatchObject([{ refused: 'already_exists' }])
  })

  it('twice by the same call is refused as already created, without the password', async () => {
    const call = { ...by(), newId: (prefix: string) => `${prefix}_${'0'.repeat(26)}` }
    const ada = newcomer()
    const { id } = done(await staff.access.createOperator(call, ada))
    expect(await staff.access.createOperator(call, ada)).toEqual({ refused: 'already_created' })
    expect(await staff.entries(id)).toHaveLength(1)
  })
})

describe('changing an operator', () => {
  it('updates only the given fields and audits the values before and after', async () => {
    const ada = await staff.add('operator')
    const [before] = await staff.entries(ada.id)
    expect(before).toMatchObject({ action: 'operator.create' })
    const changed = done(await staff.access.updateOperator(by(), { id: ada.id, role: 'viewer', reason: 'on leave' }))
    expect(changed).toEqual({
      id: ada.id,
      name: ada.name,
      email: ada.email,
      role: 'viewer',
      disabled: false,
      createdAt: expect.any(String),
    })
    expect((await staff.entries(ada.id)).at(-1)).toMatchObject({
      action: 'operator.update',
      reason: 'on leave',
      before: { name: ada.name, role: 'operator', disabled: false },
      after: { name: ada.name, role: 'viewer', disabled: false },
    })
    expect(done(await staff.access.updateOperator(by(), { id: ada.id, name: 'Ada B.' }))).toMatchObject({
      name: 'Ada B.',
      role: 'viewer',
    })
  })

  it('to the same values is not audited', async () => {
    const ada = await staff.add('operator')
    done(await staff.access.updateOperator(by(), { id: ada.id, name: ada.name, role: 'operator', disabled: false }))
    done(await staff.access.updateOperator(by(), { id: ada.id }))
    expect(await staff.entries(ada.id)).toHaveLength(1)
  })

  it('by a new password ends all sessions, and the old password no longer works', async () => {
    const ada = await staff.add()
    const headers = [await staff.session(ada), await staff.session(ada)]
    done(await staff.access.updateOperator(by(), { id: ada.id, password: 'a new password' }))
    for (const session of headers) expect(await staff.sessions.actorOfSession(session)).toBeNull()
    expect(await staff.signIn(ada)).toMatchObject({ refused: 'unauthenticated' })
    done(await staff.signIn({ ...ada, password: 'a new password' }))
    const entry = (await staff.entries(ada.id)).filter(({ action }) => action === 'operator.update')
    expect(entry).toMatchObject([{ after: { password: 'renewed' } }])
    expect(await staff.allText('audit_entries')).not.toContain('a new password')
  })

  it('to disabled ends all sessions, and disabling again keeps the first time', async () => {
    const ada = await staff.add()
    await staff.session(ada)
    done(await staff.access.updateOperator(by(), { id: ada.id, disabled: true }))
    expect(await staff.sessionsOf(ada)).toEqual([])
    const since = () => staff.rows('SELECT disabled_at FROM operators WHERE id = $1', [ada.id])
    const first = await since()
    expect(done(await staff.access.updateOperator(by(), { id: ada.id, disabled: true }))).toMatchObject({
      disabled: true,
    })
    expect(await since()).toEqual(first)
    done(await staff.access.updateOperator(by(), { id: ada.id, disabled: false }))
    done(await staff.signIn(ada))
  })

  it('with an unknown id is refused', async () => {
    const id = `opr_${'0'.repeat(25)}1`
    expect(await staff.access.updateOperator(by(), { id, name: 'x' })).toMatchObject({ refused: 'not_found' })
    expect(await staff.access.endOperatorSessions(by(), { id })).toMatchObject({ refused: 'not_found' })
    expect(await staff.entries(id)).toEqual([])
  })
})

describe('ending an operator’s sessions', () => {
  it('signs that operator out everywhere, and no other operator', async () => {
    const [ada, bob] = [await staff.add(), await staff.add()]
    const sessions = [await staff.session(ada), await staff.session(ada)]
    const bobs = await staff.session(bob)
    done(await staff.access.endOperatorSessions(by(), { id: ada.id, reason: 'lost a laptop' }))
    for (const session of sessions) expect(await staff.sessions.actorOfSession(session)).toBeNull()
    expect(await staff.sessions.actorOfSession(bobs)).not.toBeNull()
    expect((await staff.entries(ada.id)).at(-1)).toMatchObject({
      action: 'operator.end_sessions',
      reason: 'lost a laptop',
      before: { sessions: 2 },
      after: { sessions: 0 },
    })
    done(await staff.signIn(ada))
  })
})

describe('the last admin', () => {
  const admins = () =>
    staff.rows<{ id: string }>(`SELECT id FROM operators WHERE role = 'admin' AND disabled_at IS NULL`)
  /** Nobody else is one. */
  async function onlyAdmins(count: number) {
    const made = await Promise.all(Array.from({ length: count }, () => staff.add('admin')))
    await staff.db.query(`UPDATE operators SET role = 'viewer' WHERE role = 'admin' AND NOT id = ANY ($1)`, [
      made.map(({ id }) => id),
    ])
    return made
  }

  it('can be neither demoted nor disabled, and no audit entry is written', async () => {
    const [ada] = await onlyAdmins(1)
    await staff.add('admin').then(({ id }) => staff.access.updateOperator(by(), { id, disabled: true }))
    await staff.session(ada!)
    const entries = await staff.entries(ada!.id)
    for (const change of [{ role: 'operator' as const }, { disabled: true }, { name: 'x', role: 'viewer' as const }])
      expect(await staff.access.updateOperator(by(), { id: ada!.id, ...change })).toEqual({ refused: 'last_admin' })
    expect(await staff.entries(ada!.id)).toEqual(entries)
    expect(await staff.sessionsOf(ada!)).toHaveLength(1)
    expect(await admins()).toEqual([{ id: ada!.id }])
  })

  it('can change name and password', async () => {
    const [ada] = await onlyAdmins(1)
    done(await staff.access.updateOperator(by(), { id: ada!.id, name: 'Ada B.', role: 'admin', disabled: false }))
    done(await staff.access.updateOperator(by(), { id: ada!.id, password: 'a new password' }))
  })

  it('remains when two admins demote each other at the same moment', async () => {
    const [ada, bob] = await onlyAdmins(2)
    const rival = await staff.transaction()
    await rival.query(`UPDATE operators SET role = 'viewer' WHERE id = $1`, [bob!.id])
    const demoting = staff.access.updateOperator(by(bob), { id: ada!.id, role: 'viewer' })
    await staff.untilBlocked(1)
    await rival.query('COMMIT')
    rival.release()
    expect(await demoting).toEqual({ refused: 'last_admin' })
    expect(await admins()).toEqual([{ id: ada!.id }])
  })

  it('remains when eight admins are demoted and disabled at once', async () => {
    const crowd = await onlyAdmins(8)
    const outcomes = await Promise.all(
      crowd.flatMap(({ id }) => [
        staff.access.updateOperator(by(), { id, role: 'operator' }),
        staff.access.updateOperator(by(), { id, disabled: true }),
      ]),
    )
    expect(await admins()).toHaveLength(1)
    expect(outcomes.filter(isRefused)).toMatchObject([{ refused: 'last_admin' }, { refused: 'last_admin' }])
  })

  it('can’t be removed by direct SQL either', async () => {
    const [ada] = await onlyAdmins(1)
    for (const statement of [
      `UPDATE operators SET role = 'viewer'`,
      `UPDATE operators SET disabled_at = clock_timestamp()`,
      `DELETE FROM operators WHERE role = 'admin'`,
    ])
      await expect(staff.db.query(statement)).rejects.toMatchObject({ constraint: 'operators_last_admin' })
    expect(await admins()).toEqual([{ id: ada!.id }])
  })
})

describe('an operator who is not an admin', () => {
  const page: Page = { limit: 50, after: null }
  const nobody = { id: `opr_${'0'.repeat(25)}2` }

  it.each(ROLES.filter((role) => role !== 'admin'))('is refused as %s, and the refusal is audited', async (role) => {
    const actor = await staff.add(role)
    const { access } = staff
    const outcomes = [
      await access.listOperators(by(actor), page),
      await access.createOperator(by(actor), newcomer()),
      await access.updateOperator(by(actor), { ...nobody, role: 'admin' }),
      await access.endOperatorSessions(by(actor), nobody),
      await access.listTokens(by(actor), page),
      await access.createToken(by(actor), { name: 'x', role: 'viewer', expiresInDays: 1 }),
      await access.revokeToken(by(actor), nobody),
    ]
    for (const outcome of outcomes) expect(outcome).toMatchObject({ refused: 'forbidden' })
    const written = await staff.rows(
      `SELECT action, outcome FROM audit_entries WHERE actor_id = $1 AND outcome = 'forbidden' ORDER BY seq`,
      [actor.id],
    )
    expect(written.map(({ action }) => action)).toEqual([
      'operator.list',
      'operator.create',
      'operator.update',
      'operator.end_sessions',
      'token.list',
      'token.create',
      'token.revoke',
    ])
  })

  it('can see their own session', async () => {
    const actor = await staff.add('viewer')
    expect(done(await staff.access.showSession(by(actor), undefined))).toMatchObject({ id: actor.id })
  })
})

describe('the operator list', () => {
  it('has every operator once, newest first, page by page, with the number of sessions', async () => {
    const ada = await staff.add()
    await staff.session(ada)
    const seen: string[] = []
    let after: Page['after'] = null
    do {
      const { items, next }: Listed<ListedOperator> = done(await staff.access.listOperators(by(), { limit: 7, after }))
      expect(items.length).toBeLessThanOrEqual(7)
      seen.push(...items.map(({ id }) => id))
      if (!after) expect(items[0]).toMatchObject({ id: ada.id, email: ada.email, disabled: false, sessionCount: 1 })
      after = next
    } while (after)
    const all = await staff.rows<{ id: string }>('SELECT id FROM operators ORDER BY created_at DESC, id DESC')
    expect(seen).toEqual(all.map(({ id }) => id))
    expect(JSON.stringify(done(await staff.access.listOperators(by(), { limit: 100, after: null })))).not.toMatch(
      /password|hash|"token"/,
    )
  })
})
