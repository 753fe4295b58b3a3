// People and tokens over HTTP, on two nodes: what an admin does on one holds on the other at once.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN_TOKEN, type Answer, freshKey, type Headers, SECRETS, send } from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { startNode, type TestNode } from '../support/node'
import { expectProblem } from '../support/problem'
import { SHORT_TIMES } from '../support/site'
import { runSql } from '../support/tenant'

const FIRST_ADMIN = { ADMIN_EMAIL: 'first@example.com', ADMIN_PASSWORD: 'the first password' }

let database: TestDatabase
let nodes: TestNode[] = []
beforeAll(async () => {
  database = await cloneDatabase()
  const env = { ...SECRETS, ...SHORT_TIMES, ...FIRST_ADMIN, LOG_LEVEL: 'debug' }
  nodes = [await startNode({ databaseUrl: database.url, env }), await startNode({ databaseUrl: database.url, env })]
})
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()))
  await database?.drop()
})

type Caller = string | { cookie: string }

function ask(method: string, path: string, body?: unknown, by: Caller = ADMIN_TOKEN, more: Headers = {}, on = 0) {
  const { url } = nodes[on]!
  const identity: Headers = typeof by === 'string' ? { authorization: `Bearer ${by}` } : { ...by, origin: url }
  const type: Headers = body === undefined ? {} : { 'content-type': 'application/json' }
  return send(new URL(path, url), { method, body, headers: { ...type, ...identity, ...more } })
}

interface Operator {
  id: string
  email: string
  role: string
  password: string
}
interface Token {
  id: string
  secret: string
  expiresAt: string | null
}

let count = 0
const newcomer = (role = 'viewer') => ({ name: 'Ada', email: `ada-${++count}@example.com`, role })
const addOperator = async (role = 'viewer') =>
  (await ask('POST', '/api/admin/operators', newcomer(role))).json<Operator>()
const addToken = async (role = 'viewer', more: object = {}) =>
  (await ask('POST', '/api/admin/tokens', { name: 'a script', role, ...more })).json<Token>()
const patch = (id: string, body: unknown, by?: Caller, on = 0) =>
  ask('PATCH', `/api/admin/operators/${id}`, body, by, {}, on)

const signIn = ({ email, password }: Operator, on = 0): Promise<Answer> =>
  send(new URL('/api/auth/sign-in', nodes[on]!.url), {
    method: 'POST',
    body: { email, password },
    headers: { 'content-type': 'application/json' },
  })
const sessionOf = async (operator: Operator) => ({
  cookie: (await signIn(operator)).headers['set-cookie']![0]!.split(';', 1)[0]!,
})
const whoAmI = (by: Caller, on = 0) => ask('GET', '/api/auth/session', undefined, by, {}, on)

const secrets: string[] = []

