// Signing in: who gets in, who does not and learns nothing from it, and that nobody can guess for long.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Statement } from '../../lib/db/together'
import { isRefused } from '../../lib/operators/refusal'
import type { Sessions } from '../../lib/operators/session'
import { countTry } from '../../lib/operators/sign-in-tries'
import { barrier, before, tampered } from '../support/boundary'
import { by, cookieHeader, done, openStaff, type Person, type Staff } from './staff'

let staff: Staff
let other: Sessions
beforeAll(async () => {
  staff = await openStaff()
  other = staff.otherNode()
})
afterAll(() => staff?.close())

const wrong = { refused: 'unauthenticated', detail: expect.stringContaining('No operator') }
const limited = { refused: 'rate_limited', detail: expect.any(String), afterSeconds: expect.any(Number) }

const isAdmission = (statement: Statement) => statement.text.includes('FOR SHARE OF o, a')
const isTry = (statement: Statement) => statement.text.includes('INSERT INTO sign_in_failures')

/** As if all of the window had passed. */
const endWindow = () => staff.db.query(`UPDATE sign_in_failures SET since = since - interval '15 minutes'`)

async function guessWrong(person: { email: string }, times: number) {
  for (let i = 0; i < times; i++)
    expect(await staff.signIn({ email: person.email, password: `wrong guess ${i}` })).toEqual(wrong)
}

describe('signing in with the right password', () => {
  it('opens a session of twelve hours and is recorded in the audit log', async () => {
    const ada = await staff.add('operator')
    const { operator, cookie } = done(await staff.signIn(ada))
    const { password: _, ...shown } = ada
    expect(operator).toEqual(shown)
    expect(await staff.sessions.actorOfSession(cookieHeader(cookie))).toEqual(shown)
    const [session] = await staff.sessionsOf(ada)
    const leftMs = session!.expires_at.getTime() - Date.now()
    expect(Math.abs(leftMs - 12 * 3_600_000)).toBeLessThan(60_000)
    expect(session!.id).toMatch(/^ses_[0-9a-z]{26}$/)
    expect(await staff.entries(ada.id)).toMatchObject([
      { action: 'operator.create' },
      { action: 'session.sign_in', actor_id: ada.id, outcome: 'done' },
    ])
  })

  it('succeeds whatever the case of the e-mail address', async () => {
    const ada = await staff.add()
    done(await staff.signIn({ ...ada, email: ada.email.toUpperCase() }))
  })

  it('succeeds on several nodes at once, each with a session of its own', async () => {
    const ada = await staff.add()
    const nodes = [staff.sessions, other, other]
    const cookies = await Promise.all(nodes.map(async (node) => done(await staff.signIn(ada, node)).cookie.value))
    expect(new Set(cookies).size).toBe(3)
    expect(await staff.sessionsOf(ada)).toHaveLength(3)
  })

  it('locks the address’s row of failed tries before it waits for the audit log', async () => {
    const person = await staff.add()
    const holder = await staff.transaction()
    const rival = await staff.transaction()
    try {
      await holder.query('SELECT FROM audit_head FOR UPDATE')
      const signing = staff.signIn(person)
      await staff.untilBlocked(1)
      const tries = rival.query(
        "SELECT FROM sign_in_failures WHERE email_hash = sha256(convert_to($1, 'UTF8')) FOR UPDATE NOWAIT",
        [person.email],
      )
      await expect(tries).rejects.toMatchObject({ code: '55P03' })
      await holder.query('ROLLBACK')
      done(await signing)
    } finally {
      for (const client of [holder, rival]) {
        await client.query('ROLLBACK')
        client.release()
      }
    }
  })
})

describe('a failed sign-in', () => {
  it('gets the same answer for an unknown address, a wrong password and a disabled operator', async () => {
    const ada = await staff.add()
    const disabled = await staff.add()
    done(await staff.access.updateOperator(by(), { id: disabled.id, disabled: true }))
    const answers = [
      await staff.signIn({ email: 'nobody@example.com', password: ada.password }),
      await staff.signIn({ email: ada.email, password: 'not the password' }),
      await staff.signIn({ email: ada.email, password: 'short' }),
      await staff.signIn({ email: ada.email, password: 'x'.repeat(1000) }),
      await staff.signIn({ email: 'not an address', password: ada.password }),
      await staff.signIn(disabled),
    ]
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(answers[0]).toEqual(wrong)
    expect((await staff.entries(disabled.id)).map(({ action }) => action)).not.toContain('session.sign_in')
  })

  it('takes about the same time for a known and an unknown address', async () => {
    const ada = await staff.add()
    const timed = async (email: string) => {
      const startedAt = performance.now()
      await staff.signIn({ email, password: 'not the password' })
      return performance.now() - startedAt
    }
    // In turns, and the fastest of each: what else the machine does meets both alike. Hashing a password is nearly all of
    // the time, so an address that saved it would take a small fraction.
    const known: number[] = []
    const unknown: number[] = []
    for (let i = 0; i < 4; i++) {
      known.push(await timed(ada.email))
      unknown.push(await timed(`${randomUUID()}@example.com`))
    }
    const ratio = Math.min(...unknown) / Math.min(...known)
    expect(ratio).toBeGreaterThan(1 / 3)
    expect(ratio).toBeLessThan(3)
  })

  it('stores neither the e-mail address nor the password', async () => {
    const email = `${randomUUID()}@example.com`
    await staff.signIn({ email, password: 'my secret guess' })
    const text = await staff.allText('sign_in_failures', 'audit_entries', 'operator_sessions')
    expect(text).not.toContain(email)
    expect(text).not.toContain('my secret guess')
  })
})

