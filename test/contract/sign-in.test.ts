// Signing in and out over HTTP: what a browser gets, what a stranger learns, and that no other site's page can use it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sessionCookie } from '../../lib/operators/session-cookie'
import { ADMIN_TOKEN, type Answer, SECRETS, type Headers as Sent, send, until } from '../support/client'
import { startNode } from '../support/node'
import { startMigratedPostgres } from '../support/postgres'
import { expectProblem } from '../support/problem'
import { openSite, SHORT_TIMES, type Site } from '../support/site'
import { runSql } from '../support/tenant'

const ADMIN = { email: 'first@example.com', password: 'the first password' }
const FIRST_ADMIN = { ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password }
const COOKIE = 'onceover.session_token'

let site: Site
beforeAll(async () => {
  site = await openSite(FIRST_ADMIN)
})
afterAll(() => site?.close())

const post = (path: string, body?: unknown, headers: Sent = {}, url = site.url): Promise<Answer> =>
  send(new URL(path, url), {
    method: 'POST',
    body,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
  })
const get = (path: string, headers: Sent = {}, url = site.url) => send(new URL(path, url), { headers })

const signIn = (body: unknown = ADMIN, headers: Sent = {}, url = site.url) =>
  post('/api/auth/sign-in', body, headers, url)
const session = (headers: Sent) => get('/api/auth/session', headers)

