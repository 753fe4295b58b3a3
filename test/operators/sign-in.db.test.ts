// Signing in: who gets in, who does not and learns nothing from it, and that nobody can guess for long.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Statement } from '../../lib/db/store'
import { isRefused } from '../../lib/operators/refusal'
import type { Sessions } from '../../lib/operators/session'
import { bucketOf, countTry } from '../../lib/operators/sign-in-tries'
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

/** That succeeded, as the audit log has them. */
const signInsOf = async ({ id }: { id: string }) =>
  (await staff.entries(id)).filter(({ action, outcome }) => action === 'session.sign_in' && outcome === 'done')

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
      const tries = rival.query('SELECT FROM sign_in_failures WHERE bucket = $1 FOR UPDATE NOWAIT', [
        bucketOf(person.email, 'unknown'),
      ])
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
    expect(await signInsOf(disabled)).toEqual([])
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
    expect(await signInsOf(ada)).toEqual([])
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
    expect(await signInsOf(ada)).toEqual([])
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
    const tries = await Promise.all(
      Array.from({ length: 50 }, () => countTry(staff.store, { email, network: '10.0.0' })),
    )
    expect(tries.filter(({ afterSeconds }) => afterSeconds === null)).toHaveLength(5)
  })

  it('leaves only rows of tries in the current window', async () => {
    await staff.db.query('TRUNCATE sign_in_failures')
    await staff.db.query(`
      INSERT INTO sign_in_failures SELECT sha256(i::text::bytea), 5, clock_timestamp() - interval '16 minutes'
      FROM generate_series(1, 150) i`)
    for (let i = 0; i < 2; i++) await countTry(staff.store, { email: `${randomUUID()}@example.com`, network: '10.0.0' })
    // Each has its network's and that of all networks.
    expect(await staff.rows('SELECT count(*)::int AS rows FROM sign_in_failures')).toEqual([{ rows: 4 }])
  })
})

/** As a proxy in front of us says where the request came from. */
const from = (address: string, cookie?: { name: string; value: string }) =>
  new Headers({
    'x-forwarded-for': `${address}, 127.0.0.1`,
    ...(cookie && { cookie: `${cookie.name}=${encodeURIComponent(cookie.value)}` }),
  })

describe('guessing passwords from one network', () => {
  const guess = async (person: { email: string }, headers: Headers, times = 5) => {
    for (let i = 0; i < times; i++)
      expect(await staff.signIn({ email: person.email, password: `wrong guess ${i}` }, undefined, headers)).toEqual(
        wrong,
      )
  }

  it('locks the operator out of that network only', async () => {
    const ada = await staff.add()
    await guess(ada, from('198.51.100.7'))
    for (const address of ['198.51.100.7', '198.51.100.200'])
      expect(await staff.signIn(ada, undefined, from(address))).toEqual(limited)
    done(await staff.signIn(ada, undefined, from('203.0.113.9')))
    expect(await staff.signIn(ada, undefined, from('198.51.100.7'))).toEqual(limited)
  })

  it('does not lock out a browser that signed in before, on any node', async () => {
    const ada = await staff.add()
    const { device } = done(await staff.signIn(ada, undefined, from('198.51.100.7')))
    await guess(ada, from('198.51.100.7'))
    const known = from('198.51.100.7', device)
    expect(await staff.signIn(ada, undefined, from('198.51.100.7'))).toEqual(limited)
    done(await staff.signIn(ada, undefined, known))
    done(await staff.signIn(ada, other, known))
  })

  it('with a known browser is limited to five tries, too', async () => {
    const ada = await staff.add()
    const { device } = done(await staff.signIn(ada))
    await guess(ada, from('198.51.100.7', device))
    expect(await staff.signIn(ada, undefined, from('203.0.113.9', device))).toEqual(limited)
    done(await staff.signIn(ada, undefined, from('203.0.113.9')))
  })

  it('is not helped by a device cookie of another operator, or one that was not signed here', async () => {
    const [ada, bob] = [await staff.add(), await staff.add()]
    const { device } = done(await staff.signIn(bob))
    await guess(ada, from('198.51.100.7'))
    for (const value of [device.value, `x${device.value}`, 'made.up', device.value.split('.')[0]!])
      expect(await staff.signIn(ada, undefined, from('198.51.100.7', { ...device, value }))).toEqual(limited)
  })

  it('and then from ever new ones is limited to a hundred tries for one address', async () => {
    const ada = await staff.add()
    const { device } = done(await staff.signIn(ada))
    const tries = await Promise.all(
      Array.from({ length: 150 }, (_, i) => countTry(staff.store, { email: ada.email, network: `10.0.${i}` })),
    )
    expect(tries.filter(({ afterSeconds }) => afterSeconds === null)).toHaveLength(100)
    expect(await staff.signIn(ada, undefined, from('203.0.113.9'))).toEqual(limited)
    done(await staff.signIn(ada, undefined, from('203.0.113.9', device)))
  })

  it('is not counted for sign-ins that succeed, however many', async () => {
    const ada = await staff.add()
    for (let i = 0; i < 99; i++) await countTry(staff.store, { email: ada.email, network: `10.0.${i}` })
    for (let i = 0; i < 3; i++) done(await staff.signIn(ada))
  })

  it('counts against the hundred only while it is within its own five', async () => {
    const email = `${randomUUID()}@example.com`
    for (let i = 0; i < 120; i++) await countTry(staff.store, { email, network: '10.0.0' })
    expect(await countTry(staff.store, { email, network: '10.0.1' })).toMatchObject({ afterSeconds: null })
  })
})