describe('a sign-in under way', () => {
  const changes: [string, (person: Person) => { disabled: true } | { password: string }][] = [
    ['is disabled', () => ({ disabled: true })],
    ['gets a new password', () => ({ password: 'another password' })],
  ]

  it.each(changes)('is refused when the operator %s after the password check', async (_, change) => {
    const ada = await staff.add()
    const store = before(staff.store, isAdmission, () =>
      staff.access.updateOperator(by(), { id: ada.id, ...change(ada) }),
    )
    expect(await staff.signIn(ada, staff.otherNode(store))).toEqual(wrong)
    expect(await staff.sessionsOf(ada)).toEqual([])
  })

  it.each(changes)('is refused when the operator %s before the session is inserted', async (_, change) => {
    const ada = await staff.add()
    const pool = Object.create(staff.store.pool)
    let changed = false
    pool.query = async (query: { text: string }, ...values: unknown[]) => {
      if (/INSERT INTO .*operator_sessions/.test(query.text)) {
        done(await staff.access.updateOperator(by(), { id: ada.id, ...change(ada) }))
        changed = true
      }
      return staff.store.pool.query(query as never, ...(values as never[]))
    }
    expect(await staff.signIn(ada, staff.otherNode({ ...staff.store, pool }))).toEqual(wrong)
    expect(changed).toBe(true)
    // Made, but never let in: nobody was told its token, and it is gone in a minute.
    const [made] = await staff.sessionsOf(ada)
    expect(made!.expires_at.getTime() - Date.now()).toBeLessThan(60_000)
    expect((await staff.entries(ada.id)).map(({ action }) => action)).not.toContain('session.sign_in')
  })

  it.each([
    ['disabled', `UPDATE operators SET disabled_at = clock_timestamp() WHERE id = $1`],
    [
      'given a new password',
      `UPDATE operator_accounts SET password = 'another', updated_at = clock_timestamp() WHERE operator_id = $1`,
    ],
  ])('waits for the open transaction in which the operator is %s, and is refused', async (_, change) => {
    const ada = await staff.add()
    const rival = await staff.transaction()
    await rival.query(change, [ada.id])
    const signingIn = staff.signIn(ada)
    await staff.untilBlocked(1)
    await rival.query('COMMIT')
    rival.release()
    expect(await signingIn).toEqual(wrong)
    expect((await staff.entries(ada.id)).map(({ action }) => action)).not.toContain('session.sign_in')
  })

  it.each(changes)('leaves no session when the operator %s during its admission', async (_, change) => {
    const ada = await staff.add()
    const admission = await staff.transaction()
    const there = barrier()
    const store = tampered(staff.store, async (send, statement) => {
      if (!isAdmission(statement)) return send()
      const { rows } = await admission.query(statement)
      await there.pass()
      return rows
    })
    const signingIn = staff.signIn(ada, staff.otherNode(store))
    await there.reached
    const changing = staff.access.updateOperator(by(), { id: ada.id, ...change(ada) })
    await staff.untilBlocked(1)
    await admission.query('COMMIT')
    admission.release()
    there.open()
    done(await changing)
    const { cookie } = done(await signingIn)
    expect(await staff.sessions.actorOfSession(cookieHeader(cookie))).toBeNull()
    expect(await staff.sessionsOf(ada)).toEqual([])
  })
})