describe('operators', () => {
  test('are created with a password that is shown once and signs them in on another node', async () => {
    const body = newcomer('operator')
    const answer = await ask('POST', '/api/admin/operators', body)
    expect(answer.status).toBe(201)
    const made = answer.json<Operator>()
    expect(made).toEqual({ ...body, id: expect.stringMatching(/^opr_/), password: expect.stringMatching(/^.{16}$/) })
    secrets.push(made.password)
    expect((await signIn(made, 1)).status).toBe(200)
    const listed = (await ask('GET', '/api/admin/operators')).json<{ items: Operator[] }>().items
    expect(listed[0]).toMatchObject({ ...body, id: made.id, disabled: false, sessionCount: 1 })
    expect(JSON.stringify(listed)).not.toContain('password')
  })

  test('that are posted twice with one Idempotency-Key are created once, and the password is not shown again', async () => {
    const key = { 'idempotency-key': freshKey() }
    const body = newcomer()
    const first = await ask('POST', '/api/admin/operators', body, ADMIN_TOKEN, key)
    expect(first.status).toBe(201)
    secrets.push(first.json<Operator>().password)
    expectProblem(await ask('POST', '/api/admin/operators', body, ADMIN_TOKEN, key, 1), 409, 'already_created', 'new')
    const other = { ...body, role: 'admin' }
    expectProblem(
      await ask('POST', '/api/admin/operators', other, ADMIN_TOKEN, key),
      422,
      'idempotency_key_reused',
      'new',
    )
  })

  test('that are posted twice with one Idempotency-Key and different passwords count as the same request', async () => {
    const key = { 'idempotency-key': freshKey() }
    const body = newcomer()
    const made = await ask('POST', '/api/admin/operators', { ...body, password: 'one password' }, ADMIN_TOKEN, key)
    expect(made.json()).toMatchObject({ password: null })
    const again = { ...body, password: 'another password' }
    expectProblem(await ask('POST', '/api/admin/operators', again, ADMIN_TOKEN, key), 409, 'already_created', 'new')
  })

  test('can’t share an email address, whatever its case', async () => {
    const { email } = await addOperator()
    for (const taken of [email, email.toUpperCase()])
      expectProblem(
        await ask('POST', '/api/admin/operators', { ...newcomer(), email: taken }),
        409,
        'already_exists',
        'new',
      )
  })

  test('are refused with 400 when a field is invalid, and with 404 when the id is unknown', async () => {
    const good = newcomer()
    for (const wrong of [
      {},
      { ...good, email: 'no address' },
      { ...good, name: ' ' },
      { ...good, name: 'a\u0000b' },
      { ...good, role: 'root' },
      { ...good, password: 'x'.repeat(11) },
      { ...good, password: 'x'.repeat(129) },
      { ...good, more: 1 },
    ])
      expectProblem(await ask('POST', '/api/admin/operators', wrong), 400, 'invalid_request', 'same')
    const { id } = await addOperator()
    for (const wrong of [
      { role: 'root' },
      { email: 'new@example.com' },
      { disabled: 'yes' },
      { password: 'x'.repeat(11) },
    ])
      expectProblem(await patch(id, wrong), 400, 'invalid_request', 'same')
    for (const nobody of ['opr_nobody', `opr_${'0'.repeat(26)}`])
      expectProblem(await patch(nobody, { name: 'x' }), 404, 'not_found', 'none')
  })

  test('are demoted on every node at once', async () => {
    const operator = await addOperator('admin')
    const session = await sessionOf(operator)
    expect((await ask('GET', '/api/admin/operators', undefined, session, {}, 1)).status).toBe(200)
    expect((await patch(operator.id, { role: 'viewer' })).json()).toMatchObject({ id: operator.id, role: 'viewer' })
    const answer = await ask('GET', '/api/admin/operators', undefined, session, {}, 1)
    expectProblem(answer, 403, 'forbidden', 'none')
    expect((await whoAmI(session, 1)).json()).toMatchObject({ role: 'viewer' })
  })

  test.each([
    ['disabled', (id: string) => patch(id, { disabled: true, reason: 'left' })],
    ['given a new password', (id: string) => patch(id, { password: 'a new password' })],
    ['signed out', (id: string) => ask('DELETE', `/api/admin/operators/${id}/sessions`)],
  ])('that are %s lose all their sessions on every node at once', async (_, act) => {
    const operator = await addOperator()
    const sessions = [await sessionOf(operator), await sessionOf(operator)]
    expect((await act(operator.id)).status).toBeLessThan(300)
    for (const session of sessions)
      for (const on of [0, 1]) expectProblem(await whoAmI(session, on), 401, 'unauthenticated', 'same')
  })

  test('always include an admin: the last one can be neither demoted nor disabled', async () => {
    const [ada, bob] = [await addOperator('admin'), await addOperator('admin')]
    await runSql(database.url, `UPDATE operators SET role = 'viewer' WHERE role = 'admin' AND NOT id = ANY ($1)`, [
      [ada.id, bob.id],
    ])
    const [adas, bobs] = [await sessionOf(ada), await sessionOf(bob)]
    const answers = await Promise.all([
      patch(bob.id, { role: 'viewer' }, adas, 0),
      patch(ada.id, { role: 'viewer' }, bobs, 1),
    ])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const left = await runSql<{ id: string }>(database.url, `SELECT id FROM operators WHERE role = 'admin'`)
    expect(left).toHaveLength(1)
    expectProblem(await patch(left[0]!.id, { role: 'viewer' }), 409, 'last_admin', 'none')
    expectProblem(await patch(left[0]!.id, { disabled: true }), 409, 'last_admin', 'none')
  })
})