describe('failed sign-ins in the audit log', () => {
  const refusals = (person: { id: string }) =>
    staff.rows<{ actor_id: string; outcome: string; count: number }>(
      `SELECT e.actor_id, e.outcome, r.count FROM audit_entries e JOIN audit_refusals r
         ON (r.actor_id, r.action, r.minute) = (e.actor_id, e.action, e.after ->> 'minute')
       WHERE e.target = $1 AND e.action = 'session.sign_in' ORDER BY e.seq`,
      [person.id],
    )

  it('are one entry for each known account and minute, with their count', async () => {
    const ada = await staff.add()
    for (const password of ['wrong guess 1', 'wrong guess 2', 'wrong guess 3'])
      expect(await staff.signIn({ email: ada.email.toUpperCase(), password })).toEqual(wrong)
    const entries = await refusals(ada)
    // Two where a minute began in between.
    expect(entries.length).toBeLessThanOrEqual(2)
    for (const entry of entries) expect(entry).toMatchObject({ actor_id: ada.id, outcome: 'forbidden' })
    expect(entries.reduce((sum, { count }) => sum + count, 0)).toBe(3)
  })

  it('count those that are refused unread, and those of a disabled operator', async () => {
    const ada = await staff.add()
    done(await staff.access.updateOperator(by(), { id: ada.id, disabled: true }))
    for (let i = 0; i < 7; i++) await staff.signIn(ada)
    // Written down before the node's next sign-in.
    await staff.signIn({ email: `${randomUUID()}@example.com`, password: 'x' })
    expect((await refusals(ada)).reduce((sum, { count }) => sum + count, 0)).toBe(7)
  })

  it('are not there for an address that belongs to no operator, nor for a right password', async () => {
    const ada = await staff.add()
    const earlier = await staff.rows('SELECT FROM audit_refusals')
    expect(await staff.signIn({ email: `${randomUUID()}@example.com`, password: 'x' })).toEqual(wrong)
    done(await staff.signIn(ada))
    expect(await staff.rows('SELECT FROM audit_refusals')).toEqual(earlier)
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

  it('by strangers do not keep out a browser that signed in before', async () => {
    const ada = await staff.add()
    const { device } = done(await staff.signIn(ada))
    const there = barrier()
    let held = false
    const node = staff.otherNode(
      tampered(staff.store, async (send, statement) => {
        if (isTry(statement) && !held) {
          held = true
          await there.pass()
        }
        return send()
      }),
    )
    const strangers = Array.from({ length: 50 }, () =>
      staff.signIn({ email: 'crowd@example.com', password: 'x' }, node),
    )
    await there.reached
    expect(await staff.signIn(ada, node)).toMatchObject({ refused: 'rate_limited', afterSeconds: 2 })
    done(await staff.signIn(ada, node, from('198.51.100.7', device)))
    there.open()
    await Promise.all(strangers)
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