/** As a browser would send it back. */
function cookieOf(answer: Answer): string {
  const [cookie] = answer.headers['set-cookie'] ?? []
  return cookie!.split(';', 1)[0]!
}
const signedIn = async () => ({ cookie: cookieOf(await signIn()) })
const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` }

const addOperator = async (role = 'viewer') =>
  (await post('/api/admin/operators', { name: 'Ada', email: freshEmail(), role }, bearer)).json<{
    id: string
    email: string
    password: string
  }>()
let count = 0
const freshEmail = () => `operator-${++count}@example.com`

describe('signing in', () => {
  test('returns the operator and sets an HttpOnly, SameSite=Lax cookie', async () => {
    const answer = await signIn()
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({
      id: expect.stringMatching(/^opr_/),
      name: 'First admin',
      email: ADMIN.email,
      role: 'admin',
    })
    expect(answer.headers['cache-control']).toBe('no-store')
    const [cookie, device, ...more] = answer.headers['set-cookie']!
    expect(more).toEqual([])
    expect(device).toMatch(/^onceover\.device=\w+\.[\w%]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=34560000$/)
    expect(cookie).toMatch(new RegExp(`^${COOKIE}=[\\w%]+\\.[\\w%]+; Path=/; HttpOnly; SameSite=Lax$`))
    expect((await session({ cookie: cookieOf(answer) })).json()).toEqual(answer.json())
  })

  test('marks the cookie Secure when served over https', async () => {
    const [cookie] = (await signIn(ADMIN, { 'x-forwarded-proto': 'https' })).headers['set-cookie']!
    expect(cookie).toMatch(/; Secure$/)
  })

  test('fails with the same 401 for an unknown address, a wrong password and a disabled operator', async () => {
    const disabled = await addOperator()
    await send(new URL(`/api/admin/operators/${disabled.id}`, site.url), {
      method: 'PATCH',
      body: { disabled: true },
      headers: { 'content-type': 'application/json', ...bearer },
    })
    const answers = [
      await signIn({ email: 'nobody@example.com', password: ADMIN.password }),
      await signIn({ ...ADMIN, password: 'wrong' }),
      await signIn({ email: disabled.email, password: disabled.password }),
    ]
    for (const answer of answers) {
      expectProblem(answer, 401, 'unauthenticated', 'same')
      expect(answer.bytes).toEqual(answers[0]!.bytes)
      expect(answer.headers['set-cookie']).toBeUndefined()
    }
    expect((await signIn()).status).toBe(200)
  })

  test('is refused after five wrong passwords, even with the right password, until the window ends', async () => {
    const { email, password } = await addOperator()
    const guesses = await Promise.all(Array.from({ length: 50 }, () => signIn({ email, password: 'a wrong guess' })))
    expect(guesses.filter(({ status }) => status === 401)).toHaveLength(5)
    expect(guesses.filter(({ status }) => status === 429)).toHaveLength(45)
    const { retry } = expectProblem(await signIn({ email, password }), 429, 'rate_limited', 'later')
    expect(retry.afterSeconds).toBeGreaterThan(800)
    expect(retry.afterSeconds).toBeLessThanOrEqual(900)
    await runSql(site.databaseUrl, `UPDATE sign_in_failures SET since = since - interval '15 minutes'`)
    expect((await signIn({ email, password })).status).toBe(200)
  })

  test('is refused to strangers after five wrong passwords, not to a browser that signed in before or another network', async () => {
    const { id, email, password } = await addOperator()
    const [, device] = (await signIn({ email, password })).headers['set-cookie']!
    const guesses = await Promise.all(Array.from({ length: 7 }, () => signIn({ email, password: 'a wrong guess' })))
    expect(guesses.filter(({ status }) => status === 401)).toHaveLength(5)
    expect((await signIn({ email, password })).status).toBe(429)
    expect((await signIn({ email, password }, { 'x-forwarded-for': '203.0.113.9' })).status).toBe(200)
    expect((await signIn({ email, password }, { cookie: device!.split(';', 1)[0]! })).status).toBe(200)
    const audit = await get(`/api/admin/audit?target=${id}&action=session.sign_in`, bearer)
    const refused = audit
      .json<{ items: { outcome: string; count: number }[] }>()
      .items.filter(({ outcome }) => outcome === 'forbidden')
    expect(refused.reduce((sum, { count }) => sum + count, 0)).toBe(8)
  })

  test('refuses an unsupported content type, malformed JSON and invalid fields', async () => {
    expectProblem(
      await post('/api/auth/sign-in', ADMIN, { 'content-type': 'text/plain' }),
      415,
      'unsupported_media_type',
      'same',
    )
    expectProblem(await signIn('{'), 400, 'malformed_json', 'same')
    for (const body of [
      {},
      { email: 'x', password: 'y' },
      { ...ADMIN, more: 1 },
      { ...ADMIN, password: 'x'.repeat(129) },
    ])
      expectProblem(await signIn(body), 400, 'invalid_request', 'same')
  })
})

describe('a request from a page of another site', () => {
  const foreign: [string, Sent][] = [
    ['with a foreign Origin', { origin: 'https://evil.example' }],
    ['with cross-site Fetch Metadata', { 'sec-fetch-site': 'cross-site' }],
    ['from a sibling domain', { 'sec-fetch-site': 'same-site' }],
    ['with a null Origin', { origin: 'null' }],
    ['with an invalid Origin', { origin: '%' }],
  ]
  const own = () => ({ origin: site.url, 'sec-fetch-site': 'same-origin' })

  test.each(foreign)('%s can’t sign in or out', async (_, headers) => {
    const { cookie } = await signedIn()
    expectProblem(await signIn(ADMIN, headers), 403, 'cross_origin', 'none')
    expectProblem(await post('/api/auth/sign-out', undefined, { cookie, ...headers }), 403, 'cross_origin', 'none')
    expect((await session({ cookie })).status).toBe(200)
  })

  test.each(foreign)('%s can’t change anything with a session, while a GET is answered', async (_, headers) => {
    const { cookie } = await signedIn()
    const change = { name: 'x', role: 'viewer' }
    expectProblem(await post('/api/admin/tokens', change, { cookie, ...headers }), 403, 'cross_origin', 'none')
    expect((await get('/api/admin/tokens', { cookie, ...headers })).status).toBe(200)
  })

  test.each(foreign)('%s can’t call a server action', async (_, headers) => {
    const { cookie } = await signedIn()
    const action = { cookie, 'next-action': '0'.repeat(42), ...headers }
    for (const path of ['/keys', '/sign-in', '/nowhere'])
      expectProblem(await post(path, [], action), 403, 'cross_origin', 'none')
  })

  test('differs from a request of the site’s own page, which is accepted', async () => {
    const { cookie } = await signedIn()
    const action = { cookie, 'next-action': '0'.repeat(42), ...own() }
    expect((await post('/keys', [], action)).headers['x-nextjs-action-not-found']).toBe('1')
    expect((await signIn(ADMIN, own())).status).toBe(200)
    expect((await post('/api/admin/tokens', { name: 'x', role: 'viewer' }, { cookie, ...own() })).status).toBe(201)
    expect((await post('/api/auth/sign-out', undefined, { cookie, ...own() })).status).toBe(204)
  })

  test('is accepted with a bearer token', async () => {
    const headers = { ...bearer, origin: 'https://evil.example' }
    expect((await post('/api/admin/tokens', { name: 'x', role: 'viewer' }, headers)).status).toBe(201)
  })
})

describe('a session', () => {
  test('is shown to a token, while missing or invalid credentials get 401', async () => {
    expect((await session(bearer)).json()).toEqual({ id: 'ADMIN_TOKEN', name: 'ADMIN_TOKEN', role: 'admin' })
    const { cookie } = await signedIn()
    for (const headers of [
      {},
      { cookie: `${COOKIE}=made.up` },
      { cookie: cookie.replace('=', '=x') },
      { authorization: 'Bearer oo_op_unknown', cookie },
    ])
      expectProblem(await session(headers), 401, 'unauthenticated', 'same')
  })

  test('ends at sign-out, even for a client that keeps the cookie', async () => {
    const { cookie } = await signedIn()
    const answer = await post('/api/auth/sign-out', undefined, { cookie })
    expect(answer.status).toBe(204)
    expect(answer.headers['set-cookie']).toEqual([`${COOKIE}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0`])
    expectProblem(await session({ cookie }), 401, 'unauthenticated', 'same')
    expect((await post('/api/auth/sign-out', undefined, { cookie })).status).toBe(204)
    expect((await post('/api/auth/sign-out')).status).toBe(204)
  })

  test('can’t be had with any value of the session table', async () => {
    const { email, password, id } = await addOperator()
    await signIn({ email, password })
    const [row] = await runSql<Record<string, unknown>>(
      site.databaseUrl,
      'SELECT * FROM operator_sessions WHERE operator_id = $1',
      [id],
    )
    const [secret] = await runSql<{ value: string }>(
      site.databaseUrl,
      `SELECT value FROM secrets WHERE name = 'session_signing'`,
    )
    for (const value of Object.values(row!).map(String)) {
      const signed = sessionCookie(value, secret!.value, new Headers()).value
      for (const made of [value, signed])
        expectProblem(
          await session({ cookie: `${COOKIE}=${encodeURIComponent(made)}` }),
          401,
          'unauthenticated',
          'same',
        )
    }
  })

  test('ends when it expires', async () => {
    const { email, password, id } = await addOperator()
    const cookie = cookieOf(await signIn({ email, password }))
    expect((await session({ cookie })).status).toBe(200)
    await runSql(
      site.databaseUrl,
      'UPDATE operator_sessions SET expires_at = clock_timestamp() WHERE operator_id = $1',
      [id],
    )
    expectProblem(await session({ cookie }), 401, 'unauthenticated', 'same')
  })

  test('has its sign-in and its sign-out in the audit log', async () => {
    const { email, password, id } = await addOperator()
    const cookie = cookieOf(await signIn({ email, password }, { 'x-request-id': 'in-1' }))
    await post('/api/auth/sign-out', undefined, { cookie, 'x-request-id': 'out-1' })
    const entries = await runSql(
      site.databaseUrl,
      `SELECT action, request_id FROM audit_entries WHERE actor_id = $1 ORDER BY seq`,
      [id],
    )
    expect(entries).toEqual([
      { action: 'session.sign_in', request_id: 'in-1' },
      { action: 'session.sign_out', request_id: 'out-1' },
    ])
  })
})

test('requests with credentials get 503 instead of 401 while the database is unreachable', async () => {
  const [postgres, databaseUrl] = await startMigratedPostgres()
  const node = await startNode({ databaseUrl, env: { ...SECRETS, ...SHORT_TIMES, ...FIRST_ADMIN } })
  try {
    const { url } = node
    const cookie = cookieOf(await signIn(ADMIN, {}, url))
    const made = await post('/api/admin/tokens', { name: 'x', role: 'viewer' }, bearer, url)
    const token = { authorization: `Bearer ${made.json<{ secret: string }>().secret}` }
    const asked = () => [
      get('/api/auth/session', { cookie }, url),
      get('/api/auth/session', token, url),
      get('/api/auth/session', { authorization: 'Bearer oo_op_unknown' }, url),
      get('/api/admin/operators', { cookie }, url),
      signIn(ADMIN, {}, url),
      signIn({ ...ADMIN, password: 'wrong' }, {}, url),
      post('/api/auth/sign-out', undefined, { cookie }, url),
    ]
    await postgres.stop({ mode: 'immediate' })
    for (let round = 0; round < 2; round++)
      for (const answer of await Promise.all(asked()))
        expectProblem(answer, 503, 'idempotency_store_unavailable', 'later')
    expectProblem(await get('/api/auth/session', {}, url), 401, 'unauthenticated', 'same')
    await postgres.start()
    await until(
      () => get('/api/auth/session', { cookie }, url),
      ({ status }) => status === 200,
    )
    expect((await signIn(ADMIN, {}, url)).status).toBe(200)
  } finally {
    await node.stop()
    await postgres.remove()
  }
})