describe('operator tokens', () => {
  test('are shown once and work on every node', async () => {
    const answer = await ask('POST', '/api/admin/tokens', { name: 'a script', role: 'operator' })
    expect(answer.status).toBe(201)
    const token = answer.json<Token>()
    expect(token).toEqual({
      id: expect.stringMatching(/^tok_/),
      name: 'a script',
      role: 'operator',
      expiresAt: expect.any(String),
      secret: expect.stringMatching(/^oo_op_/),
    })
    secrets.push(token.secret)
    const days = (Date.parse(token.expiresAt!) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(89)
    expect(days).toBeLessThanOrEqual(90)
    expect((await whoAmI(token.secret, 1)).json()).toEqual({ id: token.id, name: 'a script', role: 'operator' })
    const [listed] = (await ask('GET', '/api/admin/tokens')).json<{ items: object[] }>().items
    expect(listed).toMatchObject({
      id: token.id,
      createdBy: { id: 'ADMIN_TOKEN', name: 'ADMIN_TOKEN' },
      createdAt: expect.any(String),
      expiresAt: token.expiresAt,
      revokedAt: null,
      lastUsedAt: expect.any(String),
    })
  })

  test('expire after the requested number of days, or never', async () => {
    expect((await addToken('viewer', { expiresInDays: null })).expiresAt).toBeNull()
    const { expiresAt } = await addToken('viewer', { expiresInDays: 1 })
    expect(Math.abs(Date.parse(expiresAt!) - Date.now() - 86_400_000)).toBeLessThan(60_000)
    for (const expiresInDays of [0, 3651, 1.5, '90'])
      expectProblem(
        await ask('POST', '/api/admin/tokens', { name: 'x', role: 'viewer', expiresInDays }),
        400,
        'invalid_request',
        'same',
      )
  })

  test('that are posted concurrently with one Idempotency-Key are created once', async () => {
    const key = { 'idempotency-key': freshKey() }
    const body = { name: 'once', role: 'viewer' }
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => ask('POST', '/api/admin/tokens', body, ADMIN_TOKEN, key, i % 2)),
    )
    const [made, ...more] = answers.filter(({ status }) => status === 201)
    expect(more).toEqual([])
    secrets.push(made!.json<Token>().secret)
    for (const answer of answers.filter(({ status }) => status !== 201)) expect(answer.status).toBe(409)
    expectProblem(await ask('POST', '/api/admin/tokens', body, ADMIN_TOKEN, key), 409, 'already_created', 'new')
    const other = { ...body, role: 'admin' }
    expectProblem(await ask('POST', '/api/admin/tokens', other, ADMIN_TOKEN, key), 422, 'idempotency_key_reused', 'new')
    const rows = await runSql(database.url, `SELECT id FROM operator_tokens WHERE name = 'once'`)
    expect(rows).toHaveLength(1)
  })

  test('are refused on every node as soon as their revocation is answered', async () => {
    const { id, secret } = await addToken()
    let revokedAt = Number.POSITIVE_INFINITY
    let stop = false
    const late: number[] = []
    let served = 0
    const hammer = async (on: number) => {
      while (!stop) {
        const sentAt = performance.now()
        const { status } = await whoAmI(secret, on)
        if (sentAt > revokedAt) late.push(status)
        else if (status === 200) served++
      }
    }
    const hammering = Array.from({ length: 20 }, (_, i) => hammer(i % 2))
    while (served < 40) await new Promise((resolve) => setImmediate(resolve))
    expect((await ask('DELETE', `/api/admin/tokens/${id}`)).status).toBe(204)
    revokedAt = performance.now()
    while (late.length < 100) await new Promise((resolve) => setImmediate(resolve))
    stop = true
    await Promise.all(hammering)
    expect(new Set(late)).toEqual(new Set([401]))
  })

  test('can be revoked twice; revoking an unknown token is 404', async () => {
    const { id } = await addToken()
    for (let i = 0; i < 2; i++) expect((await ask('DELETE', `/api/admin/tokens/${id}`)).status).toBe(204)
    for (const nothing of ['tok_nothing', `tok_${'0'.repeat(26)}`])
      expectProblem(await ask('DELETE', `/api/admin/tokens/${nothing}`), 404, 'not_found', 'none')
  })
})