describe('guessing passwords', () => {
  it('is refused after five tries, even with the right password, until the window is over', async () => {
    const ada = await staff.add()
    await guessWrong(ada, 5)
    for (const password of ['wrong guess 6', ada.password]) {
      const refused = await staff.signIn({ email: ada.email, password })
      expect(refused).toEqual(limited)
      expect((refused as { afterSeconds: number }).afterSeconds).toBeGreaterThan(880)
      expect((refused as { afterSeconds: number }).afterSeconds).toBeLessThanOrEqual(900)
    }
    expect(await staff.signIn(ada, other)).toEqual(limited)
    expect(await staff.sessionsOf(ada)).toEqual([])
    await endWindow()
    done(await staff.signIn(ada))
  })

  it('is limited to five tries again in the next window', async () => {
    const ada = await staff.add()
    await guessWrong(ada, 5)
    await endWindow()
    await guessWrong(ada, 5)
    expect(await staff.signIn(ada)).toEqual(limited)
  })

  it('is counted from zero again after a successful sign-in', async () => {
    const ada = await staff.add()
    await guessWrong(ada, 4)
    done(await staff.signIn(ada))
    await guessWrong(ada, 5)
    expect(await staff.signIn(ada)).toEqual(limited)
  })

  it('for one address does not limit another address', async () => {
    const [ada, bob] = [await staff.add(), await staff.add()]
    await guessWrong(ada, 5)
    done(await staff.signIn(bob))
  })

  it('is limited for an address that belongs to no operator', async () => {
    const nobody = { email: `${randomUUID()}@example.com`, password: 'a good password' }
    await guessWrong(nobody, 5)
    expect(await staff.signIn(nobody)).toEqual(limited)
  })

  it('is limited for an address whatever its case', async () => {
    const ada = await staff.add()
    for (let i = 0; i < 5; i++)
      await staff.signIn({ email: i % 2 ? ada.email : ada.email.toUpperCase(), password: 'x' })
    expect(await staff.signIn(ada)).toEqual(limited)
  })

  it('fifty times at once on two nodes has five passwords checked and 45 tries refused', async () => {
    const ada = await staff.add()
    const nodes = [staff.sessions, other]
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        staff.signIn({ email: ada.email, password: `wrong guess ${i}` }, nodes[i % 2]!),
      ),
    )
    const refusals = answers.map((answer) => isRefused(answer) && answer.refused)
    expect(refusals.filter((refused) => refused === 'unauthenticated')).toHaveLength(5)
    expect(refusals.filter((refused) => refused === 'rate_limited')).toHaveLength(45)
  })

  it('fifty times at once counts each try: only five stay within the limit', async () => {
    const email = `${randomUUID()}@example.com`
    const tries = await Promise.all(Array.from({ length: 50 }, () => countTry(staff.store, email)))
    expect(tries.filter((tried) => !tried.limited)).toHaveLength(5)
  })

  it('leaves only rows of tries in the current window', async () => {
    await staff.db.query('TRUNCATE sign_in_failures')
    await staff.db.query(`
      INSERT INTO sign_in_failures SELECT sha256(i::text::bytea), 5, clock_timestamp() - interval '16 minutes'
      FROM generate_series(1, 150) i`)
    for (let i = 0; i < 2; i++) await countTry(staff.store, `${randomUUID()}@example.com`)
    expect(await staff.rows('SELECT count(*)::int AS rows FROM sign_in_failures')).toEqual([{ rows: 2 }])
  })
})

describe('many sign-ins at once on one node', () => {
  it('are queued up to fifty, and the fifty-first is rate limited', async () => {
    const there = barrier()
    const node = staff.otherNode(before(staff.store, isTry, () => there.pass()))
    const nobody = () => ({ email: `${randomUUID()}@example.com`, password: 'x' })
    const waiting = Array.from({ length: 50 }, () => staff.signIn({ email: 'crowd@example.com', password: 'x' }, node))
    await there.reached
    expect(await staff.signIn(nobody(), node)).toMatchObject({ refused: 'rate_limited', afterSeconds: 2 })
    there.open()
    await Promise.all(waiting)
    expect(await staff.signIn(nobody(), node)).toEqual(wrong)
  })

  it('go on after one whose store connection is lost', async () => {
    let lost = true
    const node = staff.otherNode(
      tampered(staff.store, (send) => {
        if (!lost) return send()
        lost = false
        return Promise.reject(new Error('lost'))
      }),
    )
    const ada = await staff.add()
    const [first, second] = await Promise.allSettled([staff.signIn(ada, node), staff.signIn(ada, node)])
    expect(first.status).toBe('rejected')
    expect(second).toMatchObject({ status: 'fulfilled', value: { operator: { id: ada.id } } })
  })
})

describe('a sign-in whose store becomes unreachable during the password check', () => {
  it('fails as an unreachable store, not as a wrong password', async () => {
    const ada = await staff.add()
    const pool = Object.create(staff.store.pool)
    pool.connect = () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
    pool.query = pool.connect
    const gone = vi.fn(() => Promise.reject(Object.assign(new Error('gone'), { code: 'STORE_UNAVAILABLE' })))
    const store = tampered({ ...staff.store, pool }, (send, { text }) => (text === 'SELECT 1' ? gone() : send()))
    await expect(staff.signIn(ada, staff.otherNode(store))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(gone).toHaveBeenCalledOnce()
  })
})