describe('managing operators and tokens', () => {
  test.each(['viewer', 'operator'])('is forbidden for the role %s, and each attempt is audited', async (role) => {
    const { secret, id } = await addToken(role)
    const answers = [
      await ask('GET', '/api/admin/operators', undefined, secret),
      await ask('POST', '/api/admin/operators', newcomer(), secret),
      await ask('POST', '/api/admin/operators', 'not even JSON', secret),
      await patch(`opr_${'0'.repeat(26)}`, { role: 'admin' }, secret),
      await ask('DELETE', `/api/admin/operators/opr_${'0'.repeat(26)}/sessions`, undefined, secret),
      await ask('GET', '/api/admin/tokens?limit=none', undefined, secret),
      await ask('POST', '/api/admin/tokens', { name: 'x', role: 'admin' }, secret),
      await ask('DELETE', `/api/admin/tokens/${id}`, undefined, secret),
    ]
    for (const answer of answers) expectProblem(answer, 403, 'forbidden', 'none')
    const { items } = (await ask('GET', `/api/admin/audit?actor=${id}`)).json<{ items: { count: number }[] }>()
    expect(items.reduce((sum, { count }) => sum + count, 0)).toBe(answers.length)
    expectProblem(await ask('GET', '/api/admin/operators', undefined, 'oo_op_nobody'), 401, 'unauthenticated', 'same')
  })
})

describe.each(['/api/admin/operators', '/api/admin/tokens'])('the list %s', (path) => {
  interface Page {
    items: { id: string }[]
    nextCursor: string | null
  }

  test('has every item exactly once over its pages', async () => {
    const all = (await ask('GET', `${path}?limit=100`)).json<Page>()
    expect(all.nextCursor).toBeNull()
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor && `&cursor=${encodeURIComponent(cursor)}`
      const page: Page = (await ask('GET', `${path}?limit=3${query}`)).json<Page>()
      expect(page.items.length).toBeLessThanOrEqual(3)
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
    }
    expect(seen).toEqual(all.items.map(({ id }) => id))
  })

  test('refuses bad limits and cursors', async () => {
    const made = (position: unknown) => Buffer.from(JSON.stringify(position)).toString('base64url')
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=x',
      'cursor=x',
      `cursor=${made({})}`,
      `cursor=${made({ createdAt: 'now', id: 'x' })}`,
      `cursor=${made({ createdAt: '0000-01-01T00:00:00Z', id: 'x' })}`,
      `cursor=${made({ createdAt: '2025-01-01T00:00:00Z', id: '\u0000' })}`,
      'more=1',
      'limit=1&limit=2',
    ])
      expectProblem(await ask('GET', `${path}?${query}`), 400, 'invalid_request', 'same')
  })
})

test('passwords and token secrets are stored in no table and written to no log', async () => {
  expect(secrets.length).toBeGreaterThanOrEqual(4)
  const tables = await runSql<{ name: string }>(
    database.url,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  )
  expect(tables.map(({ name }) => name)).toContain('public.audit_entries')
  const rows = await Promise.all(
    tables.map(({ name }) => runSql(database.url, `SELECT to_jsonb(t)::text AS row FROM ${name} t`)),
  )
  const written = JSON.stringify(rows) + nodes.map((node) => node.output()).join()
  for (const secret of [...secrets, FIRST_ADMIN.ADMIN_PASSWORD]) expect(written).not.toContain(secret)
})
